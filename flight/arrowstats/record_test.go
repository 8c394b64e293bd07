package arrowstats

import (
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// TestRecord writes a bound of every type that has an order and reads it back as Arrow spells it.
func TestRecord(t *testing.T) {
	decimal, _ := statistics.DecimalValue(big.NewInt(-12345))
	cases := []struct {
		typ   arrowipc.Type
		value statistics.Value
		want  string
	}{
		{arrowipc.Type{ID: arrowipc.TypeBool}, statistics.Boolean(true), "true"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 8, Signed: true}, statistics.Int(-5), "-5"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 16, Signed: true}, statistics.Int(-300), "-300"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 32, Signed: true}, statistics.Int(70000), "70000"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}, statistics.Int(1 << 60), "1152921504606846976"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 8}, statistics.Uint(250), "250"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 16}, statistics.Uint(60000), "60000"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 32}, statistics.Uint(1 << 31), "2147483648"},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64}, statistics.Uint(1 << 63), "9223372036854775808"},
		{arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 16}, statistics.Float64Value(1.5), "1.5"},
		{arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 32}, statistics.Float64Value(-0.25), "-0.25"},
		{arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}, statistics.Float64Value(0.1), "0.1"},
		{arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 32, Precision: 9, Scale: 2}, decimal, "-123.45"},
		{arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 64, Precision: 18, Scale: 2}, decimal, "-123.45"},
		{arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 38, Scale: 3}, decimal, "-12.345"},
		{arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 256, Precision: 76, Scale: -1}, decimal, "-123450"},
		{arrowipc.Type{ID: arrowipc.TypeDate, Unit: 0}, statistics.Int(19000), "2022-01-08"},
		{arrowipc.Type{ID: arrowipc.TypeDate, Unit: 1}, statistics.Int(19000 * 86400000), "2022-01-08"},
		{arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: 32, Unit: 1}, statistics.Int(3600000), "01:00:00.000"},
		{arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: 64, Unit: 3}, statistics.Int(3600000000000), "01:00:00.000000000"},
		{arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: 0, Timezone: "UTC"}, statistics.Int(0), "1970-01-01T00:00:00Z"},
		{arrowipc.Type{ID: arrowipc.TypeDuration, Unit: 1}, statistics.Int(1500), "1500ms"},
		{arrowipc.Type{ID: arrowipc.TypeUtf8View}, statistics.TextValue("é"), "é"},
		{arrowipc.Type{ID: arrowipc.TypeFixedSizeBinary, ByteWidth: 3}, statistics.BytesValue([]byte("ab")), "YWI="},
	}
	var fields []*arrowipc.Field
	var columns []Column
	for i, c := range cases {
		f := &arrowipc.Field{Name: "c", Type: c.typ}
		fields = append(fields, f)
		columns = append(columns, Column{Index: int32(i), Field: f, Decoded: 16, Measured: statistics.Column{
			Rows: 2, HasMin: true, Min: c.value, MinExact: true, HasMax: true, Max: c.value,
		}})
	}
	record := NewSchema(fields).Record(2, columns)
	defer record.Release()
	if int(record.NumRows()) != len(cases)+1 || !record.Column(0).IsNull(0) {
		t.Fatalf("%d rows, the first not about the whole", record.NumRows())
	}
	all := record.Column(1).(*array.Map)
	keys, items := all.Keys().(*array.Dictionary), all.Items().(*array.DenseUnion)
	text := func(row int, name string) string {
		from, to := all.ValueOffsets(row)
		for i := int(from); i < int(to); i++ {
			if keys.Dictionary().(*array.String).Value(keys.GetValueIndex(i)) == name {
				return items.Field(int(items.ChildID(i))).ValueStr(int(items.ValueOffset(i)))
			}
		}
		return "absent"
	}
	if got := text(0, rowCount); got != "2" {
		t.Errorf("row count %s", got)
	}
	for i, c := range cases {
		if got := text(i+1, minExact); got != c.want {
			t.Errorf("%v: the lower bound is %s, want %s", c.typ, got, c.want)
		}
		if got := text(i+1, maxApproximate); got != c.want {
			t.Errorf("%v: the upper bound is %s, want %s", c.typ, got, c.want)
		}
		if got := text(i+1, averageByteWidth); got != "8" {
			t.Errorf("%v: %s bytes on average", c.typ, got)
		}
	}
}

// TestUnmeasured tells of the sizes of a column, and of nothing else.
func TestUnmeasured(t *testing.T) {
	f := &arrowipc.Field{Name: "c", Type: arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}}
	record := NewSchema([]*arrowipc.Field{f}).Record(2, []Column{{Field: f, Unmeasured: true, Decoded: 16, Stored: 8, Measured: statistics.Column{Rows: 2, Nulls: 1}}})
	defer record.Release()
	all := record.Column(1).(*array.Map)
	keys := all.Keys().(*array.Dictionary)
	var names []string
	from, to := all.ValueOffsets(1)
	for i := int(from); i < int(to); i++ {
		names = append(names, keys.Dictionary().(*array.String).Value(keys.GetValueIndex(i)))
	}
	if want := []string{decodedBytes, storedBytes, averageByteWidth}; !slices.Equal(names, want) {
		t.Errorf("told of %q, want %q", names, want)
	}
}

// TestTypesWithoutOrder have counts only, and do not make the schema larger.
func TestTypesWithoutOrder(t *testing.T) {
	list := &arrowipc.Field{Name: "l", Type: arrowipc.Type{ID: arrowipc.TypeList}}
	if a, b := NewSchema(nil).Arrow(), NewSchema([]*arrowipc.Field{list}).Arrow(); !a.Equal(b) {
		t.Errorf("%v and %v", a, b)
	}
	record := NewSchema([]*arrowipc.Field{list}).Record(1, []Column{{Field: list, Measured: statistics.Column{Rows: 1, Nulls: 1}}})
	defer record.Release()
	from, to := record.Column(1).(*array.Map).ValueOffsets(1)
	if to-from != 4 || record.Column(1).DataType().ID() != arrow.MAP {
		t.Errorf("%d statistics", to-from)
	}
}
