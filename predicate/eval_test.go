package predicate

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"testing"
	"unicode/utf8"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// TestOneEvaluatorGoesThroughManyBatches uses one with batches of all sizes and dictionaries that change.
func TestOneEvaluatorGoesThroughManyBatches(t *testing.T) {
	r := seed(t)
	s := schemaOf([]arrowipc.Type{i64, utf8Type, f64}, false, true, true)
	a, b, c := col("a"), col("b"), col("c")
	e := Or{[]Expr{
		And{[]Expr{gt(a, Int(0)), eq(b, String("a"))}},
		If{Not{lt(c, Float(1))}, IsNull{And{[]Expr{eq(b, String("ab")), le(a, Int(2))}}}, Member{c, []Literal{Float(math.NaN()), Null()}}},
	}}
	p, err := Bind(e, InSchema(s))
	if err != nil {
		t.Fatal(err)
	}
	eval := p.Evaluator()
	at := map[string]int{"a": 0, "b": 1, "c": 2}
	leaves := p.Columns()
	var vectors [3]*statistics.Vector
	for round := range 200 {
		rows := r.Intn(300)
		for i, f := range s.Fields {
			dictionary := vectors[i]
			vectors[i] = vectorOf(f, random(r, f.Type, rows))
			if i == 1 && round%3 == 0 && dictionary != nil { // the same dictionary as before, by the same address
				v := vectors[i]
				v.Dictionary, v.Values = dictionary.Dictionary, make([]byte, rows*v.Width)
				for j := range rows {
					v.Values[j*v.Width] = byte(r.Intn(int(v.Dictionary.Length)))
				}
			}
		}
		selected := make([]byte, (rows+7)/8)
		if _, err := eval.Eval(int64(rows), func(i int) *statistics.Vector { return vectors[at[leaves[i].Path[0]]] }, selected); err != nil {
			t.Fatal(err)
		}
		o := naive{map[string]*statistics.Vector{"a": vectors[0], "b": vectors[1], "c": vectors[2]}}
		for i := range rows {
			if got, want := selected[i/8]>>(i%8)&1 != 0, o.eval(e, int64(i)) == yes; got != want {
				t.Fatalf("batch %d, row %d of %d: selected %v, want %v", round, i, rows, got, want)
			}
		}
	}
	held := len(eval.free)
	if held > 12 {
		t.Errorf("the evaluator keeps %d bitmaps", held)
	}
}

