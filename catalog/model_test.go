package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
)

// model is what the catalogue should be: lists of batches, copied for each generation.
type model struct {
	t       *rapid.T
	c       *Catalog
	schemas []*arrowipc.Schema

	now   map[string]*modelGeneration
	held  []holding
	begun []begun
	all   []*fakeBatch
	seen  map[string]bool // generation ids
}

type modelGeneration struct {
	schema  int
	batches []*fakeBatch
}

// holding is a generation that a reader has acquired.
type holding struct {
	g    *Generation
	want *modelGeneration
}

// pool is dictionaries that batches share, two of them of one place in the schema.
var pool = []fakeDictionary{
	{Key: "a", Ordinal: 0, Decoded: 100, Stored: 40}, {Key: "b", Ordinal: 0, Decoded: 200, Stored: 80}, {Key: "c", Ordinal: 1, Decoded: 400, Stored: 160},
}

// begun is a put between Begin and Commit.
type begun struct {
	p      *Put
	name   string
	mode   Mode
	schema int
}

func (m *model) name() string {
	return rapid.SampledFrom([]string{"a", "a/b", "c"}).Draw(m.t, "name")
}

// begin starts a put, or sees it refused for the reason that the model knows.
func (m *model) begin() {
	b := begun{
		name:   m.name(),
		mode:   rapid.SampledFrom([]Mode{Replace, Append, Append, Append, Create}).Draw(m.t, "mode"),
		schema: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(m.t, "schema"),
	}
	var err error
	b.p, err = m.c.Begin(b.name, b.mode, m.schemas[b.schema])
	if want := m.refusal(b, ErrSchemaMismatch); !errors.Is(err, want) {
		m.t.Fatalf("Begin(%q, %d): %v, want %v", b.name, b.mode, err, want)
	}
	if err == nil {
		m.begun = append(m.begun, b)
	}
}

func (m *model) refusal(b begun, mismatch error) error {
	switch old := m.now[b.name]; {
	case old == nil:
		return nil
	case b.mode == Create:
		return ErrExists
	case b.mode == Append && old.schema != b.schema:
		return mismatch
	}
	return nil
}

// commit ends one of the begun puts, with a list that has spare room and is scribbled over afterwards.
func (m *model) commit() {
	if len(m.begun) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.begun)-1).Draw(m.t, "put")
	b := m.begun[i]
	m.begun = slices.Delete(m.begun, i, i+1)
	n := rapid.IntRange(0, 5).Draw(m.t, "batches")
	list := make([]Batch, 0, n+rapid.IntRange(0, 5).Draw(m.t, "room"))
	var fakes []*fakeBatch
	for range n {
		f := newBatch(m.t, m.schemas[b.schema], len(m.all))
		f.dictionaries = rapid.SliceOfN(rapid.SampledFrom(pool), 0, 3).Draw(m.t, "dictionaries")
		m.all, fakes, list = append(m.all, f), append(fakes, f), append(list, f)
	}
	want := m.refusal(b, ErrConflict)
	g, err := b.p.Commit(context.Background(), list, "zstd", nil)
	if !errors.Is(err, want) {
		m.t.Fatalf("Commit(%q, %d): %v, want %v", b.name, b.mode, err, want)
	}
	clear(list[:cap(list)])
	if err != nil {
		for _, f := range fakes {
			f.Release()
		}
		return
	}
	if m.seen[g.ID] {
		m.t.Fatalf("generation id %s came twice", g.ID)
	}
	m.seen[g.ID] = true
	next := &modelGeneration{schema: b.schema, batches: fakes}
	if old := m.now[b.name]; old != nil && b.mode == Append {
		next.batches = append(slices.Clone(old.batches), fakes...)
	}
	m.now[b.name] = next
	m.held = append(m.held, holding{g, next})
}

func (m *model) acquire() {
	name := m.name()
	g, err := m.c.Current(name)
	want := m.now[name]
	if (err == nil) != (want != nil) {
		m.t.Fatalf("Current(%q): %v", name, err)
	}
	if err == nil {
		m.held = append(m.held, holding{g, want})
	}
}

