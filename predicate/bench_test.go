package predicate

import (
	"fmt"
	"math/big"
	"math/rand"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

const benchRows = 65_536

func benchmark(b *testing.B, t arrowipc.Type, dictionary bool, value func(r *rand.Rand, i int) any, e Expr) {
	r := rand.New(rand.NewSource(1))
	s := schemaOf([]arrowipc.Type{t}, dictionary)
	values := make([]any, benchRows)
	for i := range values {
		if r.Intn(8) != 0 {
			values[i] = value(r, i)
		}
	}
	if dictionary {
		s.Fields[0].Dictionary.IndexBits = 32
		s.Layout = arrowipc.NewLayout(s.Fields)
	}
	v := vectorOf(s.Fields[0], values)
	p, err := Bind(e, InSchema(s))
	if err != nil {
		b.Fatal(err)
	}
	eval, selected := p.Evaluator(), make([]byte, benchRows/8)
	column := func(int) *statistics.Vector { return v }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := eval.Eval(benchRows, column, selected); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

var (
	benchInt64  = arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}
	benchFloat  = arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}
	benchText   = arrowipc.Type{ID: arrowipc.TypeUtf8}
	benchColumn = Column{Path: []string{"a"}}
)

func benchKey(_ *rand.Rand, i int) any  { return big.NewInt(int64(i)) }
func benchWord(r *rand.Rand, _ int) any { return fmt.Sprintf("category-%03d", r.Intn(500)) }

func BenchmarkEval(b *testing.B) {
	between := And{[]Expr{Compare{GreaterEqual, benchColumn, Int(20_000)}, Compare{Less, benchColumn, Int(40_000)}}}
	b.Run("int64-range", func(b *testing.B) { benchmark(b, benchInt64, false, benchKey, between) })
	b.Run("float64-range", func(b *testing.B) {
		benchmark(b, benchFloat, false, func(r *rand.Rand, _ int) any { return r.Float64() * 65_536 }, between)
	})
	b.Run("utf8-equal", func(b *testing.B) {
		benchmark(b, benchText, false, benchWord, Compare{Equal, benchColumn, String("category-123")})
	})
	b.Run("utf8-starts", func(b *testing.B) {
		benchmark(b, benchText, false, benchWord, StartsWith{benchColumn, String("category-1")})
	})
	b.Run("dictionary-equal", func(b *testing.B) {
		benchmark(b, benchText, true, benchWord, Compare{Equal, benchColumn, String("category-123")})
	})
	for _, step := range []int64{2, 1_000_003} {
		list := make([]Literal, 10_000)
		for i := range list {
			list[i] = Int(int64(i) * step)
		}
		b.Run(fmt.Sprintf("int64-in-10000-by-%d", step), func(b *testing.B) {
			benchmark(b, benchInt64, false, func(_ *rand.Rand, i int) any { return big.NewInt(int64(i) * 500_001) }, In{benchColumn, list})
		})
	}
	words := make([]Literal, 10_000)
	for i := range words {
		words[i] = String(fmt.Sprintf("category-%d", i))
	}
	b.Run("utf8-in-10000", func(b *testing.B) { benchmark(b, benchText, false, benchWord, In{benchColumn, words}) })
}

func BenchmarkBindIn10000(b *testing.B) {
	s := schemaOf([]arrowipc.Type{benchInt64})
	list := make([]Literal, 10_000)
	for i := range list {
		list[i] = Int(int64(i) * 1_000_003)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := Bind(In{benchColumn, list}, InSchema(s))
		if err != nil {
			b.Fatal(err)
		}
		p.Evaluator()
	}
}

// BenchmarkJudge asks the statistics of one batch: a filtered plan does it once for each.
func BenchmarkJudge(b *testing.B) {
	schema := schemaOf([]arrowipc.Type{benchInt64, benchText})
	text := Column{Path: []string{"b"}}
	stats := []statistics.Column{
		{Rows: 65_536, HasMin: true, HasMax: true, MinExact: true, MaxExact: true, Min: statistics.Int(0), Max: statistics.Int(65_535)},
		{Rows: 65_536, Nulls: 9, HasMin: true, HasMax: true, MinExact: true, MaxExact: true, Min: statistics.TextValue("a"), Max: statistics.TextValue("z")},
	}
	list := make([]Literal, 10_000)
	for i := range list {
		list[i] = Int(int64(i) * 1_000_003)
	}
	for name, e := range map[string]Expr{
		"range": And{[]Expr{Compare{GreaterEqual, benchColumn, Int(20_000)}, Compare{Less, benchColumn, Int(40_000)}}},
		"text":  Compare{Equal, text, String("m")},
		"in":    In{benchColumn, list},
	} {
		p, err := Bind(e, InSchema(schema))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Judge(func(i int) *statistics.Column { return &stats[i] })
			}
		})
	}
}
