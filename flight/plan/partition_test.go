package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flightcache/flightcache/descriptors"
)

// TestPartition cuts datasets of any number of batches into any number of ranges: they follow each other, cover all, are
// as many as can be, and none is larger than its share by more than one batch.
func TestPartition(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	schema := schemaOf(t, number("a"))
	for range 300 {
		count, n := r.IntN(40), 1+r.IntN(12)
		batches := evenBatches(schema, count, 1+r.Int64N(1000))
		g := generation(t, schema, batches...)
		for _, b := range batches {
			b.committed = false // a partition asks batches for their sizes
		}
		read, err := New(g, &descriptors.ReadCommand{}, Client{})
		if err != nil {
			t.Fatal(err)
		}
		ranges := read.Partition(n)
		if want := max(1, min(n, count)); len(ranges) != want {
			t.Fatalf("seed %d: %d ranges of %d batches, asked for %d", seed, len(ranges), count, n)
		}
		at, rows, bytes := 0, int64(0), int64(0)
		for _, x := range ranges {
			if x.First != at || x.Last < x.First || count > 0 && x.Last == x.First {
				t.Fatalf("seed %d: ranges %+v of %d batches", seed, ranges, count)
			}
			at, rows, bytes = x.Last, rows+x.Rows, bytes+x.Decoded
			if share := (count + len(ranges) - 1) / len(ranges); x.Last-x.First > share+1 {
				t.Errorf("seed %d: a range of %d batches, its share is %d", seed, x.Last-x.First, share)
			}
		}
		if at != count || rows != read.Rows || bytes != read.Decoded {
			t.Fatalf("seed %d: ranges %+v cover %d of %d batches, %d of %d rows, %d of %d bytes", seed, ranges, at, count, rows,
				read.Rows, bytes, read.Decoded)
		}
	}
}
