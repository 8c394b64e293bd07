package batchstore

import (
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/compress"
)

// Puts that need little do not wait behind those of the high levels, and the other way round.
func TestSlowWorkIsApart(t *testing.T) {
	cases := []struct {
		name    string
		store   int // level of the store
		options IngestOptions
		slow    bool
	}{
		{"plain", 0, IngestOptions{}, false},
		{"lz4", 0, IngestOptions{Codec: compress.LZ4}, false},
		{"lz4 beside a level of the store", 19, IngestOptions{Codec: compress.LZ4}, false},
		{"zstd", 0, IngestOptions{Codec: compress.Zstd}, false},
		{"zstd 9", 19, IngestOptions{Codec: compress.Zstd, Level: 9}, false},
		{"zstd 10", 0, IngestOptions{Codec: compress.Zstd, Level: 10}, true},
		{"zstd 22", 0, IngestOptions{Codec: compress.Zstd, Level: 22}, true},
		{"zstd of the store's level", 19, IngestOptions{Codec: compress.Zstd}, true},
		{"zstd 22, deferred", 0, IngestOptions{Codec: compress.Zstd, Level: 22, Defer: true}, false},
	}
	schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, Options{Workers: 1, ZstdLevel: c.store})
				own, other := s.quick, s.slow
				if c.slow {
					own, other = other, own
				}
				put := func() bool {
					list, err := put(t, s, schema, c.options, plainly, bytesBatch(t, schema, 1<<10, func(i int64) byte { return byte(i) }))
					if err != nil {
						t.Error(err)
					}
					releaseAll(list)
					return err == nil
				}
				busy, done := make(chan struct{}), false
				other.jobs <- func() { <-busy }
				if !put() { // it does not wait for the other kind
					t.Error("not put")
				}
				own.jobs <- func() { <-busy }
				go func() { done = put() }()
				synctest.Wait()
				if done {
					t.Error("it did not wait for its own kind")
				}
				close(busy)
				synctest.Wait()
				if !done {
					t.Error("it never ended")
				}
			})
		})
	}
}

// So are deferred batches of high levels when they are encoded.
func TestSlowWorkIsApartLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, Options{Workers: 1})
		schema := schemaOf(t, arrow.PrimitiveTypes.Uint8)
		for _, level := range []int{1, 22} {
			b := bytesBatch(t, schema, 1<<10, func(i int64) byte { return byte(i) })
			list, err := put(t, s, schema, IngestOptions{Codec: compress.Zstd, Level: level, Defer: true}, plainly, b)
			if err != nil {
				t.Fatal(err)
			}
			other, busy := s.slow, make(chan struct{})
			if level == 22 {
				other = s.quick
			}
			other.jobs <- func() { <-busy }
			made := encodeAll(t, s, schema, list)
			close(busy)
			if made[0].Deferred() {
				t.Errorf("level %d: not encoded", level)
			}
			releaseAll(made)
		}
	})
}
