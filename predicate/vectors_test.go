package predicate

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand"
	"strings"
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// types are the types that columns of tests have; the numbers in comments are their positions.
func testTypes() []arrowipc.Type {
	i := func(bits int, signed bool) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: signed}
	}
	f := func(bits int) arrowipc.Type { return arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: bits} }
	d := func(bits, precision, scale int) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: bits, Precision: precision, Scale: scale}
	}
	u := func(id arrowipc.TypeID, bits, unit int, zone string) arrowipc.Type {
		return arrowipc.Type{ID: id, BitWidth: bits, Unit: unit, Timezone: zone}
	}
	return []arrowipc.Type{
		i(8, true), i(16, true), i(32, true), i(64, true), i(8, false), i(16, false), i(32, false), i(64, false),
		f(16), f(32), f(64),
		d(32, 9, 2), d(64, 18, 3), d(128, 38, 2), d(256, 76, -1), d(128, 38, 0),
		{ID: arrowipc.TypeBool}, {ID: arrowipc.TypeNull},
		u(arrowipc.TypeDate, 0, 0, ""), u(arrowipc.TypeDate, 0, 1, ""),
		u(arrowipc.TypeTime, 32, 0, ""), u(arrowipc.TypeTime, 32, 1, ""), u(arrowipc.TypeTime, 64, 2, ""), u(arrowipc.TypeTime, 64, 3, ""),
		u(arrowipc.TypeTimestamp, 0, 0, ""), u(arrowipc.TypeTimestamp, 0, 1, "UTC"), u(arrowipc.TypeTimestamp, 0, 2, ""), u(arrowipc.TypeTimestamp, 0, 3, "Europe/Berlin"),
		u(arrowipc.TypeDuration, 0, 0, ""), u(arrowipc.TypeDuration, 0, 3, ""),
		{ID: arrowipc.TypeUtf8}, {ID: arrowipc.TypeLargeUtf8}, {ID: arrowipc.TypeUtf8View},
		{ID: arrowipc.TypeBinary}, {ID: arrowipc.TypeLargeBinary}, {ID: arrowipc.TypeBinaryView},
		{ID: arrowipc.TypeFixedSizeBinary, ByteWidth: 2},
	}
}

// schemaOf makes a schema of columns of types, named a, b, c, …; one of dictionary has it dictionary-encoded.
func schemaOf(types []arrowipc.Type, dictionary ...bool) *arrowipc.Schema {
	s := &arrowipc.Schema{}
	for i, t := range types {
		f := &arrowipc.Field{Name: columnName(i), Nullable: true, Type: t}
		if i < len(dictionary) && dictionary[i] {
			f.Dictionary = &arrowipc.Dictionary{ID: int64(i), IndexBits: 8 << (i % 4), Signed: i%2 == 0}
		}
		s.Fields = append(s.Fields, f)
	}
	s.Layout = arrowipc.NewLayout(s.Fields)
	return s
}

func columnName(i int) string { return string(rune('a'+i%26)) + strings.Repeat("'", i/26) }

// vectorOf makes a vector of values: nil, bool, *big.Int (steps), float64 or string.
func vectorOf(f *arrowipc.Field, values []any) *statistics.Vector {
	if f.Dictionary != nil {
		return dictionaryOf(f, values)
	}
	of := arrowipc.NewLayout([]*arrowipc.Field{f}).Columns[0]
	n := len(values)
	v := &statistics.Vector{Field: f, Kind: of.Kind, Width: of.Width, Length: int64(n)}
	if of.Kind == arrowipc.KindNull {
		return v
	}
	v.Validity = make([]byte, (n+7)/8)
	for i, x := range values {
		if x != nil {
			v.Validity[i/8] |= 1 << (i % 8)
		}
	}
	switch of.Kind {
	case arrowipc.KindBool:
		v.Values = make([]byte, (n+7)/8)
		for i, x := range values {
			if b, _ := x.(bool); b {
				v.Values[i/8] |= 1 << (i % 8)
			}
		}
	case arrowipc.KindFixed:
		v.Values = make([]byte, 1, n*of.Width+1) // not aligned
		for _, x := range values {
			v.Values = append(v.Values, fixedBytes(f.Type, of.Width, x)...)
		}
		v.Values = v.Values[1:]
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		put := func(n int) {
			if of.Kind == arrowipc.KindBinary {
				v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, uint32(n))
			} else {
				v.Offsets = binary.LittleEndian.AppendUint64(v.Offsets, uint64(n))
			}
		}
		v.Data = []byte("before")
		put(len(v.Data))
		for _, x := range values {
			s, _ := x.(string)
			v.Data = append(v.Data, s...)
			put(len(v.Data))
		}
	case arrowipc.KindView:
		v.Buffers = [][]byte{nil, []byte("x")}
		for _, x := range values {
			s, _ := x.(string)
			view := binary.LittleEndian.AppendUint32(nil, uint32(len(s)))
			if len(s) <= 12 {
				view = append(view, s...)
			} else {
				view = append(view, s[:4]...)
				view = binary.LittleEndian.AppendUint32(view, 1)
				view = binary.LittleEndian.AppendUint32(view, uint32(len(v.Buffers[1])))
				v.Buffers[1] = append(v.Buffers[1], s...)
			}
			v.Values = append(v.Values, append(view, make([]byte, 16-len(view))...)...)
		}
	}
	return v
}

