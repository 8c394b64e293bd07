package batchstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// filed makes a store with a folder for files. When the test ends, memory and folder must be empty.
func filed(t testing.TB, o Options) *Store {
	t.Helper()
	o.Dir = t.TempDir()
	if o.Report == nil {
		o.Report = func(err error) { t.Errorf("reported: %v", err) }
	}
	s := open(t, o)
	t.Cleanup(func() { // before the store is closed
		if n := s.files.len() + s.files.seen.order.Len(); n != 0 {
			t.Errorf("%d batches are still in the order", n)
		}
		if left := names(t, o.Dir); len(left) != 0 {
			t.Errorf("files are left: %v", left)
		}
	})
	return s
}

// open makes a store that is closed when the test ends. Then no byte may be charged, and no file counted.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	o.Arena = arena.Options{ReserveBytes: 4 << 30, Poison: true}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if st := s.Stats(); st.Charged != 0 || st.Plain != 0 || st.Spilled != 0 || st.Disk != 0 || st.Files != 0 {
			t.Errorf("at the end: %+v", st)
		}
	})
	return s
}

func names(t testing.TB, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// spillAll has all bodies leave memory, dictionaries too.
func spillAll(t testing.TB, s *Store, schema *arrowipc.Schema, batches []*Batch) {
	t.Helper()
	if _, err := s.Unload(schema, batches); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		for _, d := range b.dicts {
			s.files.forget(d.values)
			s.leave(d.values)
		}
	}
}

// All forms of reading give the same of bodies that lie in files, for every type; and so do those of the next run.
func TestReadFromFiles(t *testing.T) {
	for i, x := range someShapes(1) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			schema := schemaOf(t, x.dt, i32, structOf(x.dt, str))
			codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
			if underRace {
				codecs = codecs[i%3:][:1]
			}
			for _, c := range codecs {
				s := filed(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 256 << 10, JoinBelow: 4 << 10, Workers: 1, SegmentBytes: 100 << 10})
				var sources []*plainBatch
				for range 4 {
					sources = append(sources, randomPlain(r, schema.Layout, int64(r.IntN(800))))
				}
				batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, sources...)
				if err != nil {
					t.Fatal(err)
				}
				all := allOf(t, schema)
				want := oracle(all, sources)
				never := func(compress.Codec) bool { return false }
				check := func(batches []*Batch) {
					t.Helper()
					for _, o := range []ReadOptions{{}, {Accept: never}, {Accept: never, MaxMessage: 8 << 10}, {Accept: never, Encode: compress.Zstd}} {
						if got := read(t, s, schema.Layout, all, o, batches, 1<<40); !slices.Equal(got, want) {
							t.Fatalf("%v, %+v: rows differ", c, o)
						}
					}
				}
				spillAll(t, s, schema, batches)
				if st := s.Stats(); st.Charged != sumOf(batches, (*Batch).factBytes) || st.Spilled != sumOf(batches, (*Batch).StoredBytes) {
					t.Errorf("%v: %+v", c, st)
				}
				for range 3 { // they come back at the second read
					check(batches)
				}
				if st := s.Stats(); st.Spilled != 0 {
					t.Errorf("%v: %d bytes have not come back", c, st.Spilled)
				}
				spillAll(t, s, schema, batches)
				places, err := s.Persist(schema, batches)
				if err != nil {
					t.Fatal(err)
				}
				again := recoverAll(t, s, places)
				check(again)
				for i, b := range again {
					if b.header.Rows != batches[i].header.Rows || !slices.Equal(b.decoded, batches[i].decoded) || !slices.Equal(b.stored, batches[i].stored) ||
						!slices.Equal(b.measured, batches[i].measured) || b.codec != batches[i].codec {
						t.Errorf("%v: batch %d is recovered with other facts", c, i)
					}
				}
				releaseAll(again)
				// Their files are gone with them: these two runs are not meant to share a folder.
				releaseAll(batches)
			}
		})
	}
}

