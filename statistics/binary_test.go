package statistics

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

func TestColumnRoundTrip(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for i := range 300 {
			v := makeVector(r, s, r.IntN(70))
			class := ClassOf(v.Field)
			c := Measure(v)
			if i == 0 {
				c = Everything(v.Field, math.MaxInt64, 0)
			}
			roundTrip(t, c, class)
		}
	}
}

// roundTrip checks that a column's form reads as the column, with what follows it left, and that none of its beginnings do.
func roundTrip(t *testing.T, c Column, class Class) {
	t.Helper()
	form := AppendColumn([]byte("before"), &c, class)[len("before"):]
	got, rest, err := ConsumeColumn(append(slices.Clip(form), "after"...), class)
	if err != nil || got != c || string(rest) != "after" {
		t.Fatalf("class %d: %+v came back as %+v, with %q behind it, %v", class, c, got, rest, err)
	}
	for n := range form {
		if _, _, err := ConsumeColumn(form[:n:n], class); !errors.Is(err, ErrBinary) {
			t.Fatalf("class %d: %x cut to %d bytes gives %v", class, form, n, err)
		}
	}
}

// What no measuring makes is refused.
func TestConsumeColumnRefuses(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, MaxBytes+1)
	for name, x := range map[string]struct {
		form  []byte
		class Class
	}{
		"unknown flag":              {[]byte{0x20, 1, 0}, Signed},
		"max without min":           {[]byte{4, 1, 0, 2}, Signed},
		"exact without min":         {[]byte{8, 1, 0}, Signed},
		"exact without max":         {[]byte{2 | 16, 1, 0, 2}, Signed},
		"bounds without an order":   {[]byte{2, 1, 0, 2}, None},
		"more nulls than rows":      {[]byte{0, 1, 2}, Signed},
		"negative rows":             {[]byte{0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0}, Signed},
		"a number of 11 bytes":      {[]byte{0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0}, Signed},
		"a number in a longer form": {[]byte{0, 0x81, 0, 0}, Signed},
		"a truth of 2":              {[]byte{2, 1, 0, 2}, Bool},
		"a decimal of 16 bytes":     {append([]byte{2, 1, 0, 16}, make([]byte, 16)...), Decimal},
		"bytes too long":            {append([]byte{2, 1, 0, MaxBytes + 1}, long...), Bytes},
		"bytes longer than any":     {[]byte{2, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, Bytes},
	} {
		if c, _, err := ConsumeColumn(x.form, x.class); !errors.Is(err, ErrBinary) || c != (Column{}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// The form is what files have: it may not change.
func TestColumnForm(t *testing.T) {
	decimal, _ := DecimalValue(big.NewInt(-2))
	for _, x := range []struct {
		c     Column
		class Class
		want  []byte
	}{
		{Column{}, None, []byte{0, 0, 0}},
		{Column{Rows: 300, Nulls: 300}, Bytes, []byte{0, 0xAC, 2, 0xAC, 2}},
		{Column{Rows: 2, HasMin: true, HasMax: true, Max: Boolean(true), MinExact: true, MaxExact: true}, Bool, []byte{30, 2, 0, 0, 1}},
		{Column{Rows: 2, HasMin: true, HasMax: true, Min: Int(-1), Max: Int(1)}, Signed, []byte{6, 2, 0, 1, 2}},
		{Column{Rows: 2, HasMin: true, HasMax: true, Min: Uint(1), Max: Uint(128)}, Unsigned, []byte{6, 2, 0, 1, 0x80, 1}},
		{Column{Rows: 2, HasNaN: true, HasMin: true, HasMax: true, Min: Float64Value(-2), Max: Float64Value(0)}, Float,
			[]byte{7, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{Column{Rows: 1, HasMin: true, HasMax: true, Min: decimal}, Decimal,
			slices.Concat([]byte{6, 1, 0, 32}, bytes.Repeat([]byte{0xFF}, 31), []byte{0xFE, 0})},
		{Column{Rows: 1, HasMin: true, Min: TextValue("Oslo")}, Bytes, []byte{2, 1, 0, 4, 'O', 's', 'l', 'o'}},
	} {
		if got := AppendColumn(nil, &x.c, x.class); !bytes.Equal(got, x.want) {
			t.Errorf("%+v is written as %x, want %x", x.c, got, x.want)
		}
		roundTrip(t, x.c, x.class)
	}
}

// FuzzConsumeColumn reads any bytes: what is accepted has just that form, and can be used.
func FuzzConsumeColumn(f *testing.F) {
	for _, s := range shapes() {
		field := &arrowipc.Field{Type: s.t}
		c := Everything(field, 1000, 1)
		f.Add(AppendColumn(nil, &c, ClassOf(field)), uint8(ClassOf(field)))
	}
	types := map[Class]arrowipc.Type{}
	for _, s := range shapes() {
		types[ClassOf(&arrowipc.Field{Type: s.t})] = s.t
	}
	f.Fuzz(func(t *testing.T, form []byte, class uint8) {
		kind := Class(class) % (Bytes + 1)
		c, rest, err := ConsumeColumn(form, kind)
		if err != nil {
			if !errors.Is(err, ErrBinary) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if again := AppendColumn(nil, &c, kind); !bytes.Equal(again, form[:len(form)-len(rest)]) {
			t.Fatalf("%x was read, and written as %x", form, again)
		}
		field := &arrowipc.Field{Type: types[kind]}
		c.Min.JSON(field)
		c.Max.JSON(field)
		c.Merge(c, kind)
	})
}