func fixedBytes(t arrowipc.Type, width int, x any) []byte {
	b := make([]byte, width)
	switch x := x.(type) {
	case nil:
		for i := range b {
			b[i] = 0xA5 // what a null holds does not matter
		}
	case string:
		copy(b, x)
	case float64:
		switch width {
		case 2:
			binary.LittleEndian.PutUint16(b, halfBits(x))
		case 4:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
		case 8:
			binary.LittleEndian.PutUint64(b, math.Float64bits(x))
		}
	case *big.Int:
		n := new(big.Int).Set(x)
		if n.Sign() < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
		}
		n.FillBytes(b)
		for i := range width / 2 {
			b[i], b[width-1-i] = b[width-1-i], b[i]
		}
	}
	return b
}

// halves are the half-precision floats by their values; the bits of values that are equal are those of one of them.
var halves = sync.OnceValue(func() map[uint64]uint16 {
	m := make(map[uint64]uint16, 1<<16)
	for u := range 1 << 16 {
		m[math.Float64bits(half(uint16(u)))] = uint16(u)
	}
	return m
})

// halfBits gives the half-precision float of a value that is one.
func halfBits(x float64) uint16 {
	if x != x {
		return uint16(math.Float64bits(x)>>63)<<15 | 0x7E01
	}
	return halves()[math.Float64bits(x)]
}

// dictionaryOf makes a dictionary of the different values, with an unused one and a null.
func dictionaryOf(f *arrowipc.Field, values []any) *statistics.Vector {
	of := *f
	of.Dictionary = nil
	distinct, at := []any{nil}, map[any]int{}
	width := f.Dictionary.IndexBits / 8
	v := &statistics.Vector{Field: f, Kind: arrowipc.KindFixed, Width: width, Length: int64(len(values)), Validity: make([]byte, (len(values)+7)/8)}
	for i, x := range values {
		key := x
		if n, ok := x.(*big.Int); ok {
			key = n.String()
		}
		if fl, ok := x.(float64); ok {
			key = math.Float64bits(fl)
		}
		index, known := at[key]
		if !known {
			index = len(distinct)
			at[key] = index
			distinct = append(distinct, x)
		}
		switch {
		case x != nil:
			v.Validity[i/8] |= 1 << (i % 8)
		case i%2 == 0: // a null by its value
			v.Validity[i/8] |= 1 << (i % 8)
			index = 0
		default:
			index = -1
		}
		v.Values = append(v.Values, fixedBytes(f.Type, width, big.NewInt(int64(index)))...)
	}
	v.Dictionary = vectorOf(&of, distinct)
	return v
}

// pool gives values of a type: few of them, near each other and at the ends, so that predicates hit.
func pool(t arrowipc.Type) []any {
	d := domainOf(t)
	var out []any
	switch {
	case t.ID == arrowipc.TypeBool:
		return []any{false, true}
	case t.ID == arrowipc.TypeNull:
		return nil
	case d.isFloat:
		for _, f := range []float64{math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2, 2.5} {
			out = append(out, f)
		}
		switch t.BitWidth {
		case 32:
			out = append(out, float64(math.MaxFloat32), float64(math.SmallestNonzeroFloat32), float64(float32(0.1)))
		case 64:
			out = append(out, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, float64(1<<53))
		}
	case d.form == formBytes:
		texts := []string{"", "a", "ab", "abc", "b", "\xff", "\xff\xff", "a\x00", "long enough for a view", "long enough for a view too", strings.Repeat("z", 70)}
		if t.ID == arrowipc.TypeFixedSizeBinary {
			texts = []string{"ab", "ac", "\xff\xff", "\x00\x00", "a\xff"}
		}
		if d.family == famText {
			texts = append(texts[:5:5], "é", "日本", "long enough for a view", strings.Repeat("é", 40))
		}
		for _, s := range texts {
			out = append(out, s)
		}
	default:
		for _, n := range []int64{0, 1, 2, 3, 5, 100} {
			out = append(out, big.NewInt(n))
			if d.min.Sign() < 0 {
				out = append(out, big.NewInt(-n))
			}
		}
		out = append(out, d.min, d.max, new(big.Int).Sub(d.max, one))
	}
	return out
}

// random gives n values of a type, of which some are null.
func random(r *rand.Rand, t arrowipc.Type, n int) []any {
	values, from := make([]any, n), pool(t)
	nulls := r.Intn(3) // none, some, many
	for i := range values {
		if len(from) == 0 || nulls > 0 && r.Intn(8) < nulls*nulls {
			continue
		}
		values[i] = from[r.Intn(len(from))]
	}
	return values
}
