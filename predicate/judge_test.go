package predicate

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// TestVerdictsAreAsTightAsBoundsAllow asks, for every pair of bounds of a small domain, with and without nulls, whether
// a value between them matches, and holds the verdict to that.
func TestVerdictsAreAsTightAsBoundsAllow(t *testing.T) {
	const size = 6
	k := col("k")
	types := map[string]arrowipc.Type{
		"int64":   i64,
		"uint64":  {ID: arrowipc.TypeInt, BitWidth: 64},
		"decimal": {ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 20, Scale: 0},
		"small":   {ID: arrowipc.TypeDecimal, BitWidth: 32, Precision: 9, Scale: 0},
	}
	var simple []Expr
	for op := Equal; op <= GreaterEqual; op++ {
		for x := int64(-1); x <= size; x++ {
			half, _ := Decimal(big.NewInt(10*x+5), 1)
			simple = append(simple, Compare{op, k, Int(x)}, Compare{op, k, half})
		}
	}
	simple = append(simple, IsNull{k}, Not{IsNull{k}}, In{k, []Literal{Int(1), Int(3)}}, In{k, []Literal{Int(-5), Int(50)}},
		Member{k, []Literal{Int(2), Null()}}, In{k, []Literal{Int(0), Null()}}, Bool(true), Bool(false), Null())
	for _, e := range slices.Clone(simple) {
		simple = append(simple, Not{e})
	}
	// A value that is left out between two bounds is not seen, so != is not among these.
	equal, ranges := simple[:2*(size+2)], simple[4*(size+2):12*(size+2)]
	var trees []Expr
	for i, a := range ranges {
		for _, b := range ranges[i%5:] {
			trees = append(trees, And{[]Expr{a, b}}, Not{Or{[]Expr{a, b}}}, Or{[]Expr{a, b}}, Not{And{[]Expr{a, b}}})
		}
		trees = append(trees, Or{[]Expr{IsNull{k}, a}}, Or{[]Expr{a, IsNull{k}}}, And{[]Expr{Not{IsNull{k}}, a}}, Not{Or{[]Expr{a, IsNull{k}}}})
		for _, b := range equal {
			trees = append(trees, And{[]Expr{a, b}}, Or{[]Expr{And{[]Expr{b, a}}, a}})
		}
	}
	for name, typ := range types {
		tb := named("k", typ, n())
		var batches []batch
		for lo := range int64(size) {
			for hi := lo; hi < size; hi++ {
				for nulls := range int64(2) {
					batches = append(batches, batchBetween(tb.schema.Fields[0], lo, hi, nulls))
				}
			}
		}
		check := func(e Expr, all bool) {
			p, err := Bind(e, InSchema(tb.schema))
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range batches {
				want := b.verdict(e)
				got := p.Judge(func(int) *statistics.Column { return &b.stats })
				if got != want && (all || want == None) {
					t.Fatalf("%s of %s, %s: %s, want %s", e, name, b.name, got, want)
				}
			}
		}
		for _, e := range simple {
			check(e, true)
		}
		for i := 0; i < len(trees); i += 41 {
			check(trees[i], false)
		}
	}
}

// batch has each value between two, and what is measured of them.
type batch struct {
	name   string
	vector *statistics.Vector
	stats  statistics.Column
}

func batchBetween(f *arrowipc.Field, lo, hi, nulls int64) batch {
	var values []any
	for x := lo; x <= hi; x++ {
		values = append(values, big.NewInt(x))
	}
	for range nulls {
		values = append(values, nil)
	}
	v := vectorOf(f, values)
	return batch{fmt.Sprintf("%d to %d with %d nulls", lo, hi, nulls), v, statistics.Measure(v)}
}

// verdict is that of looking at each value.
func (b batch) verdict(e Expr) Verdict {
	o := naive{map[string]*statistics.Vector{"k": b.vector}}
	matches := int64(0)
	for i := range b.vector.Length {
		if o.eval(e, i) == yes {
			matches++
		}
	}
	switch matches {
	case 0:
		return None
	case b.vector.Length:
		return All
	}
	return Some
}

