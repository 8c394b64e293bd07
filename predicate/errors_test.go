package predicate

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

func TestWhatDoesNotFitIsRefusedWithItsColumnAndType(t *testing.T) {
	ts := arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: 2}
	tz := arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: 2, Timezone: "UTC"}
	d := arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 10, Scale: 2}
	list := arrowipc.Type{ID: arrowipc.TypeList}
	union := arrowipc.Type{ID: arrowipc.TypeUnion}
	s := schemaOf([]arrowipc.Type{i64, f64, utf8Type, binType, boolType, ts, tz, {ID: arrowipc.TypeDate}, d,
		{ID: arrowipc.TypeTime, BitWidth: 64, Unit: 3}, {ID: arrowipc.TypeDuration, Unit: 1}, {ID: arrowipc.TypeInterval, Unit: 2}})
	for i, name := range strings.Fields("i f s bin b ts tz date d time dur iv") {
		s.Fields[i].Name = name
	}
	item := &arrowipc.Field{Name: "item", Nullable: true, Type: i64}
	s.Fields = append(s.Fields,
		&arrowipc.Field{Name: "list", Nullable: true, Type: list, Children: []*arrowipc.Field{item}},
		&arrowipc.Field{Name: "u", Type: union, Children: []*arrowipc.Field{item}},
		&arrowipc.Field{Name: "twice", Type: i64}, &arrowipc.Field{Name: "twice", Type: i64})
	s.Layout = arrowipc.NewLayout(s.Fields)
	for _, c := range []struct {
		e    Expr
		is   error
		says []string
	}{
		{eq(col("i"), Text("5")), ErrType, []string{"column i is int64", `"5"`}},
		{eq(col("i"), Bool(true)), ErrType, []string{"i", "int64", "true"}},
		{eq(col("i"), Date(1)), ErrType, []string{"int64", "date 1d"}},
		{eq(col("f"), Text("1.5")), ErrLiteral, []string{"column f is double", `"1.5"`, `"NaN"`}},
		{eq(col("f"), String("NaN")), ErrType, []string{"double"}},
		{eq(col("s"), Int(5)), ErrType, []string{"column s is string", "5"}},
		{In{col("s"), []Literal{Text("a"), Int(7)}}, ErrType, []string{"string", "7"}},
		{Member{col("s"), []Literal{Text("a"), Int(7)}}, ErrType, []string{"string", "7"}},
		{eq(col("bin"), Text("no base64!")), ErrLiteral, []string{"column bin is binary", "base64"}},
		{eq(col("bin"), Text("YQ")), ErrLiteral, []string{"base64"}},
		{eq(col("bin"), Text("YQ=\n=")), ErrLiteral, []string{"base64"}},
		{eq(col("b"), Int(1)), ErrType, []string{"column b is bool"}},
		{eq(col("b"), Text("true")), ErrType, []string{"bool"}},
		{eq(col("ts"), Text("2024-01-01T00:00:00Z")), ErrLiteral, []string{"column ts is timestamp[us]", "without a zone"}},
		{eq(col("ts"), Timestamp(1, Second, true)), ErrType, []string{"timestamp[us]", "UTC"}},
		{eq(col("tz"), Timestamp(1, Second, false)), ErrType, []string{"timestamp[us, tz=UTC]"}},
		{eq(col("ts"), Int(5)), ErrType, []string{"timestamp[us]"}},
		{eq(col("ts"), Text("2024-02-30")), ErrLiteral, []string{"2024-02-29T13:45:00.5"}},
		{eq(col("date"), Text("yesterday")), ErrLiteral, []string{"date32[day]", "yesterday"}},
		{eq(col("date"), Time(1, Second)), ErrType, []string{"date32[day]"}},
		{eq(col("time"), Text("12")), ErrLiteral, []string{"13:45:00.5"}},
		{eq(col("dur"), Text("P1Y")), ErrLiteral, []string{"P1DT2H30M"}},
		{eq(col("d"), Text("1,5")), ErrLiteral, []string{"decimal128(10, 2)", "12.50"}},
		{eq(col("iv"), Text("P1M")), ErrType, []string{"month_day_nano_interval"}},
		{eq(col("list"), Int(1)), ErrType, []string{"list<item: int64>"}},
		{In{col("list"), nil}, ErrType, []string{"list<item: int64>"}},
		{IsNull{col("u")}, ErrType, []string{"union"}},
		{IsNaN{col("s")}, ErrType, []string{"string", "NaN"}},
		{StartsWith{col("i"), Text("1")}, ErrType, []string{"int64"}},
		{StartsWith{col("s"), Int(1)}, ErrType, []string{"string", "1"}},
		{col("i"), ErrType, []string{"column i is int64"}},
		{Int(1), ErrType, []string{"1 is no boolean"}},
		{eq(Int(1), String("1")), ErrType, []string{"1", `"1"`}},
		{eq(col("nope"), Int(1)), ErrColumn, []string{"nope", "the schema has no"}},
		{eq(col("twice"), Int(1)), ErrColumn, []string{"twice", "more than one"}},
		{eq(col("i", "j"), Int(1)), ErrColumn, []string{"i.j", `"i" is int64`}},
		{eq(Column{Ordinals: []int{99}}, Int(1)), ErrColumn, []string{"#99", "16 fields"}},
		{eq(Column{Ordinals: []int{-1}}, Int(1)), ErrColumn, []string{"#-1"}},
		{eq(Column{}, Int(1)), ErrColumn, []string{"names or ordinals"}},
		{eq(Column{Path: []string{}}, Int(1)), ErrColumn, []string{"no names"}},
		{Compare{Equal, col("i"), col("f")}, ErrUnsupported, []string{"i = f", "without a constant"}},
		{Compare{Op(9), col("i"), Int(1)}, ErrUnsupported, []string{"Op(9)"}},
		{Compare{Less, Not{col("b")}, Bool(true)}, ErrUnsupported, []string{"not b"}},
		{Compare{Equal, Not{col("b")}, Int(1)}, ErrUnsupported, []string{"not b"}},
		{In{Not{col("b")}, []Literal{Bool(true)}}, ErrUnsupported, []string{"truth values"}},
		{eq(Cast{col("i"), arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 32, Signed: true}}, Int(1)), ErrUnsupported, []string{"column i", "int64 to int32"}},
		{eq(Cast{col("ts"), arrowipc.Type{ID: arrowipc.TypeDate}}, Date(1)), ErrUnsupported, []string{"date32"}},
		{eq(Cast{col("f"), f32}, Float(1)), ErrUnsupported, []string{"double to float"}},
		{eq(Cast{col("d"), arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 10, Scale: 1}}, Int(1)), ErrUnsupported, []string{"decimal128(10, 2) to decimal128(10, 1)"}},
		{eq(Cast{col("d"), arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 10, Scale: 3}}, Int(1)), ErrUnsupported, []string{"decimal128(10, 2) to decimal128(10, 3)"}},
		{eq(Cast{col("i"), utf8Type}, String("1")), ErrUnsupported, []string{"int64 to string"}},
		{eq(Cast{col("ts"), tz}, Text("2024-01-01")), ErrUnsupported, []string{"timestamp[us] to timestamp[us, tz=UTC]"}},
		{Compare{Equal, col("i"), castless{}}, ErrUnsupported, []string{"without a constant"}},
		{eq(Cast{Not{col("b")}, i64}, Int(1)), ErrUnsupported, []string{"where a column is needed"}},
		{Compare{Equal, col("i"), Cast{Int(300), arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 8}}}, ErrUnsupported, []string{"300 to uint8"}},
		{Member{Cast{col("i"), f64}, []Literal{Float(1)}}, ErrUnsupported, []string{"rounded"}},
		{Cast{col("i"), i64}, ErrType, []string{"no boolean"}},
		{nil, ErrUnsupported, []string{"missing"}},
		{Not{}, ErrUnsupported, []string{"missing"}},
		{And{[]Expr{nil}}, ErrUnsupported, []string{"missing"}},
		{Compare{}, ErrUnsupported, []string{"missing"}},
		{In{}, ErrUnsupported, []string{"missing"}},
		{IsNull{}, ErrUnsupported, []string{"missing"}},
		{IsNaN{}, ErrUnsupported, []string{"missing"}},
		{StartsWith{}, ErrUnsupported, []string{"missing"}},
		{If{}, ErrUnsupported, []string{"missing"}},
		{Case{Whens: []When{{}}}, ErrUnsupported, []string{"missing"}},
		{eq(Cast{}, Int(1)), ErrUnsupported, []string{"missing"}},
		{castless{}, ErrUnsupported, []string{"castless"}},
		{deep(MaxDepth + 1), ErrLimit, []string{"deep"}},
		{casts(MaxDepth + 1), ErrLimit, []string{"deep"}},
		{Compare{Equal, col("i"), literalCasts(MaxDepth + 2)}, ErrLimit, []string{"deep"}},
		{And{tooManyNodes()}, ErrLimit, []string{"nodes"}},
		{In{col("i"), make([]Literal, MaxList+1)}, ErrLimit, []string{"literals"}},
		{Case{Whens: make([]When, MaxDepth+1)}, ErrLimit, []string{"branches"}},
		{In{Cast{col("i"), f64}, tooManyRounded()}, ErrLimit, []string{"round"}},
	} {
		p, err := Bind(c.e, InSchema(s))
		if p != nil || !errors.Is(err, c.is) {
			t.Errorf("%v: %v, want %v", spell(c.e), err, c.is)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", spell(c.e), err, word)
			}
		}
	}
}

