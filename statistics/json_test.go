package statistics

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

func TestJSON(t *testing.T) {
	ty := func(id arrowipc.TypeID) arrowipc.Type { return arrowipc.Type{ID: id} }
	integer := func(bits int, signed bool) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: signed}
	}
	float := func(bits int) arrowipc.Type { return arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: bits} }
	decimal := func(scale int) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 38, Scale: scale}
	}
	unscaled := func(i int64) Value { v, _ := DecimalValue(big.NewInt(i)); return v }
	unit := func(id arrowipc.TypeID, unit int, zone string) arrowipc.Type {
		return arrowipc.Type{ID: id, Unit: unit, Timezone: zone}
	}
	const date, clock, timestamp, duration = arrowipc.TypeDate, arrowipc.TypeTime, arrowipc.TypeTimestamp, arrowipc.TypeDuration
	for _, c := range []struct {
		t    arrowipc.Type
		v    Value
		want string
	}{
		{ty(arrowipc.TypeBool), Boolean(true), `true`},
		{integer(64, true), Int(math.MinInt64), `-9223372036854775808`},
		{integer(64, false), Uint(math.MaxUint64), `18446744073709551615`},
		{float(64), Float64Value(0.1), `0.1`},
		{float(64), Float64Value(math.Copysign(0, -1)), `-0`},
		{float(32), Float64Value(float64(float32(0.1))), `0.1`},
		{float(16), Float64Value(65504), `65504`},
		{float(64), Float64Value(math.NaN()), `"NaN"`},
		{float(32), Float64Value(math.Inf(1)), `"Infinity"`},
		{float(16), Float64Value(math.Inf(-1)), `"-Infinity"`},
		{decimal(0), unscaled(-150), `"-150"`},
		{decimal(2), unscaled(-150), `"-1.50"`},
		{decimal(2), unscaled(5), `"0.05"`},
		{decimal(3), unscaled(-5), `"-0.005"`},
		{decimal(2), unscaled(0), `"0.00"`},
		{decimal(-2), unscaled(5), `"500"`},
		{decimal(-2), unscaled(0), `"0"`},
		{decimal(math.MaxInt32), unscaled(5), `"5E-2147483647"`},
		{decimal(math.MinInt32), unscaled(5), `"5E+2147483648"`},
		{unit(date, 0, ""), Int(0), `"1970-01-01"`},
		{unit(date, 0, ""), Int(-1), `"1969-12-31"`},
		{unit(date, 0, ""), Int(19782), `"2024-02-29"`},
		{unit(date, 0, ""), Int(-719529), `"-0001-12-31"`},
		{unit(date, 0, ""), Int(-719528), `"0000-01-01"`},
		{unit(date, 0, ""), Int(2932896), `"9999-12-31"`},
		{unit(date, 0, ""), Int(2932897), `"+10000-01-01"`},
		{unit(date, 0, ""), Int(math.MaxInt32), `"+5881580-07-11"`},
		{unit(date, 1, ""), Int(-86_400_000), `"1969-12-31"`},
		{unit(date, 1, ""), Int(1), `"1970-01-01T00:00:00.001"`},
		{unit(clock, 0, ""), Int(86399), `"23:59:59"`},
		{unit(clock, 1, ""), Int(1), `"00:00:00.001"`},
		{unit(clock, 2, ""), Int(-1), `"-00:00:00.000001"`},
		{unit(clock, 3, ""), Int(90_000_000_000_000), `"25:00:00"`},
		{unit(timestamp, 0, ""), Int(1709210096), `"2024-02-29T12:34:56"`},
		{unit(timestamp, 0, "Europe/Berlin"), Int(1709210096), `"2024-02-29T12:34:56Z"`},
		{unit(timestamp, 1, "UTC"), Int(-1), `"1969-12-31T23:59:59.999Z"`},
		{unit(timestamp, 2, ""), Int(1), `"1970-01-01T00:00:00.000001"`},
		{unit(timestamp, 3, ""), Int(math.MinInt64), `"1677-09-21T00:12:43.145224192"`},
		{unit(timestamp, 0, ""), Int(math.MaxInt64), `"+292277026596-12-04T15:30:07"`},
		{unit(timestamp, 0, ""), Int(math.MinInt64), `"-292277022657-01-27T08:29:52"`},
		{unit(duration, 0, ""), Int(0), `"PT0S"`},
		{unit(duration, 0, ""), Int(86400), `"P1D"`},
		{unit(duration, 0, ""), Int(-93784), `"-P1DT2H3M4S"`},
		{unit(duration, 1, ""), Int(3_600_500), `"PT1H0.500S"`},
		{unit(duration, 2, ""), Int(60_000_000), `"PT1M"`},
		{unit(duration, 3, ""), Int(math.MinInt64), `"-P106751DT23H47M16.854775808S"`},
		{unit(duration, 0, ""), Int(math.MinInt64), `"-P106751991167300DT15H30M8S"`},
		{ty(arrowipc.TypeUtf8), TextValue("é\n"), `"é\n"`},
		{ty(arrowipc.TypeUtf8View), TextValue("\xFF"), `null`},
		{ty(arrowipc.TypeLargeBinary), BytesValue([]byte{0, 0xFF}), `"AP8="`},
		{ty(arrowipc.TypeFixedSizeBinary), BytesValue(nil), `""`},
		{ty(arrowipc.TypeInterval), Value{}, `null`},
	} {
		f := &arrowipc.Field{Type: c.t}
		got, err := json.Marshal(c.v.JSON(f))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s (%v), want %s", f.TypeString(), got, err, c.want)
		}
	}
}