// recoverAll reads files as another run would, under names of their own: each run owns its files.
func recoverAll(t testing.TB, s *Store, places []Place) (out []*Batch) {
	t.Helper()
	done := map[string]bool{}
	for _, p := range places {
		if done[p.Segment] {
			continue
		}
		done[p.Segment] = true
		bytes, err := os.ReadFile(filepath.Join(s.opts.Dir, p.Segment))
		if err != nil {
			t.Fatal(err)
		}
		name := "again-" + p.Segment
		if err := os.WriteFile(filepath.Join(s.opts.Dir, name), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		_, batches, err := s.Recover(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, batches...)
	}
	return out
}

func sumOf(batches []*Batch, f func(*Batch) int64) (n int64) {
	for _, b := range batches {
		n += f(b)
	}
	return n
}

// noise64 is a batch of one column of n numbers that do not compress.
func noise64(r *rand.Rand, n int64) *plainBatch {
	b := make([]byte, 8*n)
	for i := range n {
		binary.LittleEndian.PutUint64(b[8*i:], r.Uint64())
	}
	return &plainBatch{rows: n, nodes: []arrowipc.FieldNode{{Length: n}}, bufs: [][]byte{nil, b}}
}

// wide is the type of rows of which few fill a message: what compares rows has less to do.
var wide = &arrow.FixedSizeBinaryType{ByteWidth: 64}

// noise is a batch of one wide column of n rows that do not compress.
func noise(r *rand.Rand, n int64) *plainBatch {
	b := noise64(r, 8*n)
	b.rows, b.nodes[0].Length = n, n
	return b
}

// mebibyte is batches of noise of 1 MiB together, of one wide column.
func mebibyte(r *rand.Rand) (out []*plainBatch) {
	for range 8 {
		out = append(out, noise(r, 1<<11))
	}
	return out
}

// putWithin runs batches through an ingest that waits for memory.
func putWithin(s *Store, schema *arrowipc.Schema, o IngestOptions, batches ...*plainBatch) ([]*Batch, error) {
	ctx := context.Background()
	o.Claim = s.PutClaim(ctx)
	defer o.Claim.End()
	in, err := s.Ingest(schema, o)
	if err != nil {
		return nil, err
	}
	defer in.Abort()
	for _, b := range batches {
		if err := arrive(o.Claim, in, b); err != nil {
			return nil, err
		}
	}
	return in.Finish(ctx)
}

// arrive sends a plain batch into an ingest, in memory that it waits for.
func arrive(claim *Claim, in *Ingest, b *plainBatch) error {
	h := arrowipc.RecordBatch{Rows: b.rows, Nodes: b.nodes, Variadic: b.variadic, Compression: arrowipc.Uncompressed}
	layOut(&h, b.bufs)
	block, err := claim.Alloc(int(paddedSize(b.bufs)))
	if err != nil {
		return err
	}
	for i, x := range h.Buffers {
		copy(block.B[x.Offset:], b.bufs[i])
	}
	m := &arrowipc.Message{Type: arrowipc.HeaderRecordBatch, BodyLength: int64(len(block.B)), Batch: &h}
	return in.Add(context.Background(), m, block)
}

// A put, and then many, of ten times the budget: all is there, and never more charged than there may be.
func TestPutsLargerThanMemory(t *testing.T) {
	for _, c := range []compress.Codec{compress.None, compress.Zstd} {
		t.Run(c.String(), func(t *testing.T) {
			s := filed(t, Options{Memory: 2 * mib, Workers: 2, Spill: true, MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10})
			r := seeded(t)
			schema := schemaOf(t, wide)
			all := allOf(t, schema)
			var puts [][]*Batch
			var want [][]string
			for _, n := range []int{80, 1, 3, 20, 8, 8} {
				var sources []*plainBatch
				for range 2 * n {
					sources = append(sources, noise(r, 1<<10)) // 64 KiB
				}
				batches, err := putWithin(s, schema, IngestOptions{Codec: c}, sources...)
				if err != nil {
					t.Fatal(err)
				}
				puts, want = append(puts, batches), append(want, oracle(all, sources))
				if st := s.Stats(); st.Charged > st.Budget || st.Staged != 0 {
					t.Fatalf("%+v", st)
				}
			}
			if st := s.Stats(); st.Spilled < 12*mib || st.Files < 50 {
				t.Errorf("%+v", st)
			}
			for i, batches := range puts {
				claim := s.ReadClaim(t.Context())
				if got := read(t, s, schema.Layout, all, ReadOptions{Claim: claim}, batches, 1<<40); !slices.Equal(got, want[i]) {
					t.Errorf("put %d reads differently", i)
				}
				claim.End()
				if st := s.Stats(); st.Charged > st.Budget {
					t.Fatalf("%+v", st)
				}
			}
			for _, batches := range puts {
				releaseAll(batches)
			}
		})
	}
}

// The folder is full: puts are refused as if there were none, with the reason; and go on when there is space again.
func TestSpillingWithoutSpace(t *testing.T) {
	var reports []error
	s := filed(t, Options{
		Memory: 8 * mib, Workers: 1, Spill: true, DiskBytes: 10 * mib, PutWait: 200 * time.Millisecond, MaxMessage: 128 << 10, MaxBatchBytes: 128 << 10,
		Report: func(err error) { reports = append(reports, err) },
	})
	r := seeded(t)
	schema := schemaOf(t, wide)
	all := allOf(t, schema)
	type dataset struct {
		batches []*Batch
		want    []string
	}
	var kept []dataset
	for {
		sources := mebibyte(r)
		batches, err := putWithin(s, schema, IngestOptions{Codec: compress.None}, sources...)
		if err != nil {
			if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "--disk") {
				t.Fatal(err)
			}
			break
		}
		if kept = append(kept, dataset{batches, oracle(all, sources)}); len(kept) > 30 {
			t.Fatal("the folder has no bound")
		}
	}
	if len(kept) < 12 {
		t.Errorf("only %d datasets of 1 MiB found room in 8 + 10", len(kept))
	}
	for i, d := range kept {
		if got := read(t, s, schema.Layout, all, ReadOptions{}, d.batches, 1<<40); !slices.Equal(got, d.want) {
			t.Errorf("dataset %d reads differently", i)
		}
	}
	for _, d := range kept[:6] {
		releaseAll(d.batches)
	}
	kept = kept[6:]
	for range 4 {
		batches, err := putWithin(s, schema, IngestOptions{Codec: compress.None}, mebibyte(r)...)
		if err != nil {
			t.Fatalf("with space again: %v", err)
		}
		kept = append(kept, dataset{batches: batches})
	}
	for _, d := range kept {
		releaseAll(d.batches)
	}
	if len(reports) == 0 || !errors.Is(reports[0], ErrNoSpace) {
		t.Errorf("reported: %v", reports)
	}
}

