package batchstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// factsOf are the facts of a batch that a segment keeps.
func factsOf(b *Batch) segment.Facts {
	return segment.Facts{Header: b.header, Metadata: b.metadata, Decoded: b.decoded, Statistics: b.measured}
}

// writeSegment writes batches of one dictionary state to a new file.
func writeSegment(t *testing.T, pool *segment.Pool, path string, schema *arrowipc.Schema, batches []*Batch) {
	t.Helper()
	w, err := pool.Create(path, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, d := range batches[0].dicts {
		if err := w.AddDictionary(schema.Layout.Dictionaries[i].ID, fmt.Sprint("uid ", i), factsOf(d.values), bodyOf(d.values)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range batches {
		if err := w.AddBatch(factsOf(b), bodyOf(b)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Finish(false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// requireFacts compares facts from a file with those of a batch.
func requireFacts(t *testing.T, got segment.Facts, b *Batch) {
	t.Helper()
	h := &got.Header
	if h.Rows != b.header.Rows || h.Compression != b.header.Compression || !slices.Equal(h.Nodes, b.header.Nodes) ||
		!slices.Equal(h.Buffers, b.header.Buffers) || !slices.Equal(h.Variadic, b.header.Variadic) {
		t.Fatalf("the header is %+v, want %+v", *h, b.header)
	}
	if got.Body != b.StoredBytes() || !slices.Equal(got.Metadata, b.metadata) || !slices.Equal(got.Decoded, b.decoded) ||
		!slices.Equal(got.Statistics, b.measured) {
		t.Fatalf("the facts are %+v, want %+v", got, factsOf(b))
	}
}

// checkSegment reads a file back: all is as it was written, in runs of columns too.
func checkSegment(t *testing.T, pool *segment.Pool, path string, schema *arrowipc.Schema, batches []*Batch) {
	t.Helper()
	f, err := pool.Open(path, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !bytes.Equal(f.Schema().Message(), schema.Message()) || f.Batches() != len(batches) || f.Dictionaries() != len(batches[0].dicts) {
		t.Fatalf("%d batches, %d dictionaries, or another schema", f.Batches(), f.Dictionaries())
	}
	for i, d := range batches[0].dicts {
		id, uid, facts, err := f.Dictionary(i)
		if err != nil || id != schema.Layout.Dictionaries[i].ID || uid != fmt.Sprint("uid ", i) {
			t.Fatalf("dictionary %d is %d %q, %v", i, id, uid, err)
		}
		requireFacts(t, facts, d.values)
		got := make([]byte, facts.Body)
		if err := f.ReadDictionary(i, got); err != nil || !bytes.Equal(got, bodyOf(d.values)) {
			t.Fatalf("dictionary %d: %v, or other bytes", i, err)
		}
	}
	n := len(schema.Fields)
	for i, b := range batches {
		if i%2 == 1 {
			f.Trim() // they are read again
		}
		facts, err := f.Batch(i)
		if err != nil {
			t.Fatal(err)
		}
		requireFacts(t, facts, b)
		for first := range n + 1 {
			for last := first; last <= n; last++ {
				at, length := segment.Range(schema.Layout, &facts.Header, facts.Body, first, last)
				got := make([]byte, length)
				if err := f.ReadBatch(i, &facts.Header, first, last, got); err != nil || !bytes.Equal(got, bodyOf(b)[at:at+length]) {
					t.Fatalf("batch %d, columns %d to %d: %v, or other bytes", i, first, last, err)
				}
			}
		}
		if at, length := segment.Range(schema.Layout, &facts.Header, facts.Body, 0, n); at != 0 || n > 0 && length != b.StoredBytes() {
			t.Fatalf("all columns are %d bytes at %d of %d", length, at, b.StoredBytes())
		}
	}
}

// fileRows reads a file by arrow-go and renders its rows.
func fileRows(t *testing.T, path string) (rows []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := ipc.NewFileReader(file, ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range r.NumRecords() {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, recordRows(rec)...)
		rec.Release()
	}
	return rows
}

// Batches of every shape, plain and with dictionaries everywhere, under every codec, come back from a segment as they were.
// Of plain ones, arrow-go reads the same rows from the file as from a stream.
func TestSegmentShapes(t *testing.T) {
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
	for _, x := range someShapes(3) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			pool := segment.NewPool(4)
			defer pool.Close()
			for round := range 6 {
				s := newStore(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxBatchRows: int64(20 + r.IntN(100)), MaxDecoded: 1 << 26})
				var schema *arrowipc.Schema
				var batches []*Batch
				o := IngestOptions{Codec: codecs[round%3], KeepBatches: r.IntN(2) == 0}
				if round < 3 {
					schema = schemaOf(t, str, x.dt, i64, x.dt)
					var err error
					if batches, err = put(t, s, schema, o, plainly, randomPlain(r, schema.Layout, 60), randomPlain(r, schema.Layout, 1+r.Int64N(200))); err != nil {
						t.Fatal(err)
					}
					batches[len(batches)/2].metadata = []arrowipc.KeyValue{{Key: "k", Value: "\xff"}, {}}
				} else {
					schema = randomDictSchema(t, r, x)
					in := begin(t, s, schema, o)
					m := newDictModel(t, r, schema)
					m.run(in)
					var err error
					if batches, err = in.Finish(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				for from := 0; from < len(batches); {
					to := from + 1
					for to < len(batches) && slices.Equal(batches[to].dicts, batches[from].dicts) {
						to++
					}
					part := batches[from:to]
					path := filepath.Join(t.TempDir(), "segment.arrow")
					writeSegment(t, pool, path, schema, part)
					checkSegment(t, pool, path, schema, part)
					if round == 0 { // arrow-go reads neither empty dictionaries nor empty buffers that are compressed
						want := arrowRows(t, arrowStream(t, s, schema, allOf(t, schema), ReadOptions{}, part))
						if got := fileRows(t, path); !slices.Equal(got, want) {
							t.Fatalf("arrow-go reads\n%q\nfrom the file, and\n%q\nfrom a stream", got, want)
						}
					}
					from = to
				}
				releaseAll(batches)
				noDictionaries(t, s)
			}
		})
	}
}

// A batch whose body begins with padding is kept as it came, and read from a file like any other.
func TestPaddingBeforeTheFirstBuffer(t *testing.T) {
	s := filed(t, Options{})
	schema := schemaOf(t, i64, i64)
	one := numbers(50)
	source := &plainBatch{rows: 50, nodes: append(one.nodes, one.nodes...), bufs: append(one.bufs, one.bufs...)}
	m, raw := s.message(t, source, compress.None)
	const gap = 16
	for i := range m.Batch.Buffers {
		m.Batch.Buffers[i].Offset += gap
	}
	m.BodyLength += gap
	in := begin(t, s, schema, IngestOptions{Codec: compress.None, KeepBatches: true})
	if err := in.Add(context.Background(), m, body(t, s, append(make([]byte, gap), raw...))); err != nil {
		t.Fatal(err)
	}
	batches, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer releaseAll(batches)
	if batches[0].header.Buffers[0].Offset != gap {
		t.Fatalf("the batch was not kept as it came: %+v", batches[0].header.Buffers)
	}
	for _, columns := range [][]arrowipc.Pick{{{Ordinal: 0}, {Ordinal: 1}}, {{Ordinal: 0}}, {{Ordinal: 1}}} {
		p, err := schema.Project(columns)
		if err != nil {
			t.Fatal(err)
		}
		spillAll(t, s, schema, batches)
		want := oracle(p, []*plainBatch{source})
		if got := read(t, s, schema.Layout, p, ReadOptions{}, batches, 100); !slices.Equal(got, want) {
			t.Errorf("columns %v: got %q, want %q", columns, got, want)
		}
	}
}
