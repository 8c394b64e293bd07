package predicate

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// table is a batch that rules are told by.
type table struct {
	schema  *arrowipc.Schema
	vectors []*statistics.Vector
	rows    int
}

// named makes a table of columns, each a name, a type and its values.
func named(columns ...any) table {
	var (
		t      table
		types  []arrowipc.Type
		names  []string
		values [][]any
	)
	for i := 0; i < len(columns); i += 3 {
		names = append(names, columns[i].(string))
		types = append(types, columns[i+1].(arrowipc.Type))
		values = append(values, columns[i+2].([]any))
	}
	t.schema = schemaOf(types)
	for i, f := range t.schema.Fields {
		f.Name = names[i]
		t.vectors = append(t.vectors, vectorOf(f, values[i]))
	}
	t.rows = len(values[0])
	return t
}

// outcomes spells what an expression is for each row: T, F or N.
func (tb table) outcomes(e Expr) (string, error) {
	out := make([]byte, tb.rows)
	for letter, of := range map[byte]Expr{'T': e, 'F': Not{e}, 'N': IsNull{And{[]Expr{e}}}} {
		p, err := Bind(of, InSchema(tb.schema))
		if err != nil {
			return "", err
		}
		selected := make([]byte, (tb.rows+7)/8)
		leaves := p.Columns()
		vector := func(i int) *statistics.Vector {
			for at, c := range tb.schema.Layout.Columns {
				if c == leaves[i].Column {
					return tb.vectors[at]
				}
			}
			return nil
		}
		if _, err := p.Evaluator().Eval(int64(tb.rows), vector, selected); err != nil {
			return "", err
		}
		for i := range tb.rows {
			if selected[i/8]>>(i%8)&1 != 0 {
				if out[i] != 0 {
					return "", fmt.Errorf("row %d is both %c and %c", i, out[i], letter)
				}
				out[i] = letter
			}
		}
	}
	return string(out), nil
}

func col(path ...string) Column { return Column{Path: path} }

func cmpOf(op Op) func(Expr, Literal) Expr {
	return func(e Expr, l Literal) Expr { return Compare{op, e, l} }
}

var eq, ne, lt, le, gt, ge = cmpOf(Equal), cmpOf(NotEqual), cmpOf(Less), cmpOf(LessEqual), cmpOf(Greater), cmpOf(GreaterEqual)

// n are steps.
func n(values ...any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case int:
			out[i] = big.NewInt(int64(v))
		case string:
			out[i], _ = new(big.Int).SetString(v, 10)
		}
	}
	return out
}

func number(t testing.TB, text string) Literal {
	l, err := Number(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var (
	boolType = arrowipc.Type{ID: arrowipc.TypeBool}
	i64      = arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}
	f64      = arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}
	f32      = arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 32}
	utf8Type = arrowipc.Type{ID: arrowipc.TypeUtf8}
	binType  = arrowipc.Type{ID: arrowipc.TypeBinary}
)

