package batchstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// numbers is a dictionary of n int64.
func numbers(n int64) *plainBatch {
	v := make([]int64, n)
	for i := range v {
		v[i] = 7 * int64(i)
	}
	return &plainBatch{rows: n, nodes: nodes(n), bufs: [][]byte{nil, ints(8, v...)}}
}

// spread is an index column over n different values of so many, with some used twice.
func spread(n, of int64) []int64 {
	var out []int64
	for i := range n {
		out = append(out, i*(of/n))
	}
	return append(out, out[:n/3]...)
}

// TestCompaction puts dictionaries of which little is used, at and around the bounds from which that counts.
func TestCompaction(t *testing.T) {
	plain := func() *arrowipc.Schema { return buildSchema(t, encodedWith(1, 32, true, fieldOf(t, "a", i64))) }
	ordered := plain()
	f := *ordered.Fields[0]
	f.Dictionary = &arrowipc.Dictionary{ID: 1, IndexBits: 32, Signed: true, Ordered: true}
	ordered = buildSchema(t, &f)
	const most = compactBytes / 8 // values in a dictionary that is not worth it
	for _, x := range []struct {
		name   string
		schema *arrowipc.Schema
		o      IngestOptions
		values int64
		used   int64
		want   int64 // values kept
	}{
		{"too small", plain(), IngestOptions{}, most, 1, most},
		{"just large enough", plain(), IngestOptions{}, most + 8, 1, 1},
		{"nothing used", plain(), IngestOptions{}, most + 8, 0, 0},
		{"an eighth", plain(), IngestOptions{}, 16000, 2000, 16000},
		{"one less", plain(), IngestOptions{}, 16000, 1999, 1999},
		{"an eighth of an odd number", plain(), IngestOptions{}, 16001, 2000, 2000},
		{"an eighth and a bit", plain(), IngestOptions{}, 16007, 2001, 16007},
		{"ordered", ordered, IngestOptions{}, 16000, 1, 16000},
		{"kept batches", plain(), IngestOptions{KeepBatches: true}, 16000, 1, 16000},
	} {
		for _, c := range []compress.Codec{compress.None, compress.LZ4, compress.Zstd} {
			x.o.Codec = c
			s := newStore(t, Options{})
			want := spread(x.used, x.values)
			batch := indices(4, want...)
			if x.used == 0 {
				batch = allNull(indices(4, 5, 6))
			}
			batches, err := send(t, s, x.schema, x.o, step{1, false, numbers(x.values)}, step{0, false, batch})
			if err != nil {
				t.Fatal(err)
			}
			if got := batches[0].dicts[0].values.Rows(); got != x.want {
				t.Errorf("%s, %v: %d values are kept, want %d", x.name, c, got, x.want)
			}
			rows, _ := readAll(t, s, x.schema.Layout, allOf(t, x.schema), ReadOptions{}, batches, math.MaxInt64)
			for i, k := range want {
				if text := fmt.Sprintf("%x|", ints(8, 7*k)); rows[i] != text {
					t.Errorf("%s, %v: row %d is %s, want %s", x.name, c, i, rows[i], text)
					break
				}
			}
			releaseAll(batches)
			noDictionaries(t, s)
		}
	}
}

