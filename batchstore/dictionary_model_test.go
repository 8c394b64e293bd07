package batchstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// dictModel sends random dictionary and record batches into an ingest and keeps what they mean.
type dictModel struct {
	t      *testing.T
	r      *rand.Rand
	schema *arrowipc.Schema
	leaves []leaf
	nested [][]leaf
	states []*dictState // by dictionary; nil until it has come
	sent   []sentBatch
}

// sentBatch is a record batch with the dictionaries that there were.
type sentBatch struct {
	b      *plainBatch
	states dictStates
}

func newDictModel(t *testing.T, r *rand.Rand, schema *arrowipc.Schema) *dictModel {
	m := &dictModel{t: t, r: r, schema: schema, states: make([]*dictState, len(schema.Layout.Dictionaries))}
	m.leaves = leaves(schema.Layout.Columns, schema.Layout.Dictionaries)
	for _, d := range schema.Layout.Dictionaries {
		m.nested = append(m.nested, leaves(d.Values.Columns, schema.Layout.Dictionaries))
	}
	return m
}

// randomDictSchema has columns of the shape, dictionary-encoded in every place that there is: at the top twice with one
// dictionary, below lists and structs, and within another dictionary's values.
func randomDictSchema(t *testing.T, r *rand.Rand, x shape) *arrowipc.Schema {
	bits := func() int { return []int{8, 16, 32, 64}[r.IntN(4)] }
	values := fieldOf(t, "values", x.dt)
	shared := encodedWith(7, bits(), r.IntN(2) == 0, values)
	fields := []*arrowipc.Field{shared, fieldOf(t, "plain", str)}
	holder := []shape{
		{"list", shapes[10].dt}, {"struct", structOf(i8, str)}, {"list view", shapes[12].dt}, {"fixed list", shapes[14].dt},
		{"sparse union", unionOf(0, i32, str)}, {"dense union", unionOf(1, i32, str, boolean)}, {"map", shapes[15].dt},
	}[r.IntN(7)]
	// put replaces a descendant of f that has no children itself.
	var put func(f *arrowipc.Field, leaf *arrowipc.Field) *arrowipc.Field
	put = func(f, leaf *arrowipc.Field) *arrowipc.Field {
		n := len(f.Children)
		if n == 0 {
			x := *leaf
			x.Name, x.Nullable = f.Name, f.Nullable
			return &x
		}
		c := *f
		c.Children = slices.Clone(f.Children)
		c.Children[n-1] = put(c.Children[n-1], leaf)
		return &c
	}
	fields = append(fields, put(fieldOf(t, "holder", holder.dt), encodedWith(7, bits(), r.IntN(2) == 0, values)))
	inner := encodedWith(9, bits(), r.IntN(2) == 0, values)
	fields = append(fields, encodedWith(3, bits(), r.IntN(2) == 0, put(fieldOf(t, "outer", holder.dt), inner)))
	if r.IntN(2) == 0 {
		fields = append(fields, encodedWith(7, bits(), true, values))
	}
	if r.IntN(3) == 0 {
		fields[0].Dictionary.Ordered = true
	}
	return buildSchema(t, fields...)
}

// limits are the numbers of values as of now.
func (m *dictModel) limits() []int64 {
	out := make([]int64, len(m.states))
	for i, s := range m.states {
		if s != nil {
			out[i] = s.rows
		}
	}
	return out
}

// values makes n random values of a dictionary.
func (m *dictModel) values(i int, n int64) *plainBatch {
	l := m.schema.Layout.Dictionaries[i].Values
	b := randomPlain(m.r, l, n)
	putIndices(m.r, b, m.nested[i], m.limits())
	return b
}

// set makes values the whole of a dictionary, or appends them.
func (m *dictModel) set(i int, delta bool, b *plainBatch) {
	old := m.states[i]
	s := &dictState{column: m.schema.Layout.Dictionaries[i].Values.Columns[0]}
	if delta {
		s.parts, s.rows = slices.Clone(old.parts), old.rows
	}
	s.parts = append(s.parts, newSource(b))
	s.rows += b.rows
	m.states[i] = s
}

// whole is a dictionary's values as one batch.
func (m *dictModel) whole(i int) *plainBatch {
	var runs []run
	for _, p := range m.states[i].parts {
		runs = append(runs, run{p.plainBatch, 0, p.rows})
	}
	return concat(m.t, m.schema.Layout.Dictionaries[i].Values, runs)
}

func (m *dictModel) codec() compress.Codec {
	return []compress.Codec{compress.None, compress.LZ4, compress.Zstd}[m.r.IntN(3)]
}

