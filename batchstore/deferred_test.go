package batchstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

func always() bool { return true }

// encodeAll encodes all deferred batches of a list, which it takes over, and gives the list as it is then.
func encodeAll(t testing.TB, s *Store, schema *arrowipc.Schema, list []*Batch) []*Batch {
	t.Helper()
	made, err := s.Encode(context.Background(), schema, list, always)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(list)
	for i, b := range made {
		if b != nil {
			list[i].Release()
			out[i] = b
		}
	}
	return out
}

// What is deferred is stored plain, counted as such, and becomes what it would have been: the same rows, statistics and
// sizes, whether its bodies are in memory or in files, over a restart too.
func TestDeferred(t *testing.T) {
	for _, codec := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
		for _, from := range []string{"memory", "files", "a restart"} {
			t.Run(codec.String()+" from "+from, func(t *testing.T) {
				r := seeded(t)
				s := filed(t, Options{Workers: 2, MaxBatchRows: 300, Spill: true, Memory: 64 << 20})
				schema := randomDictSchema(t, r, shapes[8])
				m := newDictModel(t, r, schema)
				in := begin(t, s, schema, IngestOptions{Codec: codec, Level: 3, Defer: true})
				m.run(in)
				list, err := in.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				all := allOf(t, schema)
				want := m.oracle(all, false)
				plain := int64(0)
				for i, b := range list {
					if b.Deferred() != (b.codec == compress.None && codec != compress.None) || b.goal() != codec {
						t.Errorf("batch %d has codec %v, is to have %v, waits: %t", i, b.codec, b.goal(), b.Deferred())
					}
					if b.Deferred() {
						plain += b.size
					}
					for _, d := range b.dicts {
						if d.values.Deferred() || d.values.codec != codec {
							t.Errorf("a dictionary has codec %v", d.values.codec)
						}
					}
				}
				if s.Deferred() != plain || s.Stats().Plain != plain {
					t.Errorf("%d bytes are plain, want %d", s.Deferred(), plain)
				}
				check := func(list []*Batch) {
					t.Helper()
					if got, _ := readAll(t, s, schema.Layout, all, ReadOptions{}, list, 1<<40); !slices.Equal(got, want) {
						t.Fatal("rows differ")
					}
				}
				check(list)
				switch from {
				case "files":
					spillAll(t, s, schema, list)
				case "a restart":
					places, err := s.Persist(schema, list)
					if err != nil {
						t.Fatal(err)
					}
					again := recoverAll(t, s, places)
					releaseAll(list)
					list = again
				}
				was := slices.Clone(list)
				retainAll(was)
				list = encodeAll(t, s, schema, list)
				for i, b := range list {
					if b.Deferred() || was[i].Deferred() != (b != was[i]) {
						t.Errorf("batch %d still waits, or is not what took its place", i)
					}
					if b == was[i] {
						continue
					}
					if b.codec != codec || b.size >= was[i].size || b.total != was[i].total || b.level != 3 || !slices.Equal(b.decoded, was[i].decoded) ||
						b.Rows() != was[i].Rows() || len(b.measured) != len(was[i].measured) {
						t.Errorf("batch %d became %+v", i, b)
					}
				}
				check(was) // who has the old ones goes on with them
				releaseAll(was)
				check(list)
				if s.Deferred() != 0 {
					t.Errorf("%d bytes are still plain", s.Deferred())
				}
				spillAll(t, s, schema, list)
				check(list)
				needed := map[string]bool{}
				for _, b := range list {
					needed[b.place.Load().file.name] = true
				}
				// A restart is told here by a copy of the files, and known dictionaries stay in the first.
				if left := names(t, s.opts.Dir); len(left) != len(needed) && from != "a restart" {
					t.Errorf("files %v, needed are %v", left, needed)
				}
				releaseAll(list)
				noDictionaries(t, s)
			})
		}
	}
}

func retainAll(batches []*Batch) {
	for _, b := range batches {
		b.Retain()
	}
}

// bytesBatch is a batch of one column of bytes, each by its row.
func bytesBatch(t testing.TB, schema *arrowipc.Schema, rows int64, of func(i int64) byte) *plainBatch {
	t.Helper()
	data := make([]byte, rows)
	for i := range data {
		data[i] = of(int64(i))
	}
	return &plainBatch{rows: rows, nodes: []arrowipc.FieldNode{{Length: rows}}, bufs: [][]byte{nil, data}}
}

// A batch that would not become smaller stays plain, and waits no more.
func TestDeferredNoise(t *testing.T) {
	s := newStore(t, Options{})
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	r := rand.New(rand.NewPCG(1, 2))
	noise := bytesBatch(t, schema, 5000, func(int64) byte { return byte(r.Uint32()) })
	list, err := put(t, s, schema, IngestOptions{Codec: compress.Zstd, Defer: true}, plainly, noise)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseAll(list)
	made, err := s.Encode(context.Background(), schema, list, always)
	if err != nil || made[0] != nil || list[0].Deferred() || s.Deferred() != 0 {
		t.Errorf("%v, %v, waits %t", made, err, list[0].Deferred())
	}
	if list[0].goal() != compress.Zstd {
		t.Errorf("it is to be joined with those under %v", list[0].goal())
	}
}

