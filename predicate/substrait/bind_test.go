package substrait_test

import (
	"errors"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/predicate/substrait"
)

// sampleSchema is the schema of testdata/generate.py, in another order than there: columns are found by their names.
func sampleSchema() *arrowipc.Schema {
	field := func(name string, id arrowipc.TypeID, children ...*arrowipc.Field) *arrowipc.Field {
		return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: id}, Children: children}
	}
	typed := func(name string, t arrowipc.Type) *arrowipc.Field {
		return &arrowipc.Field{Name: name, Nullable: true, Type: t}
	}
	integer := func(name string, bits int, signed bool) *arrowipc.Field {
		return typed(name, arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: signed})
	}
	temporal := func(name string, id arrowipc.TypeID, bits, unit int, zone string) *arrowipc.Field {
		return typed(name, arrowipc.Type{ID: id, BitWidth: bits, Unit: unit, Timezone: zone})
	}
	decimal := func(name string, precision, scale int) *arrowipc.Field {
		return typed(name, arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: precision, Scale: scale})
	}
	dictionary := field("dic", arrowipc.TypeUtf8)
	dictionary.Dictionary = &arrowipc.Dictionary{IndexBits: 32, Signed: true}
	s := &arrowipc.Schema{Fields: []*arrowipc.Field{
		dictionary,
		field("st", arrowipc.TypeStruct, integer("a", 64, true), field("n", arrowipc.TypeStruct, field("v", arrowipc.TypeUtf8))),
		field("ls_st", arrowipc.TypeList, field("item", arrowipc.TypeStruct, integer("x", 64, true), field("y", arrowipc.TypeUtf8))),
		temporal("t", arrowipc.TypeTime, 64, 2, ""), decimal("dec", 10, 2), decimal("dec38", 38, 0),
		temporal("tz", arrowipc.TypeTimestamp, 0, 2, "UTC"), temporal("bz", arrowipc.TypeTimestamp, 0, 2, "Europe/Berlin"),
		temporal("ms", arrowipc.TypeTimestamp, 0, 1, ""), temporal("ts", arrowipc.TypeTimestamp, 0, 2, ""),
		temporal("tss", arrowipc.TypeTimestamp, 0, 0, ""), temporal("d", arrowipc.TypeDate, 0, 0, ""),
		temporal("d64", arrowipc.TypeDate, 0, 1, ""), temporal("t32s", arrowipc.TypeTime, 32, 0, ""),
		temporal("t32ms", arrowipc.TypeTime, 32, 1, ""),
		typed("fb", arrowipc.Type{ID: arrowipc.TypeFixedSizeBinary, ByteWidth: 2}),
		field("bin", arrowipc.TypeBinary), field("lb", arrowipc.TypeLargeBinary), field("s", arrowipc.TypeUtf8),
		field("ls", arrowipc.TypeLargeUtf8), field("sv", arrowipc.TypeUtf8View), field("b", arrowipc.TypeBool),
		typed("f4", arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 32}),
		typed("f", arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}),
		integer("i32", 32, true), integer("u64", 64, false), integer("u32", 32, false), integer("u16", 16, false),
		integer("u8", 8, false), integer("i", 64, true),
	}}
	s.Layout = arrowipc.NewLayout(s.Fields)
	return s
}

// TestSamplesBind finds that the literals of real clients fit the columns that they are for.
func TestSamplesBind(t *testing.T) {
	resolve := predicate.InSchema(sampleSchema())
	refused := map[string]bool{ // what is read, and has no meaning here
		`f.b.cast("int8", safe=False) == pa.scalar(1, pa.int8())`: true,
		`f.i == f.i`: true,
	}
	for _, s := range readSamples(t) {
		e, err := substrait.Parse(s.message(t))
		if err != nil {
			continue // TestSamples has these
		}
		_, err = predicate.Bind(e, resolve)
		if refused[s.Filter] {
			if !errors.Is(err, predicate.ErrUnsupported) {
				t.Errorf("%s: %v; want an error of the kind %q", s.Filter, err, predicate.ErrUnsupported)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.Filter, err)
		}
	}
}