// TestNestedIsNotCompacted keeps all values that another dictionary's values may refer to.
func TestNestedIsNotCompacted(t *testing.T) {
	schema := buildSchema(t, encodedWith(1, 8, true, &arrowipc.Field{
		Name: "outer", Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{encodedWith(2, 32, true, fieldOf(t, "item", i64))},
	}))
	s := newStore(t, Options{})
	outer := &plainBatch{rows: 1, nodes: nodes(1, 1), bufs: [][]byte{nil, nil, ints(4, 15_999)}}
	batches, err := send(t, s, schema, IngestOptions{Codec: compress.Zstd}, step{2, false, numbers(16_000)}, step{1, false, outer}, step{0, false, indices(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 1)
	if want := fmt.Sprintf(".%x|", ints(8, 7*15_999)); rows[0] != want || batches[0].dicts[0].values.Rows() != 16_000 {
		t.Errorf("got %s, want %s", rows[0], want)
	}
	releaseAll(batches)
}

// TestCompactionOfMany compacts several dictionaries in batches of all kinds: cut, joined, kept as they came under
// another codec, with nulls, before and after a dictionary has grown over the bound, several columns of one dictionary.
func TestCompactionOfMany(t *testing.T) {
	r := seeded(t)
	rounds := 6
	if underRace {
		rounds = 2
	}
	for range rounds {
		list := &arrowipc.Field{Name: "l", Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeList}, Children: []*arrowipc.Field{
			encodedWith(2, 32, false, fieldOf(t, "item", vstr)),
		}}
		schema := buildSchema(t, fieldOf(t, "v", vstr), encodedWith(1, 16, false, fieldOf(t, "a", i64)), list, encodedWith(1, 64, true, fieldOf(t, "b", i64)), fieldOf(t, "z", str))
		m := newDictModel(t, r, schema)
		s := newStore(t, Options{MaxMessage: 64 << 10, MaxBatchRows: 500, JoinBelow: 4 << 10})
		in := begin(t, s, schema, IngestOptions{Codec: m.codec(), KeepArriving: true})
		few := []int64{40, 40} // of the many values
		for round := range 5 {
			for i := range m.states {
				b := m.values(i, []int64{50, 30_000}[min(round, 1)]/int64(1+9*(round/2)))
				id, delta := schema.Layout.Dictionaries[i].ID, round > 0
				m.set(i, delta, b)
				if err := addDictionary(t, in, id, delta, b, m.codec()); err != nil {
					t.Fatal(err)
				}
			}
			for range 6 {
				b := randomPlain(r, schema.Layout, []int64{3, 100, 1200}[r.IntN(3)])
				putIndices(r, b, m.leaves, few)
				states := dictStates{}
				for i, x := range m.states {
					states[schema.Layout.Dictionaries[i].ID] = x
				}
				m.sent = append(m.sent, sentBatch{b, states})
				if err := addBatch(t, in, b, m.codec()); err != nil {
					t.Fatal(err)
				}
			}
			few = []int64{40 + r.Int64N(200), 40 + r.Int64N(200)}
		}
		batches, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range batches[0].dicts {
			if n := d.values.Rows(); n == 0 || n > 240 {
				t.Errorf("dictionary %d keeps %d values", i, n)
			}
		}
		p := allOf(t, schema)
		got, dictionaries := readAll(t, s, schema.Layout, p, ReadOptions{}, batches, math.MaxInt64)
		if want := m.oracle(p, false); !slices.Equal(got, want) || dictionaries != 2 {
			t.Errorf("%d rows, want %d; %d dictionaries", len(got), len(want), dictionaries)
		}
		releaseAll(batches)
		noDictionaries(t, s)
	}
}

// TestSmallSlice puts a few rows of a table with a large dictionary, as a client does that slices a table: what is stored
// is small.
func TestSmallSlice(t *testing.T) {
	schema := buildSchema(t, encodedWith(1, 32, true, fieldOf(t, "city", str)))
	r := rand.New(rand.NewPCG(1, 1))
	var values []string
	for i := range 50_000 {
		values = append(values, fmt.Sprintf("%s %d", strings.Repeat(string(rune('a'+r.IntN(26))), 20), i))
	}
	s := newStore(t, Options{})
	batches, err := send(t, s, schema, IngestOptions{Codec: compress.None}, step{1, false, texts(values...)}, step{0, false, indices(4, 49_999, 3, 3, 17)})
	if err != nil {
		t.Fatal(err)
	}
	if n := batches[0].StoredBytes() + batches[0].dicts[0].StoredBytes(); n > 512 {
		t.Errorf("4 rows take %d bytes", n)
	}
	rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 4)
	if want := fmt.Sprintf("[%q| %q| %q| %q|]", values[49_999], values[3], values[3], values[17]); fmt.Sprint(rows) != want {
		t.Errorf("got %s, want %s", rows, want)
	}
	releaseAll(batches)
}

func TestRanks(t *testing.T) {
	r := seeded(t)
	words := make([]uint64, 40)
	for range 300 {
		k := r.IntN(64 * 40)
		words[k/64] |= 1 << (k % 64)
	}
	ranks, n := newRanks(words), int64(0)
	for k := range int64(64 * 40) {
		if got := ranks.of(k); got != n {
			t.Fatalf("%d ones before %d, want %d", got, k, n)
		}
		n += int64(words[k/64] >> (k % 64) & 1)
	}
}