// What is small is joined with what is small and encoded already: under the codec that both were put for.
func TestDeferredJoins(t *testing.T) {
	s := newStore(t, Options{})
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	var list []*Batch
	for i := range 4 {
		b := bytesBatch(t, schema, 1000, func(int64) byte { return byte(i) })
		stored, err := put(t, s, schema, IngestOptions{Codec: compress.Zstd, Defer: i%2 == 0}, plainly, b)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, stored...)
	}
	list = joined(t, s, schema, list, s.Joins(schema.Layout, list, true))
	if len(list) != 1 || list[0].codec != compress.Zstd || list[0].Rows() != 4000 || s.Deferred() != 0 {
		t.Errorf("%d batches, the first %+v", len(list), list[0])
	}
	releaseAll(list)
}

// Where memory is short, the rest of a put is encoded as usual; it stays so when memory comes free meanwhile.
func TestDeferredUntilMemoryIsShort(t *testing.T) {
	s := newStore(t, Options{Memory: 16 << 20, Workers: 1, JoinBelow: 1})
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	in := begin(t, s, schema, IngestOptions{Codec: compress.Zstd, Defer: true})
	add := func() {
		t.Helper()
		m, bytes := s.message(t, bytesBatch(t, schema, 100<<10, func(i int64) byte { return byte(i) }), compress.None)
		if err := in.Add(context.Background(), m, body(t, s, bytes)); err != nil {
			t.Fatal(err)
		}
		in.running.Wait()
	}
	add()
	block, err := s.Alloc(12 << 20)
	if err != nil {
		t.Fatal(err)
	}
	add()
	Free(&block)
	add()
	list, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var codecs []compress.Codec
	for _, b := range list {
		codecs = append(codecs, b.codec)
	}
	if want := []compress.Codec{compress.None, compress.Zstd, compress.Zstd}; !slices.Equal(codecs, want) {
		t.Errorf("codecs %v, want %v", codecs, want)
	}
	releaseAll(list)
}

// Without memory for what it would make it stops, leaves the rest as it is, and waits for nothing.
func TestDeferredWithoutMemory(t *testing.T) {
	s := newStore(t, Options{Memory: 16 << 20, Workers: 1})
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	b := bytesBatch(t, schema, 100<<10, func(i int64) byte { return byte(i) })
	list, err := put(t, s, schema, IngestOptions{Codec: compress.Zstd, Defer: true, KeepBatches: true}, plainly, b, b, b)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseAll(list)
	charged := s.Stats().Charged
	given := 0
	s.budget.refuse = func(lender) bool { given++; return given > 2 } // the first batch's body and facts are given
	made, err := s.Encode(context.Background(), schema, list, always)
	s.budget.refuse = nil
	if !errors.Is(err, ErrMemory) || made[0] == nil || made[1] != nil || made[2] != nil || !list[1].Deferred() || !list[2].Deferred() {
		t.Fatalf("%v, %v", made, err)
	}
	made[0].Release()
	if n := s.Stats().Charged; n != charged {
		t.Errorf("%d bytes are charged, before %d", n, charged)
	}
	made, err = s.Encode(context.Background(), schema, list, func() bool { return false })
	if err != nil || slices.ContainsFunc(made, func(b *Batch) bool { return b != nil }) {
		t.Errorf("unwanted: %v, %v", made, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ended := make(chan struct{})
	s.quick.jobs <- func() { // the one worker is busy
		defer close(ended)
		if made, err := s.Encode(ctx, schema, list, always); !errors.Is(err, context.Canceled) || made[0] != nil {
			t.Errorf("cancelled: %v, %v", made, err)
		}
	}
	<-ended
}

// The work of puts comes first: what is deferred is begun only when no job waits for a worker.
func TestDeferredComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{Workers: 1})
		var order []string // by the one worker
		busy := make(chan struct{})
		s.quick.jobs <- func() { <-busy }
		for range 5 {
			go func() { s.quick.later <- func() { order = append(order, "later") } }()
			go func() { s.quick.jobs <- func() { order = append(order, "job") } }()
		}
		synctest.Wait() // all of them wait for the worker
		close(busy)
		synctest.Wait()
		if want := append(slices.Repeat([]string{"job"}, 5), slices.Repeat([]string{"later"}, 5)...); !slices.Equal(order, want) {
			t.Errorf("%v, want %v", order, want)
		}
	})
}

// A body that cannot be read is an error, and is tried no more; the others go on.
func TestDeferredDamaged(t *testing.T) {
	s := filed(t, Options{Workers: 1, Spill: true, Memory: 64 << 20})
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	b := bytesBatch(t, schema, 100<<10, func(i int64) byte { return byte(i) })
	list, err := put(t, s, schema, IngestOptions{Codec: compress.Zstd, Defer: true, KeepBatches: true}, plainly, b, b)
	if err != nil {
		t.Fatal(err)
	}
	spillAll(t, s, schema, list)
	path := filepath.Join(s.opts.Dir, names(t, s.opts.Dir)[0])
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[50<<10]++ // in the first body
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := s.Encode(context.Background(), schema, list, always)
	if err == nil || errors.Is(err, ErrMemory) || made[0] != nil || made[1] == nil || list[0].Deferred() {
		t.Errorf("%v, %v", made, err)
	}
	releaseAll(list)
	made[1].Release()
}
