package batchstore

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// script gives a fuzzer's bytes one by one, then zeros.
type script []byte

func (s *script) next() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

// wide gives a number that is often small, sometimes extreme.
func (s *script) wide() int64 {
	switch v := int64(s.next()); {
	case v < 200:
		return v
	case v < 230:
		return int64(s.next())<<8 | v
	case v < 240:
		return -1 - int64(s.next())
	case v < 250:
		return math.MaxInt32 - int64(s.next())
	}
	return math.MaxInt64 - int64(s.next())
}

// streamFuzzer sends what a script says into an ingest.
type streamFuzzer struct {
	t      *testing.T
	s      script
	store  *Store
	schema *arrowipc.Schema
	in     *Ingest
	leaves []leaf
	nested [][]leaf
	rows   []int64 // of the dictionaries, if all went well
}

// message makes one valid message of a layout, breaks it as the script says, and passes it on if its header can be read.
func (f *streamFuzzer) message(l *arrowipc.Layout, leaves []leaf, dictionary int) (added bool, err error) {
	r := rand.New(rand.NewPCG(uint64(f.s.next()), 0))
	b := randomPlain(r, l, int64(f.s.next()))
	if f.s.next() < 240 {
		putIndices(r, b, leaves, f.rows)
	}
	how := f.s.next()
	old := how&0x40 != 0
	if old {
		b = withUnionBitmaps(l, b, how&0x80 != 0)
	}
	m, bytes := f.store.message(f.t, b, []compress.Codec{compress.None, compress.LZ4, compress.Zstd, compress.None}[how&3])
	h := m.Batch
	for range f.s.next() % 4 {
		i, v := f.s.next(), f.s.wide()
		switch what := f.s.next() % 10; {
		case what == 0:
			h.Rows = v
		case what == 1 && len(h.Nodes) > 0:
			h.Nodes[i%len(h.Nodes)].Length = v
		case what == 2 && len(h.Nodes) > 0:
			h.Nodes[i%len(h.Nodes)].Nulls = v
		case what == 3 && len(h.Buffers) > 0:
			h.Buffers[i%len(h.Buffers)].Length = v
		case what == 4 && len(h.Buffers) > 0:
			h.Buffers[i%len(h.Buffers)].Offset = v
		case what == 5 && len(h.Variadic) > 0:
			h.Variadic[i%len(h.Variadic)] = v
		case what == 6:
			h.Compression = arrowipc.Compression(v%3) - 1
		case what == 7 && len(bytes) > 0:
			bytes[int(uint64(v)%uint64(len(bytes)))] ^= byte(1 + i)
		case what == 8 && len(h.Buffers) > 0:
			h.Buffers = h.Buffers[:len(h.Buffers)-1]
		case what == 9:
			h.Buffers = append(h.Buffers, arrowipc.Buffer{})
		}
	}
	var builder arrowipc.HeaderBuilder
	header := builder.RecordBatch(h, int64(len(bytes)), nil)
	if dictionary >= 0 {
		header = builder.DictionaryBatch(f.schema.Layout.Dictionaries[dictionary].ID, how&4 != 0, h, int64(len(bytes)))
	}
	if m, err = arrowipc.ReadMessage(header, arrowipc.Limits{}); err != nil {
		return false, nil
	}
	if old {
		m.Version = arrowipc.VersionV4
	}
	if how&8 != 0 {
		m.Dictionary ^= int64(how >> 6) // of another
	}
	if dictionary >= 0 {
		err = f.in.AddDictionary(context.Background(), m, body(f.t, f.store, bytes))
	} else {
		err = f.in.Add(context.Background(), m, body(f.t, f.store, bytes))
	}
	return err == nil, err
}

// run sends messages until one is refused, and finishes.
func (f *streamFuzzer) run() ([]*Batch, error) {
	for i := 0; i < 40 && len(f.s) > 0; i++ {
		k := f.s.next()
		if k < 128 || len(f.nested) == 0 {
			if _, err := f.message(f.schema.Layout, f.leaves, -1); err != nil {
				return nil, err
			}
			continue
		}
		k %= len(f.nested)
		if _, err := f.message(f.schema.Layout.Dictionaries[k].Values, f.nested[k], k); err != nil {
			return nil, err
		}
		if c := f.in.dicts.current[k]; c != nil {
			f.rows[k] = c.rows
		}
	}
	return f.in.Finish(context.Background())
}

// withUnionBitmaps is a batch with a validity buffer before each union, as metadata version V4 has it.
func withUnionBitmaps(l *arrowipc.Layout, b *plainBatch, bitmaps bool) *plainBatch {
	out := *b
	out.bufs = nil
	s := newSource(b)
	var walk func(cols []*arrowipc.Column)
	walk = func(cols []*arrowipc.Column) {
		for _, c := range cols {
			if c.Kind == arrowipc.KindSparseUnion || c.Kind == arrowipc.KindDenseUnion || c.Kind == arrowipc.KindRunEnd {
				var bitmap []byte
				if bitmaps {
					bitmap = make([]byte, bitBytes(s.node(c).Length))
				}
				out.bufs = append(out.bufs, bitmap)
			}
			for i := range c.OwnBuffers() {
				out.bufs = append(out.bufs, s.buf(c, i))
			}
			if c.Kind == arrowipc.KindView {
				out.bufs = append(out.bufs, s.viewData(c)...)
			}
			walk(c.Children)
		}
	}
	walk(l.Columns)
	return &out
}

