//go:build !race

// What is counted here counts in the run without the race detector only: under it, pools lose on purpose what they are given.

package batchstore

import (
	"context"
	"testing"

	"github.com/flightcache/flightcache/compress"
)

// allocations are those of reading a batch, once a few have been read.
func (s *kept) allocations(t testing.TB, o ReadOptions, columns ...int) float64 {
	t.Helper()
	r := s.reader(t, o, columns...)
	work := func() {
		for _, b := range s.batches {
			if err := r.Read(b, b.Rows(), func(*Message) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	work()
	return testing.AllocsPerRun(5, work) / float64(len(s.batches))
}

// A read of stored bytes makes a header, and nothing that grows with the rows, the bytes or the columns.
func TestReadAllocatesTheSameWhateverTheBatch(t *testing.T) {
	const most = 8
	for name, n := range map[string]float64{
		"6 of 6, 10 rows":      flatKept(t, compress.Zstd, 10, 4).allocations(t, asStored, everything...),
		"6 of 6, 20,000 rows":  flatKept(t, compress.Zstd, 20_000, 4).allocations(t, asStored, everything...),
		"6 of 6, uncompressed": flatKept(t, compress.None, 20_000, 4).allocations(t, asStored, everything...),
		"1 of 6":               flatKept(t, compress.Zstd, 20_000, 4).allocations(t, asStored, 4),
		"2 of 6, apart":        flatKept(t, compress.LZ4, 20_000, 4).allocations(t, asStored, 1, 5),
		"1 of 1,000":           wideKept(t, 1000, 4).allocations(t, asStored, 500),
	} {
		if n > most {
			t.Errorf("%s: %v allocations a batch, at most %d", name, n, most)
		}
	}
}

// A read that decodes makes more, but no more for more rows.
func TestDecodingAllocatesTheSameWhateverTheRows(t *testing.T) {
	plain := ReadOptions{Accept: func(c compress.Codec) bool { return c == compress.None }, Encode: compress.None}
	few := flatKept(t, compress.Zstd, 100, 4).allocations(t, plain, everything...)
	many := flatKept(t, compress.Zstd, 20_000, 4).allocations(t, plain, everything...)
	// Pools may have been emptied meanwhile.
	if many > 2*few+8 {
		t.Errorf("%v allocations for 20,000 rows, %v for 100", many, few)
	}
}

// putAllocations are those of a put of so many batches.
func putAllocations(t *testing.T, rows int64, batches int) float64 {
	t.Helper()
	s := newStore(t, Options{Workers: 1})
	schema := schemaOf(t, i64, i64, i64, str, str, str)
	m, raw := s.message(t, flatBatch(schema.Layout, rows), compress.None)
	return testing.AllocsPerRun(4, func() {
		in := begin(t, s, schema, IngestOptions{Codec: compress.None, KeepBatches: true})
		for range batches {
			if err := in.Add(context.Background(), m, body(t, s, raw)); err != nil {
				t.Fatal(err)
			}
		}
		out, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range out {
			b.Release()
		}
	})
}

// Each batch of a put costs as many allocations as the one before it, however many rows it has. A few more are lists that
// grow now and then.
func TestPutAllocatesTheSameForEachBatch(t *testing.T) {
	const slack = 4
	each := func(rows int64, from, to int) float64 {
		return (putAllocations(t, rows, to) - putAllocations(t, rows, from)) / float64(to-from)
	}
	few, many, later := each(100, 4, 12), each(20_000, 4, 12), each(100, 40, 80)
	if many > few+slack || later > few+slack {
		t.Errorf("allocations a batch: %v of 100 rows, %v of 20,000; %v from the 40th on", few, many, later)
	}
}
