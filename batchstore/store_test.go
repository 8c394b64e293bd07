package batchstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// newStore makes a store that must have given everything back when the test ends. Freed memory is poisoned, but not in a
// benchmark, which would measure that.
func newStore(t testing.TB, o Options) *Store {
	t.Helper()
	_, measured := t.(*testing.B)
	o.Arena.ReserveBytes, o.Arena.Poison = 4<<30, !measured
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if st := s.Stats(); st.Charged != 0 {
			t.Errorf("%d bytes are still charged", st.Charged)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// body copies bytes into a block of the store, as a receiver does.
func body(t testing.TB, s *Store, b []byte) arena.Block {
	t.Helper()
	block, err := s.Alloc(len(b))
	if err != nil {
		t.Fatal(err)
	}
	copy(block.B, b)
	return block
}

// message makes what a client sends of a plain batch under a codec.
func (s *Store) message(t testing.TB, b *plainBatch, c compress.Codec) (*arrowipc.Message, []byte) {
	t.Helper()
	h := arrowipc.RecordBatch{Rows: b.rows, Nodes: b.nodes, Variadic: b.variadic, Compression: arrowipc.Uncompressed}
	if c == compress.None {
		layOut(&h, b.bufs)
		var out bytes.Buffer
		for _, x := range b.bufs {
			out.Write(x)
			out.Write(make([]byte, pad8(int64(len(x)))-int64(len(x))))
		}
		return &arrowipc.Message{Type: arrowipc.HeaderRecordBatch, BodyLength: int64(out.Len()), Batch: &h}, out.Bytes()
	}
	block, err := s.encodeBody(s.unclaimed(), &h, b.bufs, c, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer Free(&block)
	return &arrowipc.Message{Type: arrowipc.HeaderRecordBatch, BodyLength: int64(len(block.B)), Batch: &h}, bytes.Clone(block.B)
}

func begin(t testing.TB, s *Store, schema *arrowipc.Schema, o IngestOptions) *Ingest {
	t.Helper()
	in, err := s.Ingest(schema, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// put runs batches through an ingest.
func put(t testing.TB, s *Store, schema *arrowipc.Schema, o IngestOptions, arriving func(i int) compress.Codec, batches ...*plainBatch) ([]*Batch, error) {
	t.Helper()
	in, err := s.Ingest(schema, o)
	if err != nil {
		return nil, err
	}
	defer in.Abort()
	for i, b := range batches {
		m, bytes := s.message(t, b, arriving(i))
		if err := in.Add(context.Background(), m, body(t, s, bytes)); err != nil {
			return nil, err
		}
	}
	return in.Finish(context.Background())
}

func plainly(int) compress.Codec { return compress.None }

// receive reads a message as a client would and gives its rows.
func receive(t testing.TB, l *arrowipc.Layout, m *Message) []string {
	t.Helper()
	h, err := arrowipc.ReadMessage(m.Header, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Join(m.Body, nil)
	if int64(len(b)) != m.BodyLength || h.BodyLength != m.BodyLength {
		t.Fatalf("body of %d bytes, said to be %d and %d", len(b), m.BodyLength, h.BodyLength)
	}
	for i, x := range h.Batch.Buffers {
		if x.Offset%8 != 0 {
			t.Fatalf("buffer %d begins at %d", i, x.Offset)
		}
	}
	plain := &plainBatch{rows: h.Batch.Rows, nodes: h.Batch.Nodes, variadic: h.Batch.Variadic}
	if h.Batch.Compression == arrowipc.Uncompressed {
		plain.bufs = sliceBuffers(b, h.Batch.Buffers)
	} else {
		pool, err := compress.New(compress.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		for _, x := range h.Batch.Buffers {
			d, err := pool.DecodeLimit(b[x.Offset:x.Offset+x.Length], compress.Codec(h.Batch.Compression), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			plain.bufs = append(plain.bufs, d)
		}
	}
	if err := checkPlain(l, plain); err != nil {
		t.Fatalf("what was sent does not hold together: %v", err)
	}
	if plain.rows != m.Rows {
		t.Fatalf("%d rows, said to be %d", plain.rows, m.Rows)
	}
	return renderRows(l.Columns, plain, 0, plain.rows)
}

// read gives the rows that a reader sends of batches, at most limit.
func read(t testing.TB, s *Store, l *arrowipc.Layout, p *arrowipc.Projection, o ReadOptions, batches []*Batch, limit int64) []string {
	t.Helper()
	r := s.Reader(l, p, o)
	defer r.Close()
	var rows []string
	for _, b := range batches {
		if limit <= 0 {
			break
		}
		err := r.Read(b, limit, func(m *Message) error {
			rows = append(rows, receive(t, p.Schema.Layout, m)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		limit -= b.Rows()
	}
	return rows
}

// randomPicks chooses columns, repeated and reordered, and children of structs.
func randomPicks(r *rand.Rand, fields []*arrowipc.Field) []arrowipc.Pick {
	var picks []arrowipc.Pick
	for range r.IntN(4) {
		p := arrowipc.Pick{Ordinal: r.IntN(len(fields))}
		if f := fields[p.Ordinal]; f.Type.ID == arrowipc.TypeStruct && r.IntN(2) == 0 {
			p.Children = []arrowipc.Pick{{Ordinal: r.IntN(len(f.Children))}}
		}
		picks = append(picks, p)
	}
	return picks
}

// oracle renders the picked columns of the rows that were put.
func oracle(p *arrowipc.Projection, sources []*plainBatch) []string {
	var rows []string
	for _, b := range sources {
		rows = append(rows, renderRows(p.Tree, b, 0, b.rows)...)
	}
	return rows
}

// TestPutAndRead is the model: whatever is put, in whatever batches, codecs and limits, comes back row by row under every
// projection, wire, message limit and row limit.
func TestPutAndRead(t *testing.T) {
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
	for _, x := range someShapes(4) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			schema := schemaOf(t, x.dt, i32, structOf(x.dt, str))
			stores := 6
			if underRace {
				stores = 2
			}
			for range stores {
				s := newStore(t, Options{
					MaxMessage: 64 << 10, MaxBatchRows: int64(20 + r.IntN(500)), MaxBatchBytes: 64 << 10, MaxDecoded: 1 << 26,
					JoinBelow: int64(1 + r.IntN(8<<10)),
				})
				var sources []*plainBatch
				for range r.IntN(6) {
					sources = append(sources, randomPlain(r, schema.Layout, int64(r.IntN(150))))
				}
				o := IngestOptions{Codec: codecs[r.IntN(3)], KeepArriving: r.IntN(2) == 0, KeepBatches: r.IntN(3) == 0}
				batches, err := put(t, s, schema, o, func(int) compress.Codec { return codecs[r.IntN(3)] }, sources...)
				if err != nil {
					t.Fatal(err)
				}
				for range 6 {
					var picks []arrowipc.Pick
					if r.IntN(4) == 0 {
						picks = []arrowipc.Pick{{Ordinal: 0}, {Ordinal: 1}, {Ordinal: 2}}
					} else {
						picks = randomPicks(r, schema.Fields)
					}
					p, err := schema.Project(picks)
					if err != nil {
						t.Fatal(err)
					}
					accept := codecs[r.IntN(3)]
					ro := ReadOptions{
						Accept: func(c compress.Codec) bool { return c == accept },
						Encode: codecs[r.IntN(3)], MaxMessage: []int64{0, 512, 4096, 1 << 20}[r.IntN(4)],
					}
					want := oracle(p, sources)
					limit := int64(len(want)) + 1
					if r.IntN(3) == 0 {
						limit = int64(r.IntN(len(want) + 1))
						want = want[:limit]
					}
					got := read(t, s, schema.Layout, p, ro, batches, limit)
					if !slices.Equal(got, want) {
						t.Fatalf("picks %v, %+v, limit %d:\n got %s\nwant %s", picks, o, limit, got, want)
					}
				}
				for _, b := range batches {
					b.Release()
				}
			}
		})
	}
}

// TestStoredBytesAreSent shows that a read in the stored form sends the stored bytes themselves: the same memory, not
// equal copies.
func TestStoredBytesAreSent(t *testing.T) {
	for _, c := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
		s := newStore(t, Options{})
		schema := schemaOf(t, i64, str, vstr, i32)
		source := randomPlain(seeded(t), schema.Layout, 3000)
		batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
		if err != nil {
			t.Fatal(err)
		}
		b := batches[0]
		for _, picks := range [][]int{{0, 1, 2, 3}, {1}, {2, 3}, {3, 0}} {
			var ps []arrowipc.Pick
			for _, i := range picks {
				ps = append(ps, arrowipc.Pick{Ordinal: i})
			}
			p, err := schema.Project(ps)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Reader(schema.Layout, p, ReadOptions{Encode: compress.None}).Read(b, b.Rows(), func(m *Message) error {
				if m.Decoded != 0 || m.Encoded != 0 {
					t.Errorf("%v of %v: %d bytes decoded, %d encoded", picks, c, m.Decoded, m.Encoded)
				}
				for _, piece := range m.Body {
					first := &piece[0]
					last := &piece[len(piece)-1]
					if !holds(bodyOf(b), first) || !holds(bodyOf(b), last) {
						t.Errorf("%v of %v: a piece lies outside the stored body", picks, c)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		b.Release()
	}
}

func holds(b []byte, p *byte) bool {
	for i := range b {
		if &b[i] == p {
			return true
		}
	}
	return false
}

// TestOtherColumnsAreNotTouched destroys the stored bytes of all columns but one: that one still reads, and the others
// give an error, not a crash.
func TestOtherColumnsAreNotTouched(t *testing.T) {
	for _, c := range []compress.Codec{compress.LZ4, compress.Zstd} {
		s := newStore(t, Options{})
		schema := schemaOf(t, i64, str, i64)
		source := randomPlain(seeded(t), schema.Layout, 5000)
		batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
		if err != nil {
			t.Fatal(err)
		}
		b := batches[0]
		chosen := schema.Layout.Columns[1]
		for i, x := range b.header.Buffers {
			if i < chosen.Buf0 || i >= chosen.Buf1 {
				copy(bodyOf(b)[x.Offset:x.Offset+x.Length], bytes.Repeat([]byte{0xEE}, int(x.Length)))
			}
		}
		p, err := schema.Project([]arrowipc.Pick{{Ordinal: 1}})
		if err != nil {
			t.Fatal(err)
		}
		plain := ReadOptions{Accept: func(compress.Codec) bool { return false }, Encode: compress.None}
		if got := read(t, s, schema.Layout, p, plain, batches, b.Rows()); !slices.Equal(got, oracle(p, []*plainBatch{source})) {
			t.Errorf("%v: the untouched column reads differently", c)
		}
		whole, err := schema.Project([]arrowipc.Pick{{Ordinal: 0}})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Reader(schema.Layout, whole, plain).Read(b, b.Rows(), func(*Message) error { return nil })
		if !errors.Is(err, compress.ErrCorrupt) {
			t.Errorf("%v: the destroyed column gives %v", c, err)
		}
		b.Release()
	}
}

// TestLimits puts batches that are too large in rows, in plain bytes and in stored bytes, and finds only batches within
// the limits, cut evenly.
func TestLimits(t *testing.T) {
	r := seeded(t)
	schema := schemaOf(t, i64, str)
	for _, c := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
		t.Run(c.String(), func(t *testing.T) {
			o := Options{MaxMessage: 64 << 10, MaxBatchRows: 10_000, MaxBatchBytes: 256 << 10}
			s := newStore(t, o)
			source := randomPlain(r, schema.Layout, 40_000)
			batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
			if err != nil {
				t.Fatal(err)
			}
			rows := int64(0)
			for _, b := range batches {
				rows += b.Rows()
				if b.StoredBytes() > o.MaxMessage || b.Rows() > o.MaxBatchRows {
					t.Errorf("a batch of %d rows and %d bytes", b.Rows(), b.StoredBytes())
				}
				b.Release()
			}
			if rows != source.rows {
				t.Errorf("%d rows, put %d", rows, source.rows)
			}
		})
	}
}

// TestJoin puts runs of small batches between larger ones and looks at what was made of them.
func TestJoin(t *testing.T) {
	schema := schemaOf(t, i64)
	small := func(rows int64) *plainBatch {
		return &plainBatch{rows: rows, nodes: nodes(rows), bufs: [][]byte{nil, make([]byte, 8*rows)}}
	}
	sizes := func(o IngestOptions, batches ...*plainBatch) []int64 {
		s := newStore(t, Options{MaxMessage: 64 << 10, JoinBelow: 16 << 10})
		out, err := put(t, s, schema, o, plainly, batches...)
		if err != nil {
			t.Fatal(err)
		}
		var rows []int64
		for _, b := range out {
			rows = append(rows, b.Rows())
			b.Release()
		}
		return rows
	}
	for _, x := range []struct {
		o    IngestOptions
		put  []int64
		want []int64
	}{
		{IngestOptions{Codec: compress.None}, []int64{10, 20, 30}, []int64{60}},
		{IngestOptions{Codec: compress.None, KeepBatches: true}, []int64{10, 20, 30}, []int64{10, 20, 30}},
		{IngestOptions{Codec: compress.None}, []int64{10, 4000, 20, 30}, []int64{10, 4000, 50}},
		{IngestOptions{Codec: compress.None}, []int64{0, 10, 0, 5, 0}, []int64{15}},
		{IngestOptions{Codec: compress.None}, []int64{2000, 2000, 2000, 2000, 2000}, []int64{8000, 2000}},
		{IngestOptions{Codec: compress.None}, []int64{20000}, []int64{6720, 6720, 6560}},
		{IngestOptions{Codec: compress.None, KeepBatches: true}, []int64{20000, 1}, []int64{6720, 6720, 6560, 1}},
	} {
		var batches []*plainBatch
		for _, n := range x.put {
			batches = append(batches, small(n))
		}
		if got := sizes(x.o, batches...); !slices.Equal(got, x.want) {
			t.Errorf("%+v of %v: batches of %v rows, want %v", x.o, x.put, got, x.want)
		}
	}
}

// TestMetadataOfABatch keeps custom metadata: such a batch is not joined, and cut, its first part has it.
func TestMetadataOfABatch(t *testing.T) {
	s := newStore(t, Options{MaxMessage: 64 << 10})
	schema := schemaOf(t, i64)
	in := begin(t, s, schema, IngestOptions{Codec: compress.None})
	meta := []arrowipc.KeyValue{{Key: "k", Value: "\xff"}}
	for _, rows := range []int64{10, 10, 20_000, 10} {
		m, b := s.message(t, &plainBatch{rows: rows, nodes: nodes(rows), bufs: [][]byte{nil, make([]byte, 8*rows)}}, compress.None)
		if rows == 20_000 {
			m.Metadata = meta
		}
		if err := in.Add(context.Background(), m, body(t, s, b)); err != nil {
			t.Fatal(err)
		}
	}
	batches, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	p, _ := schema.Project([]arrowipc.Pick{{Ordinal: 0}})
	r := s.Reader(schema.Layout, p, ReadOptions{Encode: compress.None})
	for _, b := range batches {
		err := r.Read(b, b.Rows(), func(m *Message) error {
			h, err := arrowipc.ReadMessage(m.Header, arrowipc.Limits{})
			got = append(got, fmt.Sprintf("%d %q", m.Rows, h.Metadata))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	want := []string{`20 []`, `6720 [{"k" "\xff"}]`, `6720 []`, `6560 []`, `10 []`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAmplification puts a batch whose rows all refer to one long value. Cut to fit, each row would need a copy of it:
// such a batch stays whole.
func TestAmplification(t *testing.T) {
	s := newStore(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10})
	schema := schemaOf(t, vstr)
	const rows = 1000
	long := bytes.Repeat([]byte("x"), 256<<10)
	var views []byte
	for range rows {
		views = append(views, longView(long, int64(len(long)), 0, 0)...)
	}
	source := &plainBatch{rows: rows, nodes: nodes(rows), bufs: [][]byte{nil, views, long}, variadic: []int64{1}}
	for _, c := range []compress.Codec{compress.None, compress.Zstd} {
		batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Stats().Charged; got > 4*int64(len(long)) {
			t.Errorf("%v: %d bytes were put, %d are charged", c, len(long)+len(views), got)
		}
		for _, b := range batches {
			b.Release()
		}
	}
}

// TestFailedPut gives everything back and names the first bad batch.
func TestFailedPut(t *testing.T) {
	schema := schemaOf(t, i64, str)
	for _, c := range []compress.Codec{compress.None, compress.Zstd} {
		s := newStore(t, Options{JoinBelow: 1})
		r := seeded(t)
		in := begin(t, s, schema, IngestOptions{Codec: c})
		var err error
		for i := range 20 {
			m, b := s.message(t, randomPlain(r, schema.Layout, 100), compress.None)
			if i >= 7 { // offsets that run backwards
				x := m.Batch.Buffers[3]
				putInt(b[x.Offset:], 4, 50, 1<<30)
			}
			if err = in.Add(context.Background(), m, body(t, s, b)); err != nil {
				break
			}
		}
		if err == nil {
			_, err = in.Finish(context.Background())
		}
		if !errors.Is(err, ErrInvalidBatch) || !bytes.Contains([]byte(err.Error()), []byte("record batch 7: ")) {
			t.Errorf("%v: got %v", c, err)
		}
		in.Abort()
		in.Abort()
	}
}

// TestCancelledPut gives everything back.
func TestCancelledPut(t *testing.T) {
	schema := schemaOf(t, i64, str)
	s := newStore(t, Options{JoinBelow: 1})
	r := seeded(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := begin(t, s, schema, IngestOptions{Codec: compress.Zstd})
	for i := range 50 {
		m, b := s.message(t, randomPlain(r, schema.Layout, 200), compress.None)
		if i == 20 {
			cancel()
		}
		if err := in.Add(ctx, m, body(t, s, b)); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	in.Abort()
}

// TestForgedLengths sends compressed batches whose buffers claim to decode to terabytes: refused before anything is
// allocated.
func TestForgedLengths(t *testing.T) {
	schema := schemaOf(t, i64)
	s := newStore(t, Options{MaxDecoded: 1 << 26})
	source := &plainBatch{rows: 1000, nodes: nodes(1000), bufs: [][]byte{nil, make([]byte, 8000)}}
	for _, n := range []int64{1 << 40, 1 << 62, -2, 1<<26 + 1} {
		m, b := s.message(t, source, compress.Zstd)
		putInt(b[m.Batch.Buffers[1].Offset:], 8, 0, n)
		in := begin(t, s, schema, IngestOptions{Codec: compress.Zstd})
		err := in.Add(context.Background(), m, body(t, s, b))
		if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrInvalidBatch) {
			t.Errorf("%d: got %v", n, err)
		}
		in.Abort()
	}
}

// bodyOf is the stored body of a batch that is in memory.
func bodyOf(b *Batch) []byte { return b.mem.Load().block.B }