// A scan of a table larger than memory does not push out what is read again and again.
func TestScansKeepTheHotSet(t *testing.T) {
	s := filed(t, Options{Memory: 16 * mib, Workers: 1, Spill: true, MaxMessage: 1 << 20, MaxBatchBytes: 1 << 20})
	schema := schemaOf(t, i64)
	all := allOf(t, schema)
	source := noise64(seeded(t), 1<<17)
	table := func(n int) []*Batch {
		t.Helper()
		sources := slices.Repeat([]*plainBatch{source}, n)
		batches, err := putWithin(s, schema, IngestOptions{Codec: compress.None}, sources...)
		if err != nil {
			t.Fatal(err)
		}
		return batches
	}
	scan := func(batches []*Batch) {
		t.Helper()
		claim := s.ReadClaim(t.Context())
		defer claim.End()
		reader := s.Reader(schema.Layout, all, ReadOptions{Claim: claim})
		defer reader.Close()
		for _, b := range batches {
			if err := reader.Read(b, b.Rows(), func(*Message) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	hot := table(4)
	for range 3 {
		scan(hot)
	}
	large := table(40)
	for range 2 {
		scan(large)
		more := table(6) // what would push out the hot set if the scan had made it cold
		for _, b := range hot {
			if b.mem.Load() == nil {
				t.Fatal("a body that is read all the time has left memory")
			}
		}
		scan(hot)
		releaseAll(more)
	}
	for _, b := range large[:2] { // but what is read again, comes back
		for range 2 {
			scan([]*Batch{b})
		}
	}
	for range 100 {
		if large[0].mem.Load() != nil && large[1].mem.Load() != nil {
			break
		}
		time.Sleep(10 * time.Millisecond) // room is being made
		scan(large[:2])
	}
	if large[0].mem.Load() == nil || large[1].mem.Load() == nil {
		t.Error("what is read again and again does not come back")
	}
	releaseAll(hot)
	releaseAll(large)
}

// Dictionaries of a put larger than memory: what was spilled on the way is written again with them.
func TestDictionariesAreSpilled(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		t.Run(fmt.Sprint("sparse ", sparse), func(t *testing.T) {
			s := filed(t, Options{Memory: 2 * mib, Workers: 2, Spill: true, MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10})
			schema := buildSchema(t, encodedWith(7, 32, true, fieldOf(t, "a", str)), fieldOf(t, "b", wide))
			r := seeded(t)
			words := 50
			if sparse {
				words = 40_000 // of which few are used
			}
			var values []string
			for i := range words {
				values = append(values, fmt.Sprintf("word %d", i))
			}
			ctx := context.Background()
			claim := s.PutClaim(ctx)
			in := begin(t, s, schema, IngestOptions{Codec: compress.None, Claim: claim})
			defer in.Abort()
			if err := addDictionary(t, in, 7, false, texts(values...), compress.None); err != nil {
				t.Fatal(err)
			}
			var want []string
			for range 60 {
				b := noise(r, 1<<10)
				rows := renderRows(schema.Layout.Columns[1:], &plainBatch{rows: b.rows, nodes: append(b.nodes[:1:1], b.nodes...), bufs: append([][]byte{nil, nil}, b.bufs...)}, 0, b.rows)
				indices := make([]byte, 4*b.rows)
				for i := range rows {
					k := r.IntN(50)
					indices[4*i] = byte(k)
					want = append(want, fmt.Sprintf("%q|", values[k])+rows[i])
				}
				b.nodes, b.bufs = append(b.nodes, b.nodes...), append([][]byte{nil, indices}, b.bufs...)
				if err := arrive(claim, in, b); err != nil {
					t.Fatal(err)
				}
			}
			batches, err := in.Finish(ctx)
			if err != nil {
				t.Fatal(err)
			}
			claim.End()
			if st := s.Stats(); st.Spilled == 0 || st.Charged > st.Budget {
				t.Fatalf("%+v", st)
			}
			for i, b := range batches {
				if p := b.place.Load(); p != nil && p.provisional && b.mem.Load() == nil {
					t.Errorf("batch %d lies in a file without its dictionary", i)
				}
			}
			got, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 1<<40)
			if !slices.Equal(got, want) {
				t.Error("rows differ")
			}
			places, err := s.Persist(schema, batches)
			if err != nil {
				t.Fatal(err)
			}
			again := recoverAll(t, s, places)
			got, _ = readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, again, 1<<40)
			if !slices.Equal(got, want) {
				t.Error("rows differ after a restart")
			}
			if again[0].dicts[0] != batches[0].dicts[0] {
				t.Error("one dictionary became two")
			}
			releaseAll(again)
			releaseAll(batches)
			noDictionaries(t, s)
		})
	}
}