// castless is a node that this package does not know.
type castless struct{ Expr }

func (castless) String() string { return "castless" }

func deep(n int) Expr {
	var e Expr = Bool(true)
	for range n {
		e = Not{e}
	}
	return e
}

func casts(n int) Expr {
	var e Expr = col("i")
	for range n {
		e = Cast{e, i64}
	}
	return Compare{Equal, e, Int(1)}
}

func literalCasts(n int) Expr {
	var e Expr = Int(1)
	for range n {
		e = Cast{e, i64}
	}
	return e
}

func tooManyRounded() []Literal {
	out := make([]Literal, maxRounded+1)
	for i := range out {
		out[i] = Int(int64(i))
	}
	return out
}

func tooManyNodes() []Expr {
	out := make([]Expr, MaxNodes+1)
	for i := range out {
		out[i] = Bool(true)
	}
	return out
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1 ", " 1", "0x1", "1_0", "NaN", "Infinity", "--1", "1e5.0", "1.e5", strings.Repeat("1", maxDigits+1)} {
		if l, err := Number(text); !errors.Is(err, ErrLiteral) {
			t.Errorf("%q was read as %s (%v)", text, l, err)
		}
	}
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "12.50": "12.5", "1E3": "1000", "-2.5e-3": "-0.0025", "18446744073709551616": "18446744073709551616",
	} {
		if l := number(t, text); l.String() != want {
			t.Errorf("%s was read as %s", text, l)
		}
	}
	if _, err := Decimal(big.NewInt(1), maxScale+1); !errors.Is(err, ErrLiteral) {
		t.Errorf("a scale of %d: %v", maxScale+1, err)
	}
	l, err := Decimal(big.NewInt(-150), 2)
	if err != nil || l.String() != "-1.5" {
		t.Errorf("-150 of scale 2 is %s (%v)", l, err)
	}
}

