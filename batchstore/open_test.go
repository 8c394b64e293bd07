package batchstore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// Rows alone come from metadata: counting them is no use of a body, brings none back, and needs no file.
func TestRowsAloneNeedNoFile(t *testing.T) {
	s := filed(t, Options{Memory: 64 * mib, Workers: 1, Spill: true})
	schema := schemaOf(t, i64)
	batches, err := putWithin(s, schema, IngestOptions{Codec: compress.None}, noise64(seeded(t), 1<<17))
	if err != nil {
		t.Fatal(err)
	}
	spillAll(t, s, schema, batches)
	for _, name := range names(t, s.opts.Dir) {
		if err := os.Truncate(filepath.Join(s.opts.Dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Stats()
	none, err := schema.Project([]arrowipc.Pick{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, o := range []ReadOptions{{}, {MaxMessage: 64 << 10}, {Encode: compress.LZ4}} {
			for _, limit := range []int64{1 << 40, 1000, 1} {
				if got := read(t, s, schema.Layout, none, o, batches, limit); int64(len(got)) != min(limit, 1<<17) {
					t.Fatalf("%d rows, want %d", len(got), min(limit, 1<<17))
				}
			}
		}
	}
	if after := s.Stats(); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	if n := s.files.seen.order.Len(); n != 0 {
		t.Errorf("%d files count as read", n)
	}
	releaseAll(batches)
}
