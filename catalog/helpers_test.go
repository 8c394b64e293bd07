package catalog

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// fakeBatch is a batch without a payload that counts its references and objects to every wrong one.
type fakeBatch struct {
	dictionaries []fakeDictionary
	statistics   []statistics.Column
	t            rapid.TB
	id           int
	rows         int64
	stored       int64
	large        bool
	nodes        []NodeFacts
	refs         atomic.Int64
}

// newBatch makes a batch with one reference, the caller's. Its counts are made from its id, and differ from node to
// node.
func newBatch(t rapid.TB, schema *arrowipc.Schema, id int) *fakeBatch {
	b := &fakeBatch{t: t, id: id, rows: int64(1 + id%7), stored: int64(64 + 8*(id%11))}
	for i := range schema.Layout.Node1 {
		n := int64(i + 1)
		b.nodes = append(b.nodes, NodeFacts{Decoded: n * b.rows * 8, Stored: n*b.rows*3 + 8, Nulls: int64(id+i) % (b.rows + 1)})
	}
	b.refs.Store(1)
	return b
}

func (b *fakeBatch) Rows() int64          { return b.rows }
func (b *fakeBatch) StoredBytes() int64   { return b.stored }
func (b *fakeBatch) Node(i int) NodeFacts { return b.nodes[i] }

func (b *fakeBatch) Retain() {
	if b.refs.Add(1) <= 1 {
		b.t.Errorf("batch %d was retained after its last release", b.id)
	}
}

func (b *fakeBatch) EachDictionary(f func(key any, id, decoded, stored int64)) {
	for _, d := range b.dictionaries {
		f(d.Key, d.Ordinal, d.Decoded, d.Stored)
	}
}

func (b *fakeBatch) Small() bool { return !b.large }

func (b *fakeBatch) Statistics() []statistics.Column { return b.statistics }

func (b *fakeBatch) Release() {
	if b.refs.Add(-1) < 0 {
		b.t.Errorf("batch %d was released more often than it was retained", b.id)
	}
}

// batches makes batches with these ids, and gives them as the catalogue's interface too.
func batches(t testing.TB, schema *arrowipc.Schema, ids ...int) ([]*fakeBatch, []Batch) {
	var fakes []*fakeBatch
	var list []Batch
	for _, id := range ids {
		b := newBatch(t, schema, id)
		for _, c := range arrowipc.RowColumns(schema.Layout.Columns) {
			if statistics.ClassOf(c.Column.Field) == statistics.None {
				b.statistics = append(b.statistics, statistics.Column{Rows: b.rows, Nulls: b.nodes[c.Column.Node0].Nulls})
				continue
			}
			b.statistics = append(b.statistics, statistics.Column{
				Rows: b.rows, Nulls: b.nodes[c.Column.Node0].Nulls, HasMin: true, HasMax: true, MinExact: true, MaxExact: true,
				Min: statistics.Int(int64(id)), Max: statistics.Int(int64(10 * id)),
			})
		}
		fakes, list = append(fakes, b), append(list, b)
	}
	return fakes, list
}

// ids are the ids of a generation's batches, in order.
func ids(g *Generation) []int {
	out := make([]int, 0, len(g.Batches))
	for _, b := range g.Batches {
		out = append(out, b.(*fakeBatch).id)
	}
	return out
}

func wantIDs(t *testing.T, g *Generation, want ...int) {
	t.Helper()
	if got := ids(g); !slices.Equal(got, want) {
		t.Errorf("generation %s lists batches %v, want %v", g.ID, got, want)
	}
}

func wantRefs(t testing.TB, fakes []*fakeBatch, want int64) {
	t.Helper()
	for _, b := range fakes {
		if got := b.refs.Load(); got != want {
			t.Errorf("batch %d has %d references, want %d", b.id, got, want)
		}
	}
}

func buildSchema(t testing.TB, meta string, fields ...*arrowipc.Field) *arrowipc.Schema {
	t.Helper()
	var pairs []arrowipc.KeyValue
	if meta != "" {
		pairs = []arrowipc.KeyValue{{Key: "origin", Value: meta}}
	}
	s, err := arrowipc.BuildSchema(fields, pairs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func int64Field(name string) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}}
}

func utf8Field(name string) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeUtf8}}
}

func structField(name string, children ...*arrowipc.Field) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: children}
}

// flat is a schema of a number and a text.
func flat(t testing.TB) *arrowipc.Schema {
	return buildSchema(t, "", int64Field("n"), utf8Field("s"))
}

// noon is the time that the tests' clocks show.
var noon = time.Date(2024, 2, 29, 12, 0, 0, 5_000_000, time.FixedZone("", 3600))

func newCatalog() *Catalog { return New(Options{Now: func() time.Time { return noon }}) }

// put commits batches with these ids and releases the generation; the catalogue alone then holds it.
func put(t testing.TB, c *Catalog, name string, mode Mode, schema *arrowipc.Schema, ids ...int) []*fakeBatch {
	t.Helper()
	fakes, list := batches(t, schema, ids...)
	p, err := c.Begin(name, mode, schema)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	return fakes
}

func current(t testing.TB, c *Catalog, name string) *Generation {
	t.Helper()
	g, err := c.Current(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fakeDictionary is one dictionary of a fake batch.
type fakeDictionary struct {
	Key             any
	Ordinal         int64
	Decoded, Stored int64
}

// byOrdinal is what a generation should say of distinct dictionaries.
func byOrdinal(list []fakeDictionary) map[int64]DictionaryFacts {
	out := map[int64]DictionaryFacts{}
	for _, d := range list {
		f := out[d.Ordinal]
		f.Decoded, f.Stored = f.Decoded+d.Decoded, f.Stored+d.Stored
		f.MaxDecoded, f.MaxStored = max(f.MaxDecoded, d.Decoded), max(f.MaxStored, d.Stored)
		out[d.Ordinal] = f
	}
	return out
}
