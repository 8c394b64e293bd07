package statistics

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestPlacesComeBack(t *testing.T) {
	decimal := func(n int64) Value {
		v, _ := DecimalValue(big.NewInt(n))
		return v
	}
	for class, values := range map[Class][]Value{
		Bool:     {Boolean(false), Boolean(true)},
		Signed:   {Int(math.MinInt64), Int(-1), Int(0), Int(math.MaxInt64)},
		Unsigned: {Uint(0), Uint(math.MaxUint64)},
		Float:    {Float64Value(math.Inf(-1)), Float64Value(math.Copysign(0, -1)), Float64Value(0.1)},
		Decimal:  {decimal(-5), decimal(0), decimal(1 << 60)},
		Bytes:    {TextValue(""), TextValue("a"), TextValue(strings.Repeat("long", 1000))},
	} {
		places := []Place{{rank: rankNull}}
		if class == Float {
			places = append(places, Place{rank: rankNaN})
		}
		for _, v := range values {
			places = append(places, Place{value: v})
		}
		for _, p := range places {
			form := AppendPlace([]byte("front"), p, class)[5:]
			got, rest, err := ConsumePlace(append(bytes.Clone(form), "rest"...), class)
			if err != nil || got != p || string(rest) != "rest" {
				t.Errorf("class %d: %+v came back as %+v, rest %q, %v", class, p, got, rest, err)
			}
			for n := range form {
				if _, _, err := ConsumePlace(form[:n], class); !errors.Is(err, ErrBinary) {
					t.Errorf("class %d: %+v cut to %d bytes: %v", class, p, n, err)
				}
			}
		}
	}
}

func TestNoPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		class Class
		form  []byte
	}{
		"an unknown rank":   {Signed, []byte{3}},
		"NaN of integers":   {Signed, []byte{1}},
		"a bool of 2":       {Bool, []byte{0, 2}},
		"a length too long": {Bytes, []byte{0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}},
	} {
		if p, _, err := ConsumePlace(c.form, c.class); !errors.Is(err, ErrBinary) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
