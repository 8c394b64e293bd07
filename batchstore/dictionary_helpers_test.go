package batchstore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// fieldOf is a field of a type of the shapes.
func fieldOf(t testing.TB, name string, dt arrow.DataType) *arrowipc.Field {
	t.Helper()
	f := *schemaOf(t, dt).Fields[0]
	f.Name = name
	return &f
}

// encodedWith is f as a field whose values are in dictionary id.
func encodedWith(id int64, bits int, signed bool, f *arrowipc.Field) *arrowipc.Field {
	x := *f
	x.Dictionary = &arrowipc.Dictionary{ID: id, IndexBits: bits, Signed: signed}
	return &x
}

func buildSchema(t testing.TB, fields ...*arrowipc.Field) *arrowipc.Schema {
	t.Helper()
	s, err := arrowipc.BuildSchema(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dictState is one dictionary as a reader has it.
type dictState struct {
	column *arrowipc.Column
	parts  []*source
	rows   int64
	then   dictStates // the dictionaries that there were when it came, for readers that look nested values up then
}

// dictStates are a reader's dictionaries by id.
type dictStates map[int64]*dictState

func (d dictStates) clone() dictStates {
	out := dictStates{}
	for id, x := range d {
		out[id] = x
	}
	return out
}

// lookup renders dictionary values in place of indices. Nulls are "-", or, of decoded columns, what a null of the values'
// type renders as: a union has no nulls of its own. An eager reader looks nested values up in the dictionaries that there
// were when the outer one came.
type lookup struct {
	t            testing.TB
	states       dictStates
	eager        bool
	decodedNulls bool
}

func (l lookup) render(w *strings.Builder, s *source, c *arrowipc.Column, i int64) {
	renderWith(w, s, c, i, func(s *source, c *arrowipc.Column, i int64) { l.value(w, s, c, i) })
}

func (l lookup) value(w *strings.Builder, s *source, c *arrowipc.Column, i int64) {
	d := l.states[c.Field.Dictionary.ID]
	if bitmap := s.buf(c, 0); len(bitmap) > 0 && bitmap[i/8]>>(i%8)&1 == 0 {
		if !l.decodedNulls {
			w.WriteByte('-')
			return
		}
		null, err := nullRow(arrowipc.NewLayout([]*arrowipc.Field{d.column.Field}))
		if err != nil {
			l.t.Fatal(err)
		}
		l.render(w, null, d.column, 0)
		return
	}
	if d == nil {
		l.t.Fatalf("column %q: dictionary %d has not come", c.Field.Name, c.Field.Dictionary.ID)
	}
	k := indexAt(s.buf(c, 1), c, i)
	if k < 0 || k >= d.rows {
		l.t.Fatalf("column %q: index %d of %d values", c.Field.Name, k, d.rows)
	}
	inner := l
	if l.eager {
		inner.states = d.then
	}
	for _, p := range d.parts {
		if k < p.rows {
			inner.render(w, p, d.column, k)
			return
		}
		k -= p.rows
	}
}

// rows renders all rows of a batch.
func (l lookup) rows(cols []*arrowipc.Column, b *plainBatch) []string {
	s := newSource(b)
	var out []string
	for i := range b.rows {
		var w strings.Builder
		for _, c := range cols {
			l.render(&w, s, c, i)
			w.WriteByte('|')
		}
		out = append(out, w.String())
	}
	return out
}

// putIndices writes random indices into a batch's dictionary-encoded columns, below limits by dictionary. Where there are
// no values, the column becomes all null.
func putIndices(r *rand.Rand, b *plainBatch, leaves []leaf, limits []int64) {
	s := newSource(b)
	for _, x := range leaves {
		n, limit := s.node(x.column).Length, limits[x.dictionary]
		if limit == 0 {
			b.nodes[x.column.Node0].Nulls = n
			b.bufs[x.column.Buf0+s.viewSums[x.column.View0]] = make([]byte, bitBytes(n))
			continue
		}
		if bits := x.column.Field.Dictionary.IndexBits; bits == 8 {
			limit = min(limit, 100) // the same for signed ones
		}
		bitmap := s.buf(x.column, 0)
		run := int64(-1)
		for i := range n {
			if len(bitmap) > 0 && !bitSet(bitmap, i) {
				continue // the garbage stays
			}
			if run < 0 || r.IntN(3) == 0 {
				run = r.Int64N(limit)
			} else if run++; run == limit {
				run = 0
			}
			putIndex(s.buf(x.column, 1), x.column, i, run)
		}
	}
}

// dictionaryMessage makes what a client sends of a dictionary batch.
func (s *Store) dictionaryMessage(t testing.TB, id int64, delta bool, values *plainBatch, c compress.Codec) (*arrowipc.Message, []byte) {
	t.Helper()
	m, b := s.message(t, values, c)
	m.Type, m.Dictionary, m.Delta = arrowipc.HeaderDictionaryBatch, id, delta
	return m, b
}

// addDictionary sends a dictionary batch into an ingest.
func addDictionary(t testing.TB, in *Ingest, id int64, delta bool, values *plainBatch, c compress.Codec) error {
	t.Helper()
	m, b := in.store.dictionaryMessage(t, id, delta, values, c)
	return in.AddDictionary(context.Background(), m, body(t, in.store, b))
}

// addBatch sends a record batch into an ingest.
func addBatch(t testing.TB, in *Ingest, b *plainBatch, c compress.Codec) error {
	t.Helper()
	m, bytes := in.store.message(t, b, c)
	return in.Add(context.Background(), m, body(t, in.store, bytes))
}

// client is a reader of a stream: it keeps dictionaries by id and knows no deltas.
type client struct {
	t      testing.TB
	layout *arrowipc.Layout // of the stream
	states dictStates
	rows   []string

	decodedNulls bool
	dictionaries int // messages
}

func newClient(t testing.TB, l *arrowipc.Layout) *client {
	return &client{t: t, layout: l, states: dictStates{}}
}

// plain reads a message's body and checks it.
func (c *client) plain(m *Message, h *arrowipc.Message, l *arrowipc.Layout) *plainBatch {
	c.t.Helper()
	raw := bytes.Join(m.Body, nil)
	if int64(len(raw)) != m.BodyLength || h.BodyLength != m.BodyLength {
		c.t.Fatalf("body of %d bytes, said to be %d and %d", len(raw), m.BodyLength, h.BodyLength)
	}
	b := &plainBatch{rows: h.Batch.Rows, nodes: h.Batch.Nodes, variadic: h.Batch.Variadic}
	for i, x := range h.Batch.Buffers {
		if x.Offset%8 != 0 {
			c.t.Fatalf("buffer %d begins at %d", i, x.Offset)
		}
		stored := raw[x.Offset : x.Offset+x.Length]
		if h.Batch.Compression != arrowipc.Uncompressed {
			var err error
			if stored, err = testCodecs.DecodeLimit(stored, compress.Codec(h.Batch.Compression), 1<<30); err != nil {
				c.t.Fatal(err)
			}
		}
		b.bufs = append(b.bufs, stored)
	}
	if err := checkPlain(l, b); err != nil {
		c.t.Fatalf("what was sent does not hold together: %v", err)
	}
	return b
}

// testCodecs decodes what clients get.
var testCodecs = func() *compress.Pool {
	p, err := compress.New(compress.Options{})
	if err != nil {
		panic(err)
	}
	return p
}()

// receive takes a message, as send of a Reader.
func (c *client) receive(m *Message) error {
	c.t.Helper()
	h, err := arrowipc.ReadMessage(m.Header, arrowipc.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	if m.Dictionary != (h.Type == arrowipc.HeaderDictionaryBatch) || m.Dictionary && (h.Delta || m.Rows != 0) {
		c.t.Fatalf("a message of type %d, delta %t, said to be a dictionary: %t, of %d rows", h.Type, h.Delta, m.Dictionary, m.Rows)
	}
	if !m.Dictionary {
		b := c.plain(m, h, c.layout)
		if b.rows != m.Rows {
			c.t.Fatalf("%d rows, said to be %d", b.rows, m.Rows)
		}
		lazy := lookup{c.t, c.states, false, c.decodedNulls}.rows(c.layout.Columns, b)
		eager := lookup{c.t, c.states, true, c.decodedNulls}.rows(c.layout.Columns, b)
		if fmt.Sprint(lazy) != fmt.Sprint(eager) {
			c.t.Fatalf("readers that look nested values up late read\n%s\nearly ones\n%s", lazy, eager)
		}
		c.rows = append(c.rows, lazy...)
		return nil
	}
	c.dictionaries++
	for _, d := range c.layout.Dictionaries {
		if d.ID != h.Dictionary {
			continue
		}
		b := c.plain(m, h, d.Values)
		s := newSource(b)
		for _, x := range leaves(d.Values.Columns, c.layout.Dictionaries) {
			inner := c.states[x.column.Field.Dictionary.ID]
			if inner == nil {
				c.t.Fatalf("dictionary %d came before %d, which it needs", d.ID, x.column.Field.Dictionary.ID)
			}
			if _, err := checkIndices(s, x, inner.rows); err != nil {
				c.t.Fatal(err)
			}
		}
		c.states[d.ID] = &dictState{column: d.Values.Columns[0], parts: []*source{s}, rows: b.rows, then: c.states.clone()}
		return nil
	}
	c.t.Fatalf("dictionary %d, which no column needs", h.Dictionary)
	return nil
}

// readAll gives the rows that a client gets of batches, at most limit, and how many dictionary messages came.
func readAll(t testing.TB, s *Store, stored *arrowipc.Layout, p *arrowipc.Projection, o ReadOptions, batches []*Batch, limit int64) ([]string, int) {
	t.Helper()
	sent := p.Schema
	if o.Decode != nil {
		var err error
		if sent, err = p.Schema.WithoutDictionaries(o.Decode); err != nil {
			t.Fatal(err)
		}
	}
	c := newClient(t, sent.Layout)
	r := s.Reader(stored, p, o)
	defer r.Close()
	for _, b := range batches {
		if limit <= 0 {
			break
		}
		if err := r.Read(b, limit, c.receive); err != nil {
			t.Fatal(err)
		}
		limit -= b.Rows()
	}
	return c.rows, c.dictionaries
}

// allOf is the projection of all columns.
func allOf(t testing.TB, s *arrowipc.Schema) *arrowipc.Projection {
	t.Helper()
	var picks []arrowipc.Pick
	for i := range s.Fields {
		picks = append(picks, arrowipc.Pick{Ordinal: i})
	}
	p, err := s.Project(picks)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noDictionaries fails if the store still has any.
func noDictionaries(t testing.TB, s *Store) {
	t.Helper()
	if n := len(s.dictionaries.byDigest); n != 0 {
		t.Errorf("%d dictionaries are left in the table", n)
	}
}

func releaseAll(batches []*Batch) {
	for _, b := range batches {
		b.Release()
	}
}
