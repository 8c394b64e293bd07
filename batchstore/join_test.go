package batchstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// smallBatches stores n batches apart, each by a put of its own, as appends do.
func smallBatches(t testing.TB, s *Store, schema *arrowipc.Schema, o IngestOptions, batches ...*plainBatch) (out []*Batch) {
	t.Helper()
	for _, b := range batches {
		stored, err := put(t, s, schema, o, plainly, b)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, stored...)
	}
	return out
}

// joined carries runs out as a server does, and gives the list that results. References to what was replaced are dropped.
func joined(t testing.TB, s *Store, schema *arrowipc.Schema, list []*Batch, runs []Run) []*Batch {
	t.Helper()
	c := s.JoinClaim(context.Background())
	defer c.End()
	j := s.Joiner(schema, c)
	defer j.Close()
	var out []*Batch
	next := 0
	for _, r := range runs {
		if r.First < next || r.Last-r.First < 2 || r.Last > len(list) {
			t.Fatalf("run %+v after place %d of %d", r, next, len(list))
		}
		out = append(out, list[next:r.First]...)
		made, err := j.Join(context.Background(), list[r.First:r.Last])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, made...)
		releaseAll(list[r.First:r.Last])
		next = r.Last
	}
	return append(out, list[next:]...)
}

// Batches of every type, under every codec, have the same rows when they are joined, and the statistics that a put of all
// rows at once would have measured.
func TestJoinKeepsRows(t *testing.T) {
	for _, shape := range someShapes(8) {
		for _, codec := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
			t.Run(fmt.Sprintf("%s/%v", shape.name, codec), func(t *testing.T) {
				r := seeded(t)
				s := newStore(t, Options{Workers: 2})
				schema := schemaOf(t, shape.dt, str)
				var sources []*plainBatch
				for range 2 + r.IntN(6) {
					sources = append(sources, randomPlain(r, schema.Layout, 1+r.Int64N(40)))
				}
				list := smallBatches(t, s, schema, IngestOptions{Codec: codec}, sources...)
				runs := s.Joins(schema.Layout, list, true)
				if len(runs) != 1 || runs[0] != (Run{0, len(list)}) {
					t.Fatalf("runs %v of %d small batches", runs, len(list))
				}
				out := joined(t, s, schema, list, runs)
				defer releaseAll(out)
				at, err := put(t, s, schema, IngestOptions{Codec: codec}, plainly, sources...)
				if err != nil {
					t.Fatal(err)
				}
				defer releaseAll(at)
				if len(out) != 1 || len(at) != 1 {
					t.Fatalf("%d batches joined, %d put at once; want one of each", len(out), len(at))
				}
				all := allOf(t, schema)
				if got, want := read(t, s, schema.Layout, all, ReadOptions{}, out, 1<<40), oracle(all, sources); !slices.Equal(got, want) {
					t.Fatalf("joined rows differ:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if !bytes.Equal(bodyOf(out[0]), bodyOf(at[0])) || !reflect.DeepEqual(out[0].header, at[0].header) ||
					!slices.Equal(out[0].decoded, at[0].decoded) || !slices.Equal(out[0].stored, at[0].stored) {
					t.Error("it is stored in other bytes than the same rows put at once")
				}
				if fmt.Sprintf("%+v", out[0].measured) != fmt.Sprintf("%+v", at[0].measured) {
					t.Errorf("statistics %+v, put at once %+v", out[0].measured, at[0].measured)
				}
			})
		}
	}
}

// What is joined and what is not, by the rules of Joins.
func TestJoins(t *testing.T) {
	s := newStore(t, Options{Workers: 1, MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, JoinBelow: 8 << 10, MaxBatchRows: 1000, MaxDecoded: 1 << 20})
	schema := schemaOf(t, i64)
	small := func(n int, rowsEach int64) (out []*plainBatch) {
		for range n {
			out = append(out, numbers(rowsEach))
		}
		return out
	}
	zstd, plain := IngestOptions{Codec: compress.Zstd}, IngestOptions{Codec: compress.None}
	keep := IngestOptions{Codec: compress.None, KeepBatches: true}
	type part struct {
		o IngestOptions
		b []*plainBatch
	}
	for _, tc := range []struct {
		name      string
		parts     []part
		all, auto []Run
	}{
		{"none", nil, nil, nil},
		{"one", []part{{plain, small(1, 10)}}, nil, nil},
		{"two", []part{{plain, small(2, 10)}}, []Run{{0, 2}}, nil},
		{"many", []part{{plain, small(16, 10)}}, []Run{{0, 16}}, []Run{{0, 16}}},
		{"not so many", []part{{plain, small(15, 10)}}, []Run{{0, 15}}, nil},
		{"rows of a batch", []part{{plain, small(5, 300)}}, []Run{{0, 3}, {3, 5}}, []Run{{0, 3}}},
		{"large ones apart", []part{{plain, small(2, 10)}, {plain, small(1, 1000)}, {plain, small(2, 10)}, {plain, small(1, 999)}}, []Run{{0, 2}, {3, 5}}, []Run{{0, 2}, {3, 5}}},
		{"by another codec", []part{{plain, small(2, 10)}, {zstd, small(3, 10)}, {plain, small(1, 10)}}, []Run{{0, 2}, {2, 5}}, []Run{{0, 2}, {2, 5}}},
		{"kept ones", []part{{plain, small(2, 10)}, {keep, small(3, 10)}, {plain, small(20, 10)}}, []Run{{0, 2}, {5, 25}}, []Run{{0, 2}, {5, 25}}},
		{"only the end doubles", []part{{plain, small(1, 500)}, {plain, small(20, 10)}}, []Run{{0, 21}}, []Run{{1, 21}}},
		{"half at most", []part{{plain, small(1, 200)}, {plain, small(20, 10)}}, []Run{{0, 21}}, []Run{{0, 21}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list []*Batch
			for _, p := range tc.parts {
				list = append(list, smallBatches(t, s, schema, p.o, p.b...)...)
			}
			defer releaseAll(list)
			if got := s.Joins(schema.Layout, list, true); !slices.Equal(got, tc.all) {
				t.Errorf("all: %v, want %v", got, tc.all)
			}
			if got := s.Joins(schema.Layout, list, false); !slices.Equal(got, tc.auto) {
				t.Errorf("automatic: %v, want %v", got, tc.auto)
			}
		})
	}
}

// A batch with custom metadata, which would have no place in a joined one, stays.
func TestJoinsLeaveMetadata(t *testing.T) {
	s := newStore(t, Options{Workers: 1})
	schema := schemaOf(t, i64)
	list := smallBatches(t, s, schema, IngestOptions{}, numbers(3), numbers(3), numbers(3))
	defer releaseAll(list)
	list[1].metadata = []arrowipc.KeyValue{{Key: "k", Value: "v"}}
	if got := s.Joins(schema.Layout, list, true); got != nil || list[1].Small() || !list[0].Small() {
		t.Errorf("runs %v", got)
	}
}

// However long a list grows by appends of small batches, it stays short, and a row is written again only a few times.
func TestJoinsAreAmortised(t *testing.T) {
	s := newStore(t, Options{Workers: 1, MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, JoinBelow: 16 << 10, MaxBatchRows: 4096, MaxDecoded: 1 << 20})
	schema := schemaOf(t, i64)
	r := seeded(t)
	var list []*Batch
	written, rows, longest := int64(0), int64(0), 0
	for i := range 6000 {
		n := 1 + r.Int64N(3)
		rows += n
		list = append(list, smallBatches(t, s, schema, IngestOptions{Codec: compress.None}, numbers(n))...)
		if i%64 != 63 {
			continue
		}
		longest = max(longest, len(list))
		runs := s.Joins(schema.Layout, list, false)
		for _, x := range runs {
			for _, b := range list[x.First:x.Last] {
				written += b.Rows()
			}
		}
		list = joined(t, s, schema, list, runs)
	}
	defer releaseAll(list)
	total := int64(0)
	for _, b := range list {
		total += b.Rows()
	}
	if total != rows {
		t.Errorf("%d rows, want %d", total, rows)
	}
	// A full batch has some 2,000 rows of 8 bytes; a run of 64 batches, 128.
	if most := 64 + fewest + 6 + int(rows/1024); longest > most {
		t.Errorf("up to %d batches, want at most %d", longest, most)
	}
	if written > 6*rows {
		t.Errorf("%d rows were written for %d, want at most six times as many", written, rows)
	}
}

// Random lists with dictionaries: rows come back, dictionaries are shared as before, and nothing is left.
func TestJoinModel(t *testing.T) {
	rounds := 6
	if underRace {
		rounds = 2
	}
	for _, shape := range []shape{shapes[2], shapes[8], shapes[10], shapes[11], shapes[19]} {
		t.Run(shape.name, func(t *testing.T) {
			r := seeded(t)
			s := newStore(t, Options{Workers: 2, MaxMessage: 64 << 10, MaxBatchBytes: 128 << 10, JoinBelow: 4 << 10, MaxBatchRows: 300, MaxDecoded: 64 << 20})
			for range rounds {
				schema := randomDictSchema(t, r, shape)
				m := newDictModel(t, r, schema)
				var list []*Batch
				for range 1 + r.IntN(5) {
					in := begin(t, s, schema, IngestOptions{Codec: m.codec(), KeepBatches: r.IntN(4) > 0})
					clear(m.states) // each put has its own
					m.run(in)
					stored, err := in.Finish(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					for _, b := range stored {
						b.apart = r.IntN(8) == 0
					}
					list = append(list, stored...)
				}
				all := allOf(t, schema)
				want := m.oracle(all, false)
				for range 3 {
					list = joined(t, s, schema, list, s.Joins(schema.Layout, list, r.IntN(2) == 0))
					got, _ := readAll(t, s, schema.Layout, all, ReadOptions{}, list, 1<<40)
					if !slices.Equal(got, want) {
						t.Fatalf("rows differ:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				list = joined(t, s, schema, list, s.Joins(schema.Layout, list, true))
				if runs := s.Joins(schema.Layout, list, true); runs != nil {
					t.Errorf("runs %v are left when all have been joined", runs)
				}
				releaseAll(list)
			}
			noDictionaries(t, s)
		})
	}
}

// Every request for memory that fails leaves what there was.
func TestJoinRefused(t *testing.T) {
	for _, codec := range []compress.Codec{compress.None, compress.Zstd} {
		s := newStore(t, Options{Workers: 1, Memory: 64 << 20})
		r := rand.New(rand.NewPCG(1, 2))
		refused := func(what string, schema *arrowipc.Schema, list []*Batch) {
			t.Helper()
			refusing(t, s, fmt.Sprint("join ", what, " ", codec), func() error {
				c := s.JoinClaim(context.Background())
				defer c.End()
				j := s.Joiner(schema, c)
				defer j.Close()
				for _, run := range s.Joins(schema.Layout, list, true) {
					out, err := j.Join(context.Background(), list[run.First:run.Last])
					if err != nil {
						return err
					}
					releaseAll(out)
				}
				return nil
			})
			releaseAll(list)
		}
		schema := randomDictSchema(t, r, shapes[8])
		m := newDictModel(t, r, schema)
		in := begin(t, s, schema, IngestOptions{Codec: codec, KeepBatches: true})
		m.run(in)
		list, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			b.apart = false
		}
		refused("one put", schema, list)
		m = newDictModel(t, r, codedSchema(t, r, shapes[8], 8))
		list = nil
		for range 5 {
			list = append(list, appendCoded(t, s, m, codec, 60, 10)...)
		}
		refused("several dictionaries", m.schema, list)
		noDictionaries(t, s)
	}
}

// A damaged body is an error that names the batch, a cancelled join ends, and both leave nothing.
func TestJoinFails(t *testing.T) {
	s := newStore(t, Options{Workers: 1})
	schema := schemaOf(t, str)
	r := seeded(t)
	list := smallBatches(t, s, schema, IngestOptions{Codec: compress.Zstd},
		randomPlain(r, schema.Layout, 100), randomPlain(r, schema.Layout, 100), randomPlain(r, schema.Layout, 100))
	defer releaseAll(list)
	before := s.Stats().Charged
	j := s.Joiner(schema, nil)
	defer j.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("no more")
	cancel(cause)
	if _, err := j.Join(ctx, list); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	b := bodyOf(list[1])
	x := list[1].header.Buffers[1]
	for i := x.Offset + 8; i < x.Offset+x.Length; i++ {
		b[i] ^= 0x55
	}
	if _, err := j.Join(context.Background(), list); !errors.Is(err, compress.ErrCorrupt) || !strings.Contains(err.Error(), "stored batches 0 to 2 of 3: batch 1") {
		t.Errorf("damaged: %v", err)
	}
	if got := s.Stats().Charged; got != before {
		t.Errorf("%d bytes charged, before %d", got, before)
	}
}