func TestEvaluatingAgainNeedsNoMemory(t *testing.T) {
	tb := named("a", i64, n(1, 2, nil, 4), "b", utf8Type, []any{"a", nil, "b", "c"})
	p, err := Bind(Or{[]Expr{In{col("a"), []Literal{Int(1), Int(1 << 40)}}, IsNull{Not{And{[]Expr{eq(col("b"), Text("c")), lt(col("a"), Int(9))}}}}}}, InSchema(tb.schema))
	if err != nil {
		t.Fatal(err)
	}
	eval, selected := p.Evaluator(), make([]byte, 1)
	column := func(i int) *statistics.Vector { return tb.vectors[i] }
	if n := testing.AllocsPerRun(100, func() {
		if _, err := eval.Eval(4, column, selected); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

func TestVectorsThatDoNotFitAreRefused(t *testing.T) {
	tb := named("a", i64, n(1, 2, 3), "s", utf8Type, []any{"a", "b", "c"}, "b", boolType, []any{true, true, true})
	encoded := schemaOf([]arrowipc.Type{utf8Type}, true)
	d := vectorOf(encoded.Fields[0], []any{"a", "b", "c"})
	change := func(v *statistics.Vector, f func(*statistics.Vector)) *statistics.Vector {
		c := *v
		f(&c)
		return &c
	}
	for i, c := range []struct {
		schema *arrowipc.Schema
		e      Expr
		v      *statistics.Vector
	}{
		{tb.schema, eq(col("a"), Int(1)), nil},
		{tb.schema, eq(col("a"), Int(1)), tb.vectors[1]},
		{tb.schema, eq(col("a"), Int(1)), change(tb.vectors[0], func(v *statistics.Vector) { v.Width = 4 })},
		{tb.schema, eq(col("a"), Int(1)), change(tb.vectors[0], func(v *statistics.Vector) { v.Length = 2 })},
		{tb.schema, eq(col("a"), Int(1)), change(tb.vectors[0], func(v *statistics.Vector) { v.Values = v.Values[:23] })},
		{tb.schema, eq(col("s"), Text("a")), change(tb.vectors[1], func(v *statistics.Vector) { v.Offsets = v.Offsets[:12] })},
		{tb.schema, col("b"), change(tb.vectors[2], func(v *statistics.Vector) { v.Values = nil })},
		{tb.schema, eq(col("s"), Text("a")), d},
		{encoded, eq(col("a"), Text("a")), tb.vectors[1]},
		{encoded, eq(col("a"), Text("a")), change(d, func(v *statistics.Vector) { v.Dictionary = d })},
		{encoded, eq(col("a"), Text("a")), change(d, func(v *statistics.Vector) { v.Dictionary = tb.vectors[0] })},
	} {
		p, err := Bind(c.e, InSchema(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		selected := make([]byte, 1)
		if _, err := p.Evaluator().Eval(3, func(int) *statistics.Vector { return c.v }, selected); !errors.Is(err, ErrVector) {
			t.Errorf("%d: %v", i, err)
		}
	}
	p, err := Bind(Bool(true), InSchema(tb.schema))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Evaluator().Eval(9, nil, make([]byte, 1)); !errors.Is(err, ErrVector) {
		t.Errorf("a bitmap that is too short: %v", err)
	}
	if _, err := p.Evaluator().Eval(-1, nil, nil); !errors.Is(err, ErrVector) {
		t.Errorf("rows below 0: %v", err)
	}
}

// TestFieldsOfStructs looks at a field of a struct, and at the struct itself, by name and by ordinal.
func TestFieldsOfStructs(t *testing.T) {
	inner := &arrowipc.Field{Name: "v", Nullable: true, Type: i64}
	outer := &arrowipc.Field{Name: "n", Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{inner}}
	s := &arrowipc.Schema{Fields: []*arrowipc.Field{outer}}
	s.Layout = arrowipc.NewLayout(s.Fields)
	leaf := vectorOf(inner, n(1, 2, nil, 4))
	mask := []byte{0b0111}
	leaf.Masks = [][]byte{mask}
	whole := &statistics.Vector{Field: outer, Kind: arrowipc.KindStruct, Length: 4, Validity: mask}
	for _, c := range []struct {
		e    Expr
		want byte
	}{
		{eq(col("n", "v"), Int(1)), 0b0001},
		{ne(Column{Ordinals: []int{0, 0}}, Int(1)), 0b0010},
		{IsNull{col("n", "v")}, 0b1100},
		{IsNull{col("n")}, 0b1000},
		{And{[]Expr{Not{IsNull{Column{Ordinals: []int{0}}}}, IsNull{col("n", "v")}}}, 0b0100},
	} {
		p, err := Bind(c.e, InSchema(s))
		if err != nil {
			t.Fatal(err)
		}
		leaves, selected := p.Columns(), make([]byte, 1)
		if _, err := p.Evaluator().Eval(4, func(i int) *statistics.Vector {
			if len(leaves[i].Parents) == 1 && leaves[i].Parents[0] == s.Layout.Columns[0] {
				return leaf
			}
			return whole
		}, selected); err != nil || selected[0] != c.want {
			t.Errorf("%s: %04b, want %04b (%v)", c.e, selected[0], c.want, err)
		}
	}
}

// TestFactsAreReadAsTheValuesThatTheyTell holds the spelling of values in facts to be that of literals.
func TestFactsAreReadAsTheValuesThatTheyTell(t *testing.T) {
	for _, typ := range testTypes() {
		values := pool(typ)
		tb := named("k", typ, values)
		for i, x := range values {
			if f, ok := x.(float64); ok && (f != f || typ.BitWidth < 64 && !short(f)) {
				continue // NaN equals nothing; the shortest text of a single is that of another double
			}
			if s, ok := x.(string); ok && domainOf(typ).family == famText && !utf8.ValidString(s) {
				continue
			}
			text, err := json.Marshal(tb.vectors[0].Value(int64(i)).JSON(tb.schema.Fields[0]))
			if err != nil {
				t.Fatal(err)
			}
			var l Literal
			switch text[0] {
			case '"':
				var s string
				if err := json.Unmarshal(text, &s); err != nil {
					t.Fatal(err)
				}
				l = Text(s)
			case 't', 'f':
				l = Bool(text[0] == 't')
			default:
				l = number(t, string(text))
			}
			got, err := tb.outcomes(eq(col("k"), l))
			if err != nil || got[i] != 'T' {
				t.Errorf("%s of %s does not equal itself: %s (%v)", text, tb.schema.Fields[0].TypeString(), got, err)
			}
			for j, y := range values {
				if j != i && got[j] == 'T' && !same(x, y) {
					t.Errorf("%s of %s equals %v", text, tb.schema.Fields[0].TypeString(), y)
				}
			}
		}
	}
}

// short reports whether a float has the same shortest text whatever its width.
func short(f float64) bool { return f == math.Trunc(f*16)/16 && math.Abs(f) < 1000 || math.IsInf(f, 0) }

func same(x, y any) bool {
	if a, ok := x.(*big.Int); ok {
		return a.Cmp(y.(*big.Int)) == 0
	}
	return x == y
}

func TestPredicatesAreSpeltForPeople(t *testing.T) {
	list := make([]Literal, 12)
	for i := range list {
		list[i] = Int(int64(i))
	}
	d, err := Decimal(big.NewInt(150), 2)
	if err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]Expr{
		"(a.b >= 1) and (#0.2 < 1.5)":                           And{[]Expr{ge(col("a", "b"), Int(1)), lt(Column{Ordinals: []int{0, 2}}, d)}},
		"not (k in [0, 1, 2, 3, 4, 5, 6, 7, and 4 more])":       Not{In{col("k"), list}},
		`(s starts with "é") or (s is null)`:                    Or{[]Expr{StartsWith{col("s"), Text("é")}, IsNull{col("s")}}},
		"is_in(k, [null, true])":                                Member{col("k"), []Literal{Null(), Bool(true)}},
		"case when k then k is nan else 0x00ff end":             Case{[]When{{col("k"), IsNaN{col("k")}}}, Bytes([]byte{0, 255})},
		"if_else(?, cast(k as timestamp[us, tz=UTC]), date 3d)": If{nil, Cast{col("k"), arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: 2, Timezone: "UTC"}}, Date(3)},
		"k != timestamp 0.001s UTC":                             ne(col("k"), Timestamp(1, Millisecond, true)),
		"k = time 1s":                                           eq(col("k"), Time(1, Second)),
		"k = duration -0.5s":                                    eq(col("k"), Duration(-500, Millisecond)),
		"k <= 0.1":                                              le(col("k"), Float(0.1)),
		"true":                                                  And{},
		"false":                                                 Or{},
	} {
		if got := e.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