// Whatever byte of a file is changed, reading it gives the right rows or an error, and never a crash.
func TestChangedFiles(t *testing.T) {
	r := seeded(t)
	schema := buildSchema(t, encodedWith(7, 8, true, fieldOf(t, "a", str)), fieldOf(t, "b", i64), fieldOf(t, "c", arrow.ListOf(str)))
	s := filed(t, Options{Workers: 1})
	in := begin(t, s, schema, IngestOptions{Codec: compress.Zstd, KeepBatches: true})
	defer in.Abort()
	if err := addDictionary(t, in, 7, false, texts("red", "green", "blue"), compress.None); err != nil {
		t.Fatal(err)
	}
	rest := buildSchema(t, fieldOf(t, "b", i64), fieldOf(t, "c", arrow.ListOf(str)))
	for range 2 {
		b := randomPlain(r, rest.Layout, 60)
		indices := make([]byte, b.rows)
		for i := range indices {
			indices[i] = byte(r.IntN(3))
		}
		b.nodes = append([]arrowipc.FieldNode{{Length: b.rows}}, b.nodes...)
		b.bufs = append([][]byte{nil, indices}, b.bufs...)
		if err := addBatch(t, in, b, compress.None); err != nil {
			t.Fatal(err)
		}
	}
	batches, err := in.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 1<<40)
	places, err := s.Persist(schema, batches)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(s.opts.Dir, places[0].Segment))
	if err != nil {
		t.Fatal(err)
	}
	releaseAll(batches) // also so that its dictionary is read of the changed file, not found in memory
	path := filepath.Join(s.opts.Dir, "changed.arrow")
	failures, rights := 0, 0
	step := 1
	if underRace {
		step = 7
	}
	for i := r.IntN(step); i < len(whole); i += step {
		changed := slices.Clone(whole)
		changed[i] ^= 1 << r.IntN(8)
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := recoverAndRead(t, s, schema)
		switch {
		case err != nil:
			failures++
			if !errors.Is(err, segment.ErrDamaged) {
				t.Fatalf("byte %d: %v, want one that says it is damaged", i, err)
			}
		case !slices.Equal(rows, want):
			t.Fatalf("byte %d: wrong rows", i)
		default:
			rights++
		}
	}
	t.Logf("%d bytes: %d errors, %d times the right rows", len(whole), failures, rights)
	if failures < len(whole)/step/2 || rights == 0 {
		t.Errorf("%d errors and %d times right rows are not likely", failures, rights)
	}
	os.Remove(path)
}

// recoverAndRead reads all rows of the file changed.arrow.
func recoverAndRead(t *testing.T, s *Store, schema *arrowipc.Schema) ([]string, error) {
	got, batches, err := s.Recover("changed.arrow")
	if err != nil {
		return nil, err
	}
	defer releaseAll(batches)
	if d := schema.Diff(got); d != "" {
		return []string{d}, nil
	}
	p, err := got.Project([]arrowipc.Pick{{Ordinal: 0}, {Ordinal: 1}, {Ordinal: 2}})
	if err != nil {
		return nil, err
	}
	reader := s.Reader(got.Layout, p, ReadOptions{})
	defer reader.Close()
	c := newClient(t, got.Layout)
	for _, b := range batches {
		if err := reader.Read(b, b.Rows(), c.receive); err != nil {
			return nil, err
		}
	}
	return c.rows, nil
}