func (m *model) release() {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(m.t, "reader")
	m.held[i].g.Release()
	m.held = slices.Delete(m.held, i, i+1)
}

func (m *model) drop() {
	name := m.name()
	if err := m.c.Drop(context.Background(), name); (err == nil) != (m.now[name] != nil) {
		m.t.Fatalf("Drop(%q): %v", name, err)
	}
	delete(m.now, name)
}

// check compares every generation that can still be reached with the model's, and counts who lists each batch.
func (m *model) check(*rapid.T) {
	live := map[*modelGeneration]bool{}
	for _, g := range m.now {
		live[g] = true
	}
	for _, h := range m.held {
		live[h.want] = true
		want := make([]int, 0, len(h.want.batches))
		for _, b := range h.want.batches {
			want = append(want, b.id)
		}
		if got := ids(h.g); !slices.Equal(got, want) {
			m.t.Fatalf("generation %s lists batches %v, want %v", h.g.ID, got, want)
		}
		if h.g.Schema.Diff(m.schemas[h.want.schema]) != "" {
			m.t.Fatalf("generation %s has another schema", h.g.ID)
		}
		wantTotals(m.t, h.g, m.schemas[h.want.schema], h.want.batches)
	}
	refs := map[*fakeBatch]int64{}
	for g := range live {
		for _, b := range g.batches {
			refs[b]++
		}
	}
	for _, b := range m.all {
		if got := b.refs.Load(); got != refs[b] {
			m.t.Fatalf("batch %d has %d references, %d generations list it", b.id, got, refs[b])
		}
	}
	if m.c.Len() != len(m.now) {
		m.t.Fatalf("%d datasets, want %d", m.c.Len(), len(m.now))
	}
}

// In any interleaving of puts, reads and drops, generations are what a model with copied lists says, forever, and each
// batch is held by exactly the generations that list it. (rapid prints the seed of a failure.)
func TestModel(t *testing.T) {
	schemas := []*arrowipc.Schema{flat(t), buildSchema(t, "", structField("p", int64Field("x")))}
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, c: newCatalog(), schemas: schemas, now: map[string]*modelGeneration{}, seen: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"begin":   func(*rapid.T) { m.begin() },
			"commit":  func(*rapid.T) { m.commit() },
			"put":     func(*rapid.T) { m.begin(); m.commit() },
			"acquire": func(*rapid.T) { m.acquire() },
			"release": func(*rapid.T) { m.release() },
			"drop":    func(*rapid.T) { m.drop() },
			"clear": func(*rapid.T) {
				if rapid.IntRange(0, 9).Draw(m.t, "really") == 0 {
					m.c.Clear()
					clear(m.now)
				}
			},
		})
		m.c.Clear()
		for _, h := range m.held {
			h.g.Release()
		}
		for _, b := range m.all {
			if n := b.refs.Load(); n != 0 {
				t.Fatalf("batch %d is left with %d references", b.id, n)
			}
		}
	})
}

// Replaces between appends start new lists: no append writes where an older generation reads.
func TestAppendAppendReplaceAppend(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	type snapshot struct {
		g    *Generation
		want string
	}
	var held []snapshot
	var want []int
	for i, mode := range []Mode{Append, Append, Append, Replace, Append, Append, Replace, Replace, Append, Append, Append, Append} {
		put(t, c, "d", mode, schema, 2*i, 2*i+1)
		if mode == Replace {
			want = nil
		}
		want = append(want, 2*i, 2*i+1)
		held = append(held, snapshot{current(t, c, "d"), fmt.Sprint(want)})
		for _, s := range held {
			if got := fmt.Sprint(ids(s.g)); got != s.want {
				t.Fatalf("after put %d, generation %s lists %s, want %s", i, s.g.ID, got, s.want)
			}
		}
	}
	for _, s := range held {
		s.g.Release()
	}
}