// dictionary changes one dictionary in some way.
func (m *dictModel) dictionary(in *Ingest, i int, replace bool) {
	id := m.schema.Layout.Dictionaries[i].ID
	var b *plainBatch
	delta := false
	n := m.r.Int64N(12)
	old := int64(-1)
	if m.states[i] != nil {
		old = m.states[i].rows
	}
	switch what := m.r.IntN(4); {
	case old < 0 || replace || what == 0:
		if m.r.IntN(30) == 0 {
			n = 20_000 // worth compacting
		}
		b = m.values(i, n)
		m.set(i, false, b)
	case what == 1:
		b = m.whole(i)
	case what == 2:
		m.set(i, true, m.values(i, n))
		b = m.whole(i)
	default:
		b, delta = m.values(i, n), true
		m.set(i, true, b)
	}
	if err := addDictionary(m.t, in, id, delta, b, m.codec()); err != nil {
		m.t.Fatal(err)
	}
	if delta || old < 0 || m.states[i].rows >= old {
		return // what needs it may stay
	}
	for k := range m.states {
		if m.states[k] != nil && slices.ContainsFunc(m.nested[k], func(x leaf) bool { return x.dictionary == i }) {
			m.dictionary(in, k, true)
		}
	}
}

// run sends some messages.
func (m *dictModel) run(in *Ingest) {
	for range m.r.IntN(12) {
		for i := range m.states {
			if m.r.IntN(3) == 0 {
				m.dictionary(in, i, false)
			}
		}
		b := randomPlain(m.r, m.schema.Layout, int64(m.r.IntN(60)))
		putIndices(m.r, b, m.leaves, m.limits())
		if err := addBatch(m.t, in, b, m.codec()); err != nil {
			m.t.Fatal(err)
		}
		states := dictStates{}
		for i, s := range m.states {
			if s == nil { // only nulls refer to it
				s = &dictState{column: m.schema.Layout.Dictionaries[i].Values.Columns[0]}
			}
			states[m.schema.Layout.Dictionaries[i].ID] = s
		}
		m.sent = append(m.sent, sentBatch{b, states})
	}
}

// oracle renders the picked columns of all rows.
func (m *dictModel) oracle(p *arrowipc.Projection, decoded bool) []string {
	var out []string
	for _, x := range m.sent {
		out = append(out, lookup{m.t, x.states, false, decoded}.rows(p.Tree, x.b)...)
	}
	return out
}

// TestDictionaryModel puts random dictionaries and batches of every shape, and reads them in every form as a client does
// that knows no deltas: the values of every row are those that were put.
func TestDictionaryModel(t *testing.T) {
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
	all := func(int64) bool { return true }
	for _, x := range someShapes(5) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			for range 4 {
				s := newStore(t, Options{
					MaxMessage: 64 << 10, MaxBatchRows: int64(20 + r.IntN(200)), MaxBatchBytes: 64 << 10, MaxDecoded: 1 << 26,
					JoinBelow: int64(1 + r.IntN(8<<10)),
				})
				m := newDictModel(t, r, randomDictSchema(t, r, x))
				o := IngestOptions{
					Codec: codecs[r.IntN(3)], KeepArriving: r.IntN(2) == 0, KeepBatches: r.IntN(3) == 0, DecodeDictionaries: r.IntN(4) == 0,
				}
				in := begin(t, s, m.schema, o)
				m.run(in)
				batches, err := in.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				for range 6 {
					m.read(s, in.Schema(), o.DecodeDictionaries, batches, ReadOptions{
						Accept: func(c compress.Codec) bool { return c == codecs[r.IntN(3)] },
						Encode: codecs[r.IntN(3)], MaxMessage: []int64{0, 64 << 10, 1 << 20}[r.IntN(3)],
						Decode: []func(int64) bool{nil, all}[r.IntN(2)],
					})
				}
				releaseAll(batches)
				noDictionaries(t, s)
			}
		})
	}
}

// read compares one read with the oracle.
func (m *dictModel) read(s *Store, stored *arrowipc.Schema, decodedAtPut bool, batches []*Batch, o ReadOptions) {
	m.t.Helper()
	picks := randomPicks(m.r, []*arrowipc.Field{stored.Fields[0], stored.Fields[1], {}, {}})
	if m.r.IntN(3) == 0 {
		picks = nil
		for i := range stored.Fields {
			picks = append(picks, arrowipc.Pick{Ordinal: i})
		}
	}
	if decodedAtPut {
		o.Decode = nil
		for i := range picks {
			picks[i].Children = nil // of values that are structs: the model's layout has indices there
		}
	} else {
		for i := range picks {
			if stored.Fields[picks[i].Ordinal].Dictionary != nil {
				picks[i].Children = nil
			}
		}
	}
	p, err := stored.Project(picks)
	if err != nil {
		m.t.Fatal(err)
	}
	asPut, err := m.schema.Project(picks)
	if err != nil {
		m.t.Fatal(err)
	}
	want := m.oracle(asPut, decodedAtPut || o.Decode != nil)
	limit := int64(len(want)) + 1
	if m.r.IntN(3) == 0 {
		limit = int64(m.r.IntN(len(want) + 1))
		want = want[:limit]
	}
	got, _ := readAll(m.t, s, stored.Layout, p, o, batches, limit)
	if !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				m.t.Fatalf("picks %v, %d rows, want %d; at row %d:\n got %s\nwant %s", picks, len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
			}
		}
	}
}
