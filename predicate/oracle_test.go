package predicate

import (
	"math/rand"
	"testing"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// checkAgainstNaive binds a tree and holds Eval, Judge and the naive evaluation against each other.
func checkAgainstNaive(t *testing.T, s *arrowipc.Schema, vectors []*statistics.Vector, rows int, e Expr) {
	t.Helper()
	p, err := Bind(e, InSchema(s))
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	at := map[*arrowipc.Column]int{}
	for i, c := range s.Layout.Columns {
		at[c] = i
	}
	leaves := p.Columns()
	vector := func(i int) *statistics.Vector { return vectors[at[leaves[i].Column]] }
	selected := make([]byte, (rows+7)/8+1)
	for i := range selected {
		selected[i] = 0xFF
	}
	n, err := p.Evaluator().Eval(int64(rows), vector, selected)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	o := naive{columns: map[string]*statistics.Vector{}}
	for _, v := range vectors {
		o.columns[v.Field.Name] = v
	}
	matches := int64(0)
	for i := range rows {
		want := o.eval(e, int64(i)) == yes
		if want {
			matches++
		}
		if got := selected[i/8]>>(i%8)&1 != 0; got != want {
			for name, v := range o.columns {
				t.Logf("%s %s: %v", name, v.Field.TypeString(), datum(v, int64(i)))
			}
			t.Fatalf("%s, row %d of %d: selected %v, want %v", e, i, rows, got, want)
		}
	}
	if n != matches {
		t.Fatalf("%s: counted %d rows, %d match", e, n, matches)
	}
	if rows%8 != 0 && selected[rows/8]>>(rows%8) != 0 {
		t.Fatalf("%s: bits past the rows are set", e)
	}
	stats := make([]statistics.Column, len(vectors))
	for i, v := range vectors {
		stats[i] = statistics.Measure(v)
	}
	verdict := p.Judge(func(i int) *statistics.Column { return &stats[at[leaves[i].Column]] })
	if verdict == None && matches > 0 || verdict == All && matches < int64(rows) {
		t.Fatalf("%s: judged %s, and %d of %d rows match", e, verdict, matches, rows)
	}
	if unknown := p.Judge(func(int) *statistics.Column { return nil }); rows > 0 && (unknown == None && matches > 0 || unknown == All && matches < int64(rows)) {
		t.Fatalf("%s: judged %s without statistics, and %d of %d rows match", e, unknown, matches, rows)
	}
}

// seed gives a source of random numbers, and says which.
func seed(t *testing.T) *rand.Rand {
	n := time.Now().UnixNano()
	t.Logf("seed %d", n)
	return rand.New(rand.NewSource(n))
}

func TestRandomTreesAgainstNaive(t *testing.T) {
	r := seed(t)
	types := testTypes()
	for range 1500 {
		var chosen []arrowipc.Type
		var encoded []bool
		for range 1 + r.Intn(4) {
			chosen = append(chosen, types[r.Intn(len(types))])
			encoded = append(encoded, r.Intn(3) == 0 && chosen[len(chosen)-1].ID != arrowipc.TypeNull)
		}
		s := schemaOf(chosen, encoded...)
		rows := []int{0, 1, 2, 7, 64, 65, 130}[r.Intn(7)]
		vectors := make([]*statistics.Vector, len(chosen))
		for i, f := range s.Fields {
			vectors[i] = vectorOf(f, random(r, f.Type, rows))
			if vectors[i].Kind != arrowipc.KindNull && r.Intn(4) == 0 {
				mask := make([]byte, (rows+7)/8)
				r.Read(mask)
				vectors[i].Masks = [][]byte{mask, nil}
			}
		}
		g := grower{r, vectors}
		for range 4 {
			checkAgainstNaive(t, s, vectors, rows, g.tree(r.Intn(5)))
		}
	}
}