func TestTimesAreReadAsISO8601HasThem(t *testing.T) {
	stamps := map[string]string{
		"1970-01-01": "0", "1970-01-01T00:00": "0", "1969-12-31T23:59:59.5": "-0.5", "2000-02-29": "951782400",
		"0000-01-01": "-62167219200", "-0001-12-31": "-62167305600", "+0000000000001970-01-01": "0",
		"1970-01-01t00:00:01z": "1", "1970-01-01T01:00:00,25+01:00": "0.25", "1970-01-01T00:00-0530": "19800", "1970-01-01T01:00:00+01": "0",
		"+292277-01-09": "9161204803200", "2400-02-29": "13574563200", "1600-12-31": "-11644560000",
	}
	for s, want := range stamps {
		if n, _, ok := parseTimestamp(s); !ok || n.Cmp(rat(want)) != 0 {
			t.Errorf("%q is %v (%v), want %s", s, n, ok, want)
		}
	}
	for _, s := range []string{"", "1970", "1970-1-1", "1970-13-01", "1970-00-01", "1970-01-00", "1970-02-29", "1900-02-29", "10000-01-01", "197-01-01",
		"1970-01-01T", "1970-01-01T24:00:00", "1970-01-01T23:60", "1970-01-01T23:59:60", "1970-01-01T1:00", "1970-01-01T00:00:00.", "1970-01-01T00:00:00.5x",
		"1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+1", "1970-01-01X00:00:00", "1970-01-01T00:00:00ZZ", "+12345678901234567890-01-01", strings.Repeat("1", 200)} {
		if n, _, ok := parseTimestamp(s); ok {
			t.Errorf("%q was read as %v", s, n)
		}
	}
	for s, want := range map[string]string{"00:00": "0", "23:59:59.999": "86399.999", "25:00:00": "90000", "-00:00:01": "-1"} {
		if n, ok := parseTime(s); !ok || n.Cmp(rat(want)) != 0 {
			t.Errorf("%q is %v (%v), want %s", s, n, ok, want)
		}
	}
	for s, want := range map[string]string{"PT0S": "0", "P1D": "86400", "P1W": "604800", "P1DT2H3M4.5S": "93784.5", "-PT1M": "-60", "PT36H": "129600", "PT0,5S": "0.5", "P99999999999999999999D": "8639999999999999999913600"} {
		if n, ok := parseDuration(s); !ok || n.Cmp(rat(want)) != 0 {
			t.Errorf("%q is %v (%v), want %s", s, n, ok, want)
		}
	}
	for _, s := range []string{"", "P", "PT", "P1", "1D", "P1M", "P1Y", "PT1D", "P1H", "PT1S1M", "PT1M1M", "PT1.5M", "PT.5S", "PT1.S", "P1DT", "PP1D", "PT1S ", "--PT1S", "PTT1S"} {
		if n, ok := parseDuration(s); ok {
			t.Errorf("%q was read as %v", s, n)
		}
	}
}

func rat(s string) *big.Rat {
	r, _ := new(big.Rat).SetString(s)
	return r
}
