package statistics

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// slow measures value by value, with nothing shared with Measure but Null, Value and Compare.
type slow struct {
	nulls      int64
	nan        bool
	values     bool
	least      Value
	greatest   Value
	leastFloat float64
}

func measureSlowly(v *Vector) (s slow) {
	class := ClassOf(v.Field)
	for i := range v.Length {
		if v.Null(i) {
			s.nulls++
			continue
		}
		if class == None {
			continue
		}
		x := v.Value(i)
		if class == Float && x.Float64() != x.Float64() {
			s.nan = true
			continue
		}
		if !s.values || before(class, x, s.least) {
			s.least = x
		}
		if !s.values || before(class, s.greatest, x) {
			s.greatest = x
		}
		s.values = true
	}
	return s
}

// before has -0.0 before 0.0.
func before(class Class, a, b Value) bool {
	if order := Compare(class, a, b); order != 0 || class != Float {
		return order < 0
	}
	return a.bits>>63 > b.bits>>63
}

// check compares what Measure says of v with what its values say.
func check(t *testing.T, v *Vector) {
	t.Helper()
	got, want, class := Measure(v), measureSlowly(v), ClassOf(v.Field)
	if got.Rows != v.Length || got.Nulls != want.nulls || got.HasNaN != want.nan {
		t.Fatalf("%s: rows %d, nulls %d, NaN %v; want %d, %d, %v",
			v.Field.TypeString(), got.Rows, got.Nulls, got.HasNaN, v.Length, want.nulls, want.nan)
	}
	if got.HasMin != want.values {
		t.Fatalf("%s: HasMin %v, want %v", v.Field.TypeString(), got.HasMin, want.values)
	}
	if !want.values {
		if got.HasMax || got.Min != (Value{}) || got.Max != (Value{}) || got.MinExact || got.MaxExact {
			t.Fatalf("%s: bounds of no values: %+v", v.Field.TypeString(), got)
		}
		return
	}
	if class != Bytes {
		if got.Min != want.least || got.Max != want.greatest || !got.MinExact || !got.MaxExact || !got.HasMax {
			t.Fatalf("%s: %+v, want %+v", v.Field.TypeString(), got, want)
		}
		return
	}
	checkBytes(t, v, got, want)
}

// checkBytes asks that bounds are values where they fit, and else true, short and near.
func checkBytes(t *testing.T, v *Vector, got Column, want slow) {
	t.Helper()
	least, greatest := want.least.bytes, want.greatest.bytes
	if got.MinExact != (len(least) <= MaxBytes) || got.MinExact && got.Min != want.least {
		t.Fatalf("%s: min %q (exact: %v), want %q", v.Field.TypeString(), got.Min.bytes, got.MinExact, least)
	}
	if got.MaxExact != (len(greatest) <= MaxBytes) || got.MaxExact && got.Max != want.greatest {
		t.Fatalf("%s: max %q (exact: %v), want %q", v.Field.TypeString(), got.Max.bytes, got.MaxExact, greatest)
	}
	if len(got.Min.bytes) > MaxBytes || len(got.Max.bytes) > MaxBytes {
		t.Fatalf("%s: bounds of %d and %d bytes", v.Field.TypeString(), len(got.Min.bytes), len(got.Max.bytes))
	}
	if !got.MinExact && got.Min.bytes != least[:len(got.Min.bytes)] || !got.MinExact && len(got.Min.bytes) <= MaxBytes-4 {
		t.Fatalf("%s: min %q is not %q cut", v.Field.TypeString(), got.Min.bytes, least)
	}
	if got.HasMax && got.Max.bytes < greatest {
		t.Fatalf("%s: max %q is below %q", v.Field.TypeString(), got.Max.bytes, greatest)
	}
	if !got.HasMax && (got.MaxExact || got.Max != (Value{})) {
		t.Fatalf("%s: %+v", v.Field.TypeString(), got)
	}
}

// bitmap packs bits.
func bitmap(n int, set func(i int) bool) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		if set(i) {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

func TestMeasureSmall(t *testing.T) {
	f := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}}
	values := make([]byte, 8*100)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range values {
		values[i] = byte(r.Uint32())
	}
	valid := bitmap(100, func(i int) bool { return i%8 != 0 })
	v := &Vector{Field: f, Kind: arrowipc.KindFixed, Width: 8, Length: 100, Validity: valid, Values: values}
	check(t, v)
	if got := Measure(v).Nulls; got != 13 || bits.OnesCount8(valid[0]) != 7 {
		t.Fatal(got)
	}
	text := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeUtf8}}
	check(t, &Vector{Field: text, Kind: arrowipc.KindBinary, Length: 3, Offsets: []byte{0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0},
		Data: bytes.Repeat([]byte("ab"), 2)})
}
