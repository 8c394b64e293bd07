package batchstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// refusing does work again and again, in which the first request for memory fails, then a later one, and so on until none
// is left to fail. Each time the error must be about memory, and all must have been given back.
func refusing(t *testing.T, s *Store, what string, work func() error) {
	t.Helper()
	base := s.Stats()
	for k := int64(0); ; k += 1 + k/4 {
		var asked atomic.Int64
		s.budget.refuse = func(m lender) bool { return m.claim != nil && asked.Add(1)-1 == k }
		err := work()
		s.budget.refuse = nil
		if st := s.Stats(); st.Charged != base.Charged || st.Staged != base.Staged || st.InFlight != base.InFlight {
			t.Fatalf("%s, request %d failed: %+v is left, before it was %+v", what, k, st, base)
		}
		if asked.Load() <= k {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return
		}
		if !errors.Is(err, ErrMemory) || errors.Is(err, ErrInvalidBatch) {
			t.Fatalf("%s, request %d failed: %v, want ErrMemory alone", what, k, err)
		}
	}
}

// readings reads batches in every form, decoded and encoded, whole and cut, and filtered.
func readings(t *testing.T, s *Store, schema *arrowipc.Schema, batches []*Batch) {
	t.Helper()
	all := func(int64) bool { return true }
	never := func(compress.Codec) bool { return false }
	for _, o := range []ReadOptions{
		{}, {Accept: never}, {Accept: never, MaxMessage: 2000}, {Accept: never, Encode: compress.Zstd}, {Decode: all, MaxMessage: 2000},
		{Decode: all, Encode: compress.LZ4},
	} {
		refusing(t, s, fmt.Sprintf("read %+v", o), func() error {
			o.Claim = s.ReadClaim(context.Background())
			defer o.Claim.End()
			r := s.Reader(schema.Layout, allOf(t, schema), o)
			defer r.Close()
			for _, b := range batches {
				if err := r.Read(b, b.Rows(), func(*Message) error { return nil }); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func TestPutAndReadWithoutMemory(t *testing.T) {
	for _, x := range someShapes(6) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			s := newStore(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, JoinBelow: 4 << 10, Workers: 2})
			schema := schemaOf(t, x.dt, i32, structOf(x.dt, str))
			var sources []*plainBatch
			for _, rows := range []int64{5, 20, 60, 7} {
				sources = append(sources, randomPlain(r, schema.Layout, rows))
			}
			for _, c := range []compress.Codec{compress.None, compress.Zstd} {
				o := IngestOptions{Codec: c, KeepArriving: r.IntN(2) == 0}
				arriving := func(i int) compress.Codec { return []compress.Codec{compress.None, compress.LZ4}[i%2] }
				once := func() ([]*Batch, error) {
					o.Claim = s.PutClaim(context.Background())
					defer o.Claim.End()
					return put(t, s, schema, o, arriving, sources...)
				}
				refusing(t, s, fmt.Sprintf("put %+v", o), func() error {
					batches, err := once()
					releaseAll(batches)
					return err
				})
				batches, err := once()
				if err != nil {
					t.Fatal(err)
				}
				readings(t, s, schema, batches)
				releaseAll(batches)
			}
		})
	}
}

func TestDictionariesWithoutMemory(t *testing.T) {
	many := make([]string, 16_000)
	for i := range many {
		many[i] = fmt.Sprint("value ", i)
	}
	steps := []step{
		{5, false, texts("a", "b")}, {0, false, indices(4, 0, 1)},
		{5, true, texts("c")}, {0, false, indices(4, 2)},
		{5, false, texts("a", "b", "c", "d")}, {0, false, indices(4, 3, 0)},
		{5, false, texts("z")}, {0, false, indices(4, 0)},
		{5, false, texts(many...)}, {0, false, indices(4, 15_999, 3)},
	}
	loose := []step{{5, false, texts("a")}}
	for range looseParts {
		loose = append(loose, step{5, true, texts("b")})
	}
	loose = append(loose, step{0, false, indices(4, looseParts)})
	schema := buildSchema(t, encodedWith(5, 32, true, fieldOf(t, "c", str)))
	for name, steps := range map[string][]step{"chains": steps, "loose": loose} {
		for _, o := range []IngestOptions{
			{Codec: compress.None}, {Codec: compress.Zstd}, {Codec: compress.Zstd, DecodeDictionaries: true},
		} {
			s := newStore(t, Options{Workers: 2})
			once := func() ([]*Batch, error) {
				o.Claim = s.PutClaim(context.Background())
				defer o.Claim.End()
				return send(t, s, schema, o, steps...)
			}
			refusing(t, s, fmt.Sprintf("%s, %+v", name, o), func() error {
				batches, err := once()
				releaseAll(batches)
				return err
			})
			batches, err := once()
			if err != nil {
				t.Fatal(err)
			}
			if !o.DecodeDictionaries {
				readings(t, s, schema, batches)
			}
			releaseAll(batches)
			noDictionaries(t, s)
		}
	}
}