func TestVerdictsOfTexts(t *testing.T) {
	k := col("k")
	tb := named("k", utf8Type, []any{})
	v := func(rows, nulls int64, lo, hi string) *statistics.Column {
		return &statistics.Column{Rows: rows, Nulls: nulls, HasMin: true, HasMax: true, Min: statistics.TextValue(lo), Max: statistics.TextValue(hi)}
	}
	noMax := v(5, 0, "b", "")
	noMax.HasMax = false
	for _, c := range []struct {
		e     Expr
		stats *statistics.Column
		want  Verdict
	}{
		{eq(k, Text("c")), v(5, 0, "b", "d"), Some},
		{eq(k, Text("a")), v(5, 0, "b", "d"), None},
		{eq(k, Text("dd")), v(5, 0, "b", "d"), None},
		{eq(k, Text("b")), v(5, 0, "b", "b"), All},
		{eq(k, Text("b")), v(5, 1, "b", "b"), Some},
		{ne(k, Text("b")), v(5, 0, "b", "b"), None},
		{ne(k, Text("b")), v(5, 0, "b", "c"), Some},
		{lt(k, Text("b")), v(5, 0, "b", "d"), None},
		{le(k, Text("b")), v(5, 0, "b", "d"), Some},
		{lt(k, Text("e")), v(5, 0, "b", "d"), All},
		{gt(k, Text("d")), v(5, 0, "b", "d"), None},
		{ge(k, Text("d")), v(5, 0, "b", "d"), Some},
		{ge(k, Text("b")), v(5, 0, "b", "d"), All},
		{gt(k, Text("z")), noMax, Some},
		{lt(k, Text("b")), noMax, None},
		{ge(k, Text("a")), noMax, All},
		{eq(k, Text("z")), noMax, Some},
		{StartsWith{k, Text("c")}, v(5, 0, "b", "d"), Some},
		{StartsWith{k, Text("d")}, v(5, 0, "b", "d"), Some},
		{StartsWith{k, Text("da")}, v(5, 0, "b", "d"), None},
		{StartsWith{k, Text("a")}, v(5, 0, "b", "d"), None},
		{StartsWith{k, Text("b")}, v(5, 0, "ba", "bz"), All},
		{StartsWith{k, Text("b")}, v(5, 0, "b", "c"), Some},
		{StartsWith{k, Text("")}, v(5, 0, "b", "c"), All},
		{StartsWith{k, Text("é")}, v(5, 0, "éa", "éb"), All},
		{Not{StartsWith{k, Text("b")}}, v(5, 0, "ba", "bz"), None},
		{StartsWith{k, Text("b")}, noMax, Some},
		{StartsWith{k, Text("a")}, noMax, None},
		{In{k, []Literal{Text("a"), Text("e")}}, v(5, 0, "b", "d"), None},
		{In{k, []Literal{Text("a"), Text("c"), Text("e")}}, v(5, 0, "b", "d"), Some},
		{Not{In{k, []Literal{Text("b"), Text("c")}}}, v(5, 0, "b", "b"), None},
		{In{k, []Literal{Text("b"), Null()}}, v(5, 0, "c", "c"), None},
		{Not{In{k, []Literal{Text("b"), Null()}}}, v(5, 0, "c", "c"), None},
		{IsNull{k}, v(5, 0, "b", "d"), None},
		{IsNull{k}, v(5, 5, "", ""), All},
		{IsNull{k}, &statistics.Column{Rows: 5, Nulls: 5}, All},
		{Not{IsNull{k}}, &statistics.Column{Rows: 5, Nulls: 5}, None},
		{eq(k, Text("a")), &statistics.Column{Rows: 5, Nulls: 5}, None},
		{eq(k, Text("a")), &statistics.Column{Rows: 5, Nulls: 4}, Some}, // bounds that were not taken
		{eq(k, Text("a")), &statistics.Column{}, None},
		{And{[]Expr{ge(k, Text("c")), lt(k, Text("c"))}}, v(5, 0, "b", "d"), None},
		{And{[]Expr{Not{lt(k, Text("c"))}, Not{ge(k, Text("c"))}}}, v(5, 0, "b", "d"), None},
		{eq(k, Text("a")), nil, Some},
	} {
		p, err := Bind(c.e, InSchema(tb.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Judge(func(int) *statistics.Column { return c.stats }); got != c.want {
			t.Errorf("%s by %+v: %s, want %s", c.e, c.stats, got, c.want)
		}
	}
}

func TestVerdictsOfFloats(t *testing.T) {
	k := col("k")
	tb := named("k", f64, []any{})
	v := func(nan bool, lo, hi float64) *statistics.Column {
		return &statistics.Column{Rows: 5, HasNaN: nan, HasMin: true, HasMax: true, Min: statistics.Float64Value(lo), Max: statistics.Float64Value(hi)}
	}
	negZero, nan := math.Copysign(0, -1), Float(math.NaN())
	for i, c := range []struct {
		e     Expr
		stats *statistics.Column
		want  Verdict
	}{
		{gt(k, Float(1)), v(true, 2, 3), Some},
		{gt(k, Float(1)), v(false, 2, 3), All},
		{Not{gt(k, Float(1))}, v(true, 2, 3), Some},
		{Not{gt(k, Float(1))}, v(false, 2, 3), None},
		{le(k, Float(1)), v(true, 2, 3), None},
		{ne(k, Float(2)), v(true, 2, 2), Some},
		{ne(k, Float(2)), v(false, 2, 2), None},
		{eq(k, nan), v(true, 2, 3), None},
		{ne(k, nan), v(true, 2, 3), All},
		{IsNaN{k}, v(true, 2, 3), Some},
		{IsNaN{k}, v(false, 2, 3), None},
		{IsNaN{k}, &statistics.Column{Rows: 5, HasNaN: true}, All},
		{gt(k, Float(1)), &statistics.Column{Rows: 5, HasNaN: true}, None},
		{Member{k, []Literal{nan}}, v(true, 2, 3), Some},
		{Member{k, []Literal{nan}}, v(false, 2, 3), None},
		{eq(k, Float(0)), v(false, negZero, negZero), All},
		{eq(k, Float(negZero)), v(false, 0, 0), All},
		{lt(k, Float(0)), v(false, negZero, 1), None},
		{ge(k, Float(0)), v(false, negZero, 1), All},
		{Member{k, []Literal{Float(0)}}, v(false, negZero, negZero), Some},
		{lt(k, Float(math.Inf(1))), v(false, 2, math.Inf(1)), Some},
		{le(k, Float(math.Inf(1))), v(false, 2, math.Inf(1)), All},
		{And{[]Expr{gt(k, Float(1)), lt(k, Float(1))}}, v(false, 0, 3), None},
		{If{gt(k, Float(1)), lt(k, Float(5)), Bool(false)}, v(false, 2, 3), All},
		{If{gt(k, Float(1)), lt(k, Float(5)), Bool(true)}, v(false, -2, 0), All},
		{Case{[]When{{gt(k, Float(1)), Bool(true)}}, Bool(false)}, v(false, 0, 0), None},
		{IsNull{gt(k, Float(1))}, v(false, 0, 5), None},
	} {
		p, err := Bind(c.e, InSchema(tb.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Judge(func(int) *statistics.Column { return c.stats }); got != c.want {
			t.Errorf("%d: %s by %+v: %s, want %s", i, c.e, c.stats, got, c.want)
		}
	}
}

func TestVerdictsOfManyColumns(t *testing.T) {
	a, b := col("a"), col("b")
	tb := named("a", i64, n(), "b", i64, n())
	stats := map[string]*statistics.Column{
		"a": {Rows: 4, HasMin: true, HasMax: true, Min: statistics.Int(0), Max: statistics.Int(9)},
		"b": {Rows: 4, Nulls: 2, HasMin: true, HasMax: true, Min: statistics.Int(20), Max: statistics.Int(20)},
	}
	yesA, noA, someA := ge(a, Int(0)), gt(a, Int(9)), gt(a, Int(5))
	maybeB, never := eq(b, Int(20)), ne(b, Int(20))
	for _, c := range []struct {
		e    Expr
		want Verdict
	}{
		{And{[]Expr{yesA, maybeB}}, Some}, {And{[]Expr{noA, maybeB}}, None}, {And{[]Expr{someA, never}}, None},
		{Or{[]Expr{yesA, never}}, All}, {Or{[]Expr{noA, never}}, None}, {Or{[]Expr{someA, never}}, Some},
		{Not{Or{[]Expr{noA, never}}}, Some}, {Not{And{[]Expr{yesA, maybeB}}}, None}, {Not{Or{[]Expr{noA}}}, All},
		{And{[]Expr{yesA, Or{[]Expr{noA, maybeB}}}}, Some}, {IsNull{Or{[]Expr{yesA, maybeB}}}, None}, {IsNull{And{[]Expr{yesA, maybeB}}}, Some},
	} {
		p, err := Bind(c.e, InSchema(tb.schema))
		if err != nil {
			t.Fatal(err)
		}
		leaves := p.Columns()
		if got := p.Judge(func(i int) *statistics.Column { return stats[leaves[i].Path[0]] }); got != c.want {
			t.Errorf("%s: %s, want %s", c.e, got, c.want)
		}
	}
}

func TestColumnsThatDoNotMatterAreNotNeeded(t *testing.T) {
	tb := named("a", i64, n(1, 2), "b", i64, n(1, 2), "c", i64, n(1, 2))
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{And{[]Expr{eq(col("c"), Int(1)), eq(col("a"), Int(1)), lt(col("c"), Int(5))}}, "[c a]"},
		{Or{[]Expr{eq(col("b"), Null()), eq(col("c"), Int(2))}}, "[c]"},
		{And{[]Expr{Bool(false), eq(col("b"), Int(1))}}, "[]"},
		{If{Bool(true), eq(col("b"), Int(1)), eq(col("a"), Int(1))}, "[b]"},
		{Member{col("a"), nil}, "[]"},
	} {
		p, err := Bind(c.e, InSchema(tb.schema))
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, l := range p.Columns() {
			names = append(names, l.Path...)
		}
		if got := fmt.Sprint(names); got != c.want {
			t.Errorf("%s needs %s, want %s", c.e, got, c.want)
		}
		if _, err := tb.outcomes(c.e); err != nil {
			t.Errorf("%s: %v", c.e, err)
		}
	}
}
