package statistics

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// sum merges columns in the order given.
func sum(class Class, columns ...Column) (c Column) {
	for _, o := range columns {
		c.Merge(o, class)
	}
	return c
}

// Merged in any order and grouping, the parts of a column make the same whole, and that of the column measured at once
// where no bound is cut.
func TestMerge(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for range 200 {
			var columns []Column
			for range 1 + r.IntN(5) {
				columns = append(columns, Measure(makeVector(r, s, r.IntN(70))))
			}
			class := ClassOf(makeVector(r, s, 0).Field)
			want := sum(class, columns...)
			at := r.IntN(len(columns))
			if got := sum(class, sum(class, columns[:at]...), sum(class, columns[at:]...)); got != want {
				t.Fatalf("%v: not associative: %+v, want %+v", s.t, got, want)
			}
			shuffled := slices.Clone(columns)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := sum(class, shuffled...); got != want {
				t.Fatalf("%v: not commutative: %+v, want %+v", s.t, got, want)
			}
		}
	}
}

func TestMergeIsMeasuringTogether(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for range 50 {
			whole := makeVector(r, s, 64*(2+r.IntN(3))) // parts begin at whole bytes of bitmaps
			whole.Masks = nil
			class := ClassOf(whole.Field)
			var parts Column
			for from := int64(0); from < whole.Length; from += 64 {
				parts.Merge(Measure(part(whole, from, from+64)), class)
			}
			if want := Measure(whole); parts != want {
				t.Fatalf("%s: %+v, want %+v", whole.Field.TypeString(), parts, want)
			}
		}
	}
}

// part is the slots [from, to) of a vector, from a multiple of 8.
func part(v *Vector, from, to int64) *Vector {
	p := *v
	p.Length = to - from
	if len(v.Validity) > 0 {
		p.Validity = v.Validity[from/8:]
	}
	switch {
	case len(v.Offsets) > 0 && len(v.Offsets) >= int(8*v.Length):
		p.Offsets = v.Offsets[8*from:]
	case len(v.Offsets) > 0:
		p.Offsets = v.Offsets[4*from:]
	case len(v.Buffers) > 0:
		p.Values = v.Values[16*from:]
	case v.Width > 0:
		p.Values = v.Values[from*int64(v.Width):]
	case len(v.Values) > 0:
		p.Values = v.Values[from/8:]
	}
	return &p
}

func TestMergeCases(t *testing.T) {
	bounded := func(least, greatest Value) (c Column) {
		c.Rows = 1
		c.bound(least, greatest)
		return c
	}
	cut := bounded(TextValue("a"), TextValue("c"))
	cut.MinExact, cut.MaxExact = false, false
	open := Column{Rows: 1, HasMin: true, Min: TextValue("b"), MinExact: true}
	for _, c := range []struct {
		name  string
		class Class
		a, b  Column
		want  Column
	}{
		{"nothing", None, Column{}, Column{}, Column{}},
		{"nulls do not bound", Signed, bounded(Int(-3), Int(-3)), Column{Rows: 5, Nulls: 5},
			Column{Rows: 6, Nulls: 5, HasMin: true, Min: Int(-3), MinExact: true, HasMax: true, Max: Int(-3), MaxExact: true}},
		{"NaN does not bound", Float, bounded(Float64Value(1), Float64Value(1)), Column{Rows: 1, HasNaN: true},
			Column{Rows: 2, HasNaN: true, HasMin: true, Min: Float64Value(1), MinExact: true, HasMax: true, Max: Float64Value(1), MaxExact: true}},
		{"a bound that is missing stays so", Bytes, open, bounded(TextValue("a"), TextValue("z")),
			Column{Rows: 2, HasMin: true, Min: TextValue("a"), MinExact: true}},
		{"a value makes a cut bound exact", Bytes, cut, bounded(TextValue("a"), TextValue("c")),
			Column{Rows: 2, HasMin: true, Min: TextValue("a"), MinExact: true, HasMax: true, Max: TextValue("c"), MaxExact: true}},
		{"zeros bit by bit", Float, bounded(Float64Value(0), Float64Value(0)), bounded(Float64Value(math.Copysign(0, -1)), Float64Value(math.Copysign(0, -1))),
			Column{Rows: 2, HasMin: true, Min: Float64Value(math.Copysign(0, -1)), MinExact: true, HasMax: true, Max: Float64Value(0), MaxExact: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, got := range []Column{sum(c.class, c.a, c.b), sum(c.class, c.b, c.a)} {
				if got != c.want {
					t.Errorf("%+v, want %+v", got, c.want)
				}
			}
		})
	}
}