// What these give was asked of pyarrow 26.0.1: of the expression itself, and where it is another of what its Substrait
// message is read as again (In there, Member here).
func TestOutcomesAsAceroHasThem(t *testing.T) {
	tb := named(
		"x", i64, n(1, 2, nil, 3),
		"f", f64, []any{1.0, math.NaN(), nil, math.Copysign(0, -1)},
		"s", utf8Type, []any{"a", "b", nil, ""},
		"b", boolType, []any{true, false, nil, true},
		"f32", f32, []any{float64(float32(0.1)), 1.5, nil, 0.0},
		"bin", binType, []any{"a", "\xff", nil, ""},
		"n", arrowipc.Type{ID: arrowipc.TypeNull}, []any{nil, nil, nil, nil},
	)
	x, f, s, b := col("x"), col("f"), col("s"), col("b")
	nan := Float(math.NaN())
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{Member{x, []Literal{Int(1), Null()}}, "TFTF"},
		{Member{x, []Literal{Int(1)}}, "TFFF"},
		{Not{Member{x, []Literal{Int(1)}}}, "FTTT"},
		{Not{Member{x, []Literal{Int(1), Null()}}}, "FTFT"},
		{Member{x, []Literal{Null()}}, "FFTF"},
		{Member{f, []Literal{nan}}, "FTFF"},
		{Member{f, []Literal{Float(0)}}, "FFFF"},
		{Member{f, []Literal{Float(math.Copysign(0, -1))}}, "FFFT"},
		{Member{x, nil}, "FFFF"},
		{In{x, []Literal{Int(1), Null()}}, "TNNN"},
		{In{x, []Literal{Int(1)}}, "TFNF"},
		{Not{In{x, []Literal{Int(1)}}}, "FTNT"},
		{Not{In{x, []Literal{Int(1), Null()}}}, "FNNN"},
		{In{f, []Literal{nan}}, "FFNF"},
		{In{f, []Literal{Float(0)}}, "FFNT"},
		{In{x, nil}, "FFFF"},
		{In{x, []Literal{Null()}}, "NNNN"},
		{eq(x, Null()), "NNNN"},
		{IsNull{x}, "FFTF"},
		{Not{IsNull{f}}, "TTFT"},
		{IsNaN{f}, "FTNF"},
		{IsNaN{x}, "FFNF"},
		{lt(f, nan), "FFNF"},
		{eq(f, nan), "FFNF"},
		{ne(f, nan), "TTNT"},
		{Not{gt(f, Float(0.5))}, "FTNT"},
		{If{b, gt(x, Int(1)), gt(x, Int(2))}, "FFNT"},
		{Case{[]When{{b, gt(x, Int(0))}, {eq(x, Int(2)), gt(x, Int(5))}}, Bool(false)}, "TFFT"},
		{Case{Whens: []When{{b, gt(x, Int(0))}}}, "TNNT"},
		{StartsWith{s, String("a")}, "TFNF"},
		{StartsWith{s, String("")}, "TTNT"},
		{StartsWith{s, Null()}, "NNNN"},
		{gt(x, Float(1.5)), "FTNT"},
		{And{[]Expr{b, Literal{}}}, "NFNN"},
		{Or{[]Expr{b, Literal{}}}, "TNNT"},
		{b, "TFNT"},
		{eq(b, Bool(true)), "TFNT"},
		{lt(b, Bool(true)), "FTNF"},
		{And{[]Expr{ge(x, Int(1)), lt(x, Int(3))}}, "TTNF"},
		{Bool(true), "TTTT"},
		{Null(), "NNNN"},
		{And{}, "TTTT"},
		{Or{}, "FFFF"},
		{eq(Int(1), Int(1)), "TTTT"},
		{eq(Float(math.NaN()), Int(1)), "FFFF"},
		{ne(Float(math.NaN()), Int(1)), "TTTT"},
		{eq(col("f32"), Float(0.1)), "FFNF"},
		{gt(col("f32"), Float(0.1)), "TTNF"},
		{eq(col("bin"), String("a")), "TFNF"},
		{gt(col("bin"), Bytes([]byte("a"))), "FTNF"},
		{eq(col("n"), Int(1)), "NNNN"},
		{IsNull{col("n")}, "TTTT"},
		{Compare{Equal, gt(x, Int(1)), Bool(true)}, "FTNT"},
		{Compare{NotEqual, Bool(true), gt(x, Int(1))}, "TFNF"},
		{Compare{Equal, gt(x, Int(1)), Null()}, "NNNN"},
		{IsNull{gt(x, Int(1))}, "FFTF"},
		{Not{IsNull{Not{gt(x, Int(1))}}}, "TTFT"},
		{gt(Cast{x, f64}, Float(1.5)), "FTNT"},
		{eq(Cast{s, arrowipc.Type{ID: arrowipc.TypeLargeUtf8}}, String("a")), "TFNF"},
		{In{Cast{x, f64}, []Literal{Float(1), Float(2.5), Null()}}, "TNNN"},
	} {
		got, err := tb.outcomes(c.e)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.e, got, c.want, err)
		}
	}
}