// checkClient takes messages and checks them, without looking at values.
type checkClient struct {
	t    *testing.T
	l    *arrowipc.Layout
	rows map[int64]int64 // values of each dictionary that has come
	sum  int64
}

func (c *checkClient) receive(m *Message) error {
	h, err := arrowipc.ReadMessage(m.Header, arrowipc.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	x, l := &client{t: c.t}, c.l
	if m.Dictionary {
		for _, d := range c.l.Dictionaries {
			if d.ID == h.Dictionary {
				l = d.Values
			}
		}
		c.rows[h.Dictionary] = h.Batch.Rows
	} else {
		c.sum += h.Batch.Rows
	}
	s := newSource(x.plain(m, h, l))
	for _, x := range leaves(l.Columns, c.l.Dictionaries) {
		if _, err := checkIndices(s, x, c.rows[x.column.Field.Dictionary.ID]); err != nil {
			c.t.Fatal(err)
		}
	}
	return nil
}

// FuzzIngest sends streams of record and dictionary batches, sound and broken ones, into an ingest. Nothing panics,
// everything is given back, and what was accepted can be read in every form.
func FuzzIngest(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	var schemas []*arrowipc.Schema
	for _, x := range shapes {
		values := fieldOf(f, "values", x.dt)
		schemas = append(schemas, schemaOf(f, x.dt, i32), buildSchema(f, encodedWith(7, 8, false, values), fieldOf(f, "n", i64),
			&arrowipc.Field{Name: "l", Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeList}, Children: []*arrowipc.Field{encodedWith(7, 64, true, values)}},
			encodedWith(3, 16, true, &arrowipc.Field{Name: "o", Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{
				encodedWith(6, 32, false, values), encodedWith(7, 8, true, values),
			}})))
	}
	for i := range schemas {
		for n := range 4 {
			seed := []byte{byte(i), byte(r.Uint32())}
			for range 12 * n {
				op := []byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.IntN(60)), 0, byte(r.Uint32()) &^ 8, 0}
				seed = append(seed, op...)
			}
			f.Add(seed)
			for k := range seed[min(2, len(seed)):] {
				if r.IntN(12) == 0 {
					seed[2+k] = byte(r.Uint32())
				}
			}
			f.Add(seed)
		}
	}
	o := Options{MaxMessage: 64 << 10, MaxBatchRows: 200, MaxBatchBytes: 64 << 10, MaxDecoded: 1 << 20, JoinBelow: 2 << 10, Workers: 2}
	s := newStore(f, o)
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd, compress.Zstd}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer func() {
			if t.Failed() {
				var err error
				if s, err = New(o); err != nil { // what this one left behind is not the next one's fault
					t.Fatal(err)
				}
			}
		}()
		x := &streamFuzzer{t: t, s: b, store: s, schema: schemas[(script(b)).at(0)%len(schemas)]}
		x.s.next()
		how := x.s.next()
		d := x.schema.Layout.Dictionaries
		x.leaves, x.rows = leaves(x.schema.Layout.Columns, d), make([]int64, len(d))
		for _, y := range d {
			x.nested = append(x.nested, leaves(y.Values.Columns, d))
		}
		x.in = begin(t, s, x.schema, IngestOptions{
			Codec: codecs[how&3], KeepArriving: how&4 != 0, KeepBatches: how&8 != 0, DecodeDictionaries: how&48 == 48,
		})
		batches, err := x.run()
		x.in.Abort()
		if err != nil && !errors.Is(err, ErrInvalidBatch) && !errors.Is(err, ErrTooLarge) &&
			!errors.Is(err, arrowipc.ErrUnsupported) && !errors.Is(err, arrowipc.ErrMalformed) {
			t.Fatalf("another error: %v", err)
		}
		if err == nil {
			x.readAll(batches)
			releaseAll(batches)
		}
		if n := s.Stats().Charged; n != 0 {
			t.Fatalf("%d bytes are still charged", n)
		}
		noDictionaries(t, s)
	})
}

func (s script) at(i int) int {
	if i < len(s) {
		return int(s[i])
	}
	return 0
}

// readAll reads batches in every form.
func (f *streamFuzzer) readAll(batches []*Batch) {
	stored := f.in.Schema()
	p := allOf(f.t, stored)
	want := int64(0)
	for _, b := range batches {
		want += b.Rows()
	}
	all := func(int64) bool { return true }
	for _, o := range []ReadOptions{
		{Encode: compress.None},
		{Encode: compress.None, MaxMessage: 4096 + HeaderRoom, Accept: func(compress.Codec) bool { return false }},
		{Encode: compress.LZ4, Accept: func(compress.Codec) bool { return false }},
		{Encode: compress.None, MaxMessage: 16<<10 + HeaderRoom, Decode: all},
		{Encode: compress.Zstd, Decode: all},
	} {
		sent := stored
		if o.Decode != nil {
			var err error
			if sent, err = stored.WithoutDictionaries(all); err != nil {
				f.t.Fatal(err)
			}
		}
		c := &checkClient{t: f.t, l: sent.Layout, rows: map[int64]int64{}}
		r := f.store.Reader(stored.Layout, p, o)
		tooLarge := false
		for _, b := range batches {
			err := r.Read(b, b.Rows(), c.receive)
			if tooLarge = err != nil && errors.Is(err, ErrTooLarge) && o.Decode != nil; tooLarge {
				break
			}
			if err != nil {
				f.t.Fatal(err)
			}
		}
		r.Close()
		if !tooLarge && c.sum != want {
			f.t.Fatalf("%d rows are read, %d were put", c.sum, want)
		}
	}
}