func TestColumnBytes(t *testing.T) {
	none := Column{}.Bytes()
	var c Column
	c.boundBytes([]byte("abc"), []byte(strings.Repeat("z", 100)), true)
	if got := c.Bytes(); none < 40 || got != none+3+MaxBytes {
		t.Errorf("%d with bounds, %d without", got, none)
	}
}

func TestCompare(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	decimal := func(s string) Value {
		x, _ := new(big.Int).SetString(s, 10)
		v, ok := DecimalValue(x)
		if !ok {
			t.Fatalf("%s does not fit", s)
		}
		return v
	}
	for _, c := range []struct {
		class  Class
		rising []Value
	}{
		{Bool, []Value{Boolean(false), Boolean(true)}},
		{Signed, []Value{Int(math.MinInt64), Int(-1), Int(0), Int(1), Int(math.MaxInt64)}},
		{Unsigned, []Value{Uint(0), Uint(1), Uint(math.MaxInt64), Uint(math.MaxUint64)}},
		{Float, []Value{Float64Value(math.Inf(-1)), Float64Value(-1), Float64Value(negativeZero), Float64Value(5e-324), Float64Value(math.Inf(1))}},
		{Decimal, []Value{
			decimal("-57896044618658097711785492504343953926634992332820282019728792003956564819968"), decimal("-256"), decimal("-255"), decimal("-1"),
			{}, decimal("1"), decimal("256"), decimal("57896044618658097711785492504343953926634992332820282019728792003956564819967")}},
		{Bytes, []Value{TextValue(""), TextValue("\x00"), TextValue("a"), TextValue("a\x00"), TextValue("b"), BytesValue([]byte{0xFF})}},
	} {
		for i, a := range c.rising {
			for j, b := range c.rising {
				if got := Compare(c.class, a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
					t.Errorf("class %d: comparing values %d and %d gives %d", c.class, i, j, got)
				}
			}
		}
	}
	if Compare(Float, Float64Value(0), Float64Value(negativeZero)) != 0 || Compare(Decimal, Value{}, decimal("0")) != 0 || Compare(None, Int(1), Int(2)) != 0 {
		t.Error("zeros, or values without order, differ")
	}
}

func TestDecimalValue(t *testing.T) {
	r := random(t)
	for range 1000 {
		var b [32]byte
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		x := new(big.Int).SetBytes(b[:])
		x.Rsh(x, uint(1+r.IntN(255)))
		if r.IntN(2) == 0 {
			x.Neg(x)
		}
		v, ok := DecimalValue(x)
		if !ok || v.Decimal().Cmp(x) != 0 {
			t.Fatalf("%s became %s (%v)", x, v.Decimal(), ok)
		}
	}
	most := new(big.Int).Lsh(big.NewInt(1), 255)
	if _, ok := DecimalValue(most); ok {
		t.Error("2^255 is said to fit")
	}
	if _, ok := DecimalValue(new(big.Int).Neg(most)); !ok {
		t.Error("-2^255 is said not to fit")
	}
	if _, ok := DecimalValue(new(big.Int).Sub(new(big.Int).Neg(most), big.NewInt(1))); ok {
		t.Error("-2^255-1 is said to fit")
	}
	if got := (Value{}).Decimal(); got.Sign() != 0 {
		t.Errorf("the zero Value is %s", got)
	}
}