// TestLiterals tells which values of a column compare with a literal, exactly and without rounding.
func TestLiterals(t *testing.T) {
	u := func(id arrowipc.TypeID, bits, unit int, zone string) arrowipc.Type {
		return arrowipc.Type{ID: id, BitWidth: bits, Unit: unit, Timezone: zone}
	}
	dec := func(bits, precision, scale int) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: bits, Precision: precision, Scale: scale}
	}
	integer := func(bits int, signed bool) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: signed}
	}
	num := func(s string) Literal { return number(t, s) }
	k := col("k")
	i64s := n(4, 5, nil, "9223372036854775807", "-9223372036854775808")
	u64s := n(0, 5, nil, "18446744073709551615", "9223372036854775808")
	floats := []any{0.1, float64(1 << 53), nil, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	d2 := n(150, -1, nil, 155, 156)
	days := n(0, 19782, nil, -1, 2932896) // 1970-01-01, 2024-02-29, 1969-12-31, 9999-12-31
	us := n(0, 1_500_000, nil, -1)
	for _, c := range []struct {
		t      arrowipc.Type
		values []any
		e      Expr
		want   string
	}{
		{i64, i64s, gt(k, num("4.5")), "FTNTF"},
		{i64, i64s, eq(k, num("4.5")), "FFNFF"},
		{i64, i64s, ne(k, num("4.5")), "TTNTT"},
		{i64, i64s, eq(k, num("5.0")), "FTNFF"},
		{i64, i64s, eq(k, num("0.5e1")), "FTNFF"},
		{i64, i64s, eq(k, num("1180591620717411303424")), "FFNFF"},
		{i64, i64s, lt(k, num("1180591620717411303424")), "TTNTT"},
		{i64, i64s, gt(k, num("-1180591620717411303424")), "TTNTT"},
		{i64, i64s, eq(k, num("9223372036854775807")), "FFNTF"},
		{i64, i64s, eq(k, num("9223372036854775806")), "FFNFF"},
		{i64, i64s, ge(k, num("9223372036854775807.5")), "FFNFF"},
		{i64, i64s, le(k, num("-9223372036854775808")), "FFNFT"},
		{i64, i64s, lt(k, num("-9223372036854775808")), "FFNFF"},
		{i64, i64s, lt(k, num("1e999999999999")), "TTNTT"},
		{i64, i64s, gt(k, num("-1E+999999999999")), "TTNTT"},
		{i64, i64s, gt(k, num("1e-999999999999")), "TTNTF"},
		{i64, i64s, lt(k, Float(math.Inf(1))), "TTNTT"},
		{i64, i64s, gt(k, Float(math.Inf(1))), "FFNFF"},
		{i64, i64s, gt(k, Float(math.Inf(-1))), "TTNTT"},
		{i64, i64s, ne(k, Float(math.NaN())), "TTNTT"},
		{i64, i64s, ge(k, Float(9223372036854775808)), "FFNFF"},
		{i64, i64s, In{k, []Literal{num("4.5"), num("5"), num("1e30")}}, "FTNFF"},
		{integer(64, false), u64s, eq(k, num("18446744073709551615")), "FFNTF"},
		{integer(64, false), u64s, gt(k, num("9223372036854775807")), "FFNTT"},
		{integer(64, false), u64s, gt(k, num("-1")), "TTNTT"},
		{integer(64, false), u64s, eq(k, num("18446744073709551616")), "FFNFF"},
		{integer(8, false), n(0, 255, nil), lt(k, num("256")), "TTN"},
		{integer(8, false), n(0, 255, nil), eq(k, num("256")), "FFN"},
		{integer(8, true), n(-128, 127, nil), le(k, num("-128")), "TFN"},

		{f64, floats, eq(k, num("0.1")), "TFNFFFF"},
		{f64, floats, eq(k, num("9007199254740993")), "FFNFFFF"},
		{f64, floats, lt(k, num("9007199254740993")), "TTNFFTT"},
		{f64, floats, gt(k, num("9007199254740991")), "FTNFTFF"},
		{f64, floats, eq(k, num("9007199254740993.0")), "FTNFFFF"},
		{f64, floats, eq(k, num("0")), "FFNFFFT"},
		{f64, floats, ge(k, num("0")), "TTNFTFT"},
		{f64, floats, lt(k, num("0")), "FFNFFTF"},
		{f64, floats, eq(k, num("-0.0")), "FFNFFFT"},
		{f64, floats, eq(k, Text("Infinity")), "FFNFTFF"},
		{f64, floats, gt(k, Text("-Infinity")), "TTNFTFT"},
		{f64, floats, ne(k, Text("NaN")), "TTNTTTT"},
		{f64, floats, lt(k, num("1e400")), "TTNFFTT"},
		{f64, floats, lt(k, num("1"+string(make0(400)))), "TTNFFTT"},
		{f64, floats, gt(k, num("1"+string(make0(400)))), "FFNFTFF"},
		{f32, []any{float64(float32(0.1)), nil, 0.5}, eq(k, num("0.1")), "FNF"},
		{f32, []any{float64(float32(0.1)), nil, 0.5}, eq(k, num("0.5")), "FNT"},

		{dec(128, 10, 2), d2, eq(k, num("1.5")), "TFNFF"},
		{dec(128, 10, 2), d2, eq(k, Text("1.500")), "TFNFF"},
		{dec(128, 10, 2), d2, gt(k, Text("1.555")), "FFNFT"},
		{dec(128, 10, 2), d2, lt(k, num("0")), "FTNFF"},
		{dec(128, 10, 2), d2, le(k, num("1")), "FTNFF"},
		{dec(128, 10, 2), d2, lt(k, num("1e60")), "TTNTT"},
		{dec(128, 10, 2), d2, eq(k, num("-0.01")), "FTNFF"},
		{dec(128, 10, 2), d2, gt(k, Float(1.5)), "FFNTT"},
		{dec(256, 50, -2), n(3, nil, -3), eq(k, num("300")), "TNF"},
		{dec(256, 50, -2), n(3, nil, -3), gt(k, num("-301")), "TNT"},
		{dec(256, 50, -2), n(3, nil, -3), In{k, []Literal{num("300"), num("301"), num("-300")}}, "TNT"},
		{dec(32, 9, 2), d2, eq(k, Text("1.55")), "FFNTF"},
		{dec(64, 18, 2), d2, lt(k, Text("1.555")), "TTNTF"},

		{u(arrowipc.TypeDate, 0, 0, ""), days, eq(k, Text("2024-02-29")), "FTNFF"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, lt(k, Text("1970-01-01")), "FFNTF"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, gt(k, Text("1969-12-31T12:00:00")), "TTNFT"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, eq(k, Text("9999-12-31")), "FFNFT"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, le(k, Text("+10000-01-01")), "TTNTT"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, eq(k, Date(19782)), "FTNFF"},
		{u(arrowipc.TypeDate, 0, 1, ""), n(0, 86400000, nil), eq(k, Text("1970-01-02")), "FTN"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, eq(k, Text("1970-01-01T00:00:01.5")), "FTNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, eq(k, Text("1970-01-01 00:00:01.500000")), "FTNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, ge(k, Text("1970-01-01")), "TTNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, gt(k, Text("1969-12-31T23:59:59.9999985")), "TTNT"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, eq(k, Text("1969-12-31T23:59:59.9999985")), "FFNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, gt(k, Timestamp(1, Second, false)), "FTNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, ""), us, gt(k, Timestamp(1_500_000_001, Nanosecond, false)), "FFNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, "UTC"), us, eq(k, Text("1970-01-01T01:00:00+01:00")), "TFNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, "Europe/Berlin"), us, eq(k, Text("1970-01-01T00:00:00Z")), "TFNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, "UTC"), us, eq(k, Text("1970-01-01T00:00")), "TFNF"},
		{u(arrowipc.TypeTimestamp, 0, 2, "UTC"), us, eq(k, Timestamp(0, Second, true)), "TFNF"},
		{u(arrowipc.TypeTime, 32, 0, ""), n(0, 45000, nil), eq(k, Text("12:30")), "FTN"},
		{u(arrowipc.TypeTime, 32, 0, ""), n(0, 45000, nil), gt(k, Text("00:00:00.5")), "FTN"},
		{u(arrowipc.TypeTime, 64, 3, ""), n(0, 500_000_000, nil), eq(k, Text("00:00:00.500")), "FTN"},
		{u(arrowipc.TypeTime, 64, 3, ""), n(0, 500_000_000, nil), eq(k, Time(500, Millisecond)), "FTN"},
		{u(arrowipc.TypeDuration, 64, 1, ""), n(0, 1500, -90_000, nil), eq(k, Text("PT1.5S")), "FTFN"},
		{u(arrowipc.TypeDuration, 64, 1, ""), n(0, 1500, -90_000, nil), eq(k, Text("-PT1M30S")), "FFTN"},
		{u(arrowipc.TypeDuration, 64, 1, ""), n(0, 1500, -90_000, nil), lt(k, Duration(1, Second)), "TFTN"},

		{utf8Type, []any{"a", "é", nil, ""}, eq(k, Text("é")), "FTNF"},
		{utf8Type, []any{"a", "é", nil, ""}, gt(k, Text("z")), "FTNF"},
		{utf8Type, []any{"a", "é", nil, ""}, lt(k, Text("")), "FFNF"},
		{utf8Type, []any{"a", "é", nil, ""}, ge(k, Text("")), "TTNT"},
		{binType, []any{"a", "\xff", nil}, eq(k, Text("/w==")), "FTN"},
		{binType, []any{"a", "\xff", nil}, StartsWith{k, Text("YQ==")}, "TFN"},
		{binType, []any{"a", "\xff", nil}, StartsWith{k, Bytes([]byte{0xFF})}, "FTN"},
		{binType, []any{"a\xfe!", "a\xff", "b", nil}, StartsWith{k, Bytes([]byte("a\xfe"))}, "TFFN"},
		{binType, []any{"a\xfe\xff!", "a\xfe", "b", nil}, StartsWith{k, Bytes([]byte("a\xfe\xff"))}, "TFFN"},
		{binType, []any{"\uFFFDa", "\uFFFE", nil}, StartsWith{k, Bytes([]byte("\uFFFD"))}, "TFN"},
		{boolType, []any{true, false, nil}, ge(k, Bool(false)), "TTN"},
		{boolType, []any{true, false, nil}, In{k, []Literal{Bool(false)}}, "FTN"},
		{boolType, []any{true, false, nil}, In{k, []Literal{Bool(false), Bool(true)}}, "TTN"},
		{i64, n("9007199254740993", 1, nil), eq(Cast{k, f64}, Float(1<<53)), "TFN"},
		{i64, n("9007199254740993", 1, nil), gt(Cast{k, f64}, Float(1<<53)), "FFN"},
		{i64, n("9007199254740993", 1, nil), gt(k, Float(1<<53)), "TFN"},
		{dec(128, 10, 2), n(120, 10, nil), gt(Cast{k, f64}, Float(1.2)), "FFN"},
		{dec(128, 10, 2), n(120, 10, nil), eq(Cast{k, f64}, Float(0.1)), "FTN"},
		{dec(128, 10, 2), n(120, 10, nil), eq(Cast{k, f32}, Float(float64(float32(0.1)))), "FTN"},
		{f32, []any{0.5, nil}, eq(Cast{k, f64}, Float(0.5)), "TN"},
		{u(arrowipc.TypeDate, 0, 0, ""), days, gt(Cast{k, u(arrowipc.TypeTimestamp, 0, 2, "")}, Timestamp(1, Second, false)), "FTNFT"},
		{u(arrowipc.TypeTimestamp, 0, 0, ""), n(1, nil), eq(Cast{k, u(arrowipc.TypeTimestamp, 0, 3, "")}, Timestamp(1e9, Nanosecond, false)), "TN"},
		{i64, n(1, nil), eq(k, castLiteral(t, Int(1), f64)), "TN"},
	} {
		got, err := named("k", c.t, c.values).outcomes(c.e)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: %s, want %s (%v)", c.e, (&arrowipc.Field{Type: c.t}).TypeString(), got, c.want, err)
		}
	}
}

func make0(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return b
}

func castLiteral(t *testing.T, l Literal, to arrowipc.Type) Literal {
	l, err := l.cast(to)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