// Whatever a measured bound is, it can be written, in bounded size.
func TestJSONOfBounds(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for range 50 {
			v := makeVector(r, s, 10)
			c := Measure(v)
			for _, x := range []Value{c.Min, c.Max} {
				b, err := json.Marshal(x.JSON(v.Field))
				if err != nil || len(b) > 6*MaxBytes+2 {
					t.Fatalf("%s: %s (%v)", v.Field.TypeString(), b, err)
				}
			}
		}
	}
}

func TestBoundsOfText(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name, value, least, greatest string
		unbounded                    bool
	}{
		{"ascii", fill(70), fill(64), fill(63) + "y", false},
		{"a character across the cut", fill(63) + "é" + fill(9), fill(63), fill(62) + "y", false},
		{"one before it", fill(62) + "é" + fill(9), fill(62) + "é", fill(62) + "ê", false},
		{"past the surrogates", fill(61) + "\uD7FF" + fill(9), fill(61) + "\uD7FF", fill(61) + "\uE000", false},
		{"a longer one does not fit", fill(63) + "\x7F" + fill(9), fill(63) + "\x7F", fill(62) + "y", false},
		{"a longer one fits", fill(60) + "\u07FF" + "\U0010FFFF", fill(60) + "\u07FF", fill(60) + "\u0800", false},
		{"the last one", fill(59) + "z" + "\U0010FFFF" + fill(9), fill(59) + "z" + "\U0010FFFF", fill(59) + "{", false},
		{"only last ones", strings.Repeat("\U0010FFFF", 17), strings.Repeat("\U0010FFFF", 16), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Column
			got.boundBytes([]byte(c.value), []byte(c.value), true)
			if len(c.value) <= MaxBytes {
				t.Fatalf("a value of %d bytes is not cut", len(c.value))
			}
			if got.Min.bytes != c.least || got.Max.bytes != c.greatest || got.HasMax == c.unbounded || got.MinExact || got.MaxExact {
				t.Errorf("%+q to %+q (%+v)", got.Min.bytes, got.Max.bytes, got)
			}
		})
	}
}

func TestHalfToDouble(t *testing.T) {
	for h, want := range map[uint16]float64{
		0: 0, 1: 5.9604644775390625e-8, 0x03FF: 6.097555160522461e-5, 0x0400: 6.103515625e-5, 0x3C00: 1, 0xC000: -2,
		0x3555: 0.333251953125, 0x7BFF: 65504, 0x7C00: math.Inf(1), 0xFC00: math.Inf(-1),
	} {
		if got := halfToDouble(h); got != want {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
	if x := halfToDouble(0x8000); x != 0 || !math.Signbit(x) {
		t.Errorf("negative zero is %v", x)
	}
	if x := halfToDouble(0xFE00); x == x {
		t.Errorf("a NaN is %v", x)
	}
}
