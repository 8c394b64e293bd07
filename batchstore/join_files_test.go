package batchstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// Batches whose bodies lie in files are joined as others are, without coming back into memory for it; what is made of them
// moves to files too, and the next run knows as well what is to be joined and how.
func TestJoinFromFiles(t *testing.T) {
	for _, codec := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			r := seeded(t)
			s := filed(t, Options{Workers: 1, MaxBatchRows: 300, Spill: true, Memory: 64 << 20})
			schema := randomDictSchema(t, r, shapes[8])
			m := newDictModel(t, r, schema)
			var list []*Batch
			for i := range 9 {
				in := begin(t, s, schema, IngestOptions{Codec: codec, Level: 3, KeepBatches: i%3 == 2})
				if i%3 == 0 {
					clear(m.states)
				}
				for k, state := range m.states { // the same dictionaries as the put before
					if state != nil {
						if err := addDictionary(t, in, schema.Layout.Dictionaries[k].ID, false, m.whole(k), compress.None); err != nil {
							t.Fatal(err)
						}
					}
				}
				m.run(in)
				stored, err := in.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, stored...)
			}
			all := allOf(t, schema)
			want := m.oracle(all, false)
			check := func(list []*Batch) {
				t.Helper()
				if got, _ := readAll(t, s, schema.Layout, all, ReadOptions{}, list, 1<<40); !slices.Equal(got, want) {
					t.Fatal("rows differ")
				}
			}
			spillAll(t, s, schema, list)
			runs := s.Joins(schema.Layout, list, true)
			for range 2 { // what is not published goes away
				j := s.Joiner(schema, nil)
				for _, run := range runs {
					made, err := j.Join(context.Background(), list[run.First:run.Last])
					if err != nil {
						t.Fatal(err)
					}
					releaseAll(made)
				}
				j.Close()
			}
			for i, b := range list {
				if b.mem.Load() != nil {
					t.Errorf("batch %d is in memory again", i)
				}
			}
			list = joined(t, s, schema, list, runs)
			check(list)
			spillAll(t, s, schema, list)
			check(list)
			places, err := s.Persist(schema, list)
			if err != nil {
				t.Fatal(err)
			}
			again := recoverAll(t, s, places)
			for _, b := range list {
				i := slices.IndexFunc(again, func(x *Batch) bool {
					return x.Rows() == b.Rows() && slices.Equal(x.header.Buffers, b.header.Buffers) && slices.Equal(x.stored, b.stored)
				})
				if i < 0 || again[i].Small() != b.Small() || again[i].apart != b.apart || again[i].level != 3 || again[i].total != b.total {
					t.Errorf("a batch is recovered with other facts: %+v", b)
				}
			}
			releaseAll(again)
			releaseAll(list)
			noDictionaries(t, s)
		})
	}
}

// A file that is damaged fails the join of its batches, says so, and leaves everything as it was.
func TestJoinFromDamagedFile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := filed(t, Options{Workers: 1})
	schema := schemaOf(t, i64)
	list := smallBatches(t, s, schema, IngestOptions{Codec: compress.Zstd}, noise64(r, 100), noise64(r, 100), noise64(r, 100))
	defer releaseAll(list)
	spillAll(t, s, schema, list)
	path := filepath.Join(s.opts.Dir, list[1].place.Load().file.name)
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 200; i < len(bytes)-1000; i++ {
		bytes[i] ^= 0x55
	}
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	before := s.Stats()
	j := s.Joiner(schema, nil)
	defer j.Close()
	if _, err := j.Join(context.Background(), list); !errors.Is(err, segment.ErrDamaged) {
		t.Errorf("%v, want segment.ErrDamaged", err)
	}
	if now := s.Stats(); now != before {
		t.Errorf("%+v, before %+v", now, before)
	}
}

// Puts to one dataset may number its dictionaries each in their own way: what is shared is shared by content and place,
// and a file has the ids of the schema that it is written under.
func TestJoinOfOtherIDs(t *testing.T) {
	s := filed(t, Options{Workers: 1})
	schema := func(ids ...int64) *arrowipc.Schema {
		return buildSchema(t, encodedWith(ids[0], 8, true, fieldOf(t, "a", str)), encodedWith(ids[1], 8, true, fieldOf(t, "b", str)))
	}
	one := schema(1, 2)
	var list []*Batch
	for _, ids := range [][]int64{{1, 2}, {8, 3}, {2, 1}} {
		in := begin(t, s, schema(ids...), IngestOptions{})
		for i, value := range []string{"x", "y"} {
			if err := addDictionary(t, in, ids[i], false, texts(value), compress.None); err != nil {
				t.Fatal(err)
			}
		}
		a, b := indices(1, 0, 0), indices(1, 0, 0)
		if err := addBatch(t, in, &plainBatch{rows: 2, nodes: append(a.nodes, b.nodes...), bufs: append(a.bufs, b.bufs...)}, compress.None); err != nil {
			t.Fatal(err)
		}
		stored, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, stored...)
	}
	if n := len(s.dictionaries.byDigest); n != 2 {
		t.Errorf("%d dictionaries are kept, want 2", n)
	}
	check := func(list []*Batch) {
		t.Helper()
		rows, _ := readAll(t, s, one.Layout, allOf(t, one), ReadOptions{}, list, 1<<40)
		for _, row := range rows {
			if row != rows[0] || !strings.Contains(row, "x") || !strings.Contains(row, "y") {
				t.Errorf("a row reads %q", row)
			}
		}
		if len(rows) != 6 {
			t.Errorf("%d rows", len(rows))
		}
	}
	check(list)
	list = joined(t, s, one, list, s.Joins(one.Layout, list, true))
	if len(list) != 1 {
		t.Errorf("%d batches", len(list))
	}
	check(list)
	places, err := s.Persist(one, list)
	if err != nil {
		t.Fatal(err)
	}
	again := recoverAll(t, s, places)
	check(again)
	releaseAll(again)
	releaseAll(list)
	noDictionaries(t, s)
}
