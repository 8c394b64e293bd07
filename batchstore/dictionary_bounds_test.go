package batchstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// TestStagedDictionaries sends the same dictionary, and one that grows, again and again: what is staged does not add up.
func TestStagedDictionaries(t *testing.T) {
	schema := buildSchema(t, encodedWith(1, 32, true, fieldOf(t, "a", str)))
	s := newStore(t, Options{})
	in := begin(t, s, schema, IngestOptions{Codec: compress.None})
	var values []string
	for i := range 500 {
		if i%2 == 0 {
			values = append(values, fmt.Sprintf("%01000d", i))
		}
		if err := addDictionary(t, in, 1, false, texts(values...), compress.None); err != nil {
			t.Fatal(err)
		}
		if err := addBatch(t, in, indices(4, int64(len(values)-1)), compress.None); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats().Charged; got > 2<<20 {
		t.Errorf("%d bytes are staged of a dictionary of %d", got, 250*1000)
	}
	batches, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(batches) != 1 || len(batches[0].dicts) != 1 || batches[0].dicts[0].values.Rows() != 250 {
		t.Errorf("%d batches", len(batches))
	}
	rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 1000)
	if len(rows) != 500 || rows[499] != fmt.Sprintf("%q|", values[249]) || rows[0] != fmt.Sprintf("%q|", values[0]) {
		t.Errorf("%d rows", len(rows))
	}
	releaseAll(batches)
}

// TestDecodingIsBounded has dictionaries that would become very large when their values are written out.
func TestDecodingIsBounded(t *testing.T) {
	all := func(int64) bool { return true }
	o := Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxDecoded: 8 << 20}
	text := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "a", str)))
	list := buildSchema(t, &arrowipc.Field{Name: "l", Type: arrowipc.Type{ID: arrowipc.TypeList}, Children: []*arrowipc.Field{
		encodedWith(1, 8, true, fieldOf(t, "item", str)),
	}})
	long := strings.Repeat("x", 10_000)
	many := indices(1, make([]int64, 2000)...)
	lists := func(n int64) *plainBatch {
		return &plainBatch{rows: 1, nodes: nodes(1, n), bufs: [][]byte{nil, ints(4, 0, n), nil, make([]byte, n)}}
	}
	for _, x := range []struct {
		name      string
		schema    *arrowipc.Schema
		batch     *plainBatch
		put, read error
	}{
		{"many rows", text, many, ErrTooLarge, nil}, // 20 MB: a read makes them message by message
		{"few rows", text, indices(1, make([]int64, 500)...), nil, nil},
		{"one row", list, lists(500), nil, nil},
		{"one large row", list, lists(2000), ErrTooLarge, ErrTooLarge},
		{"one row of many values", list, lists(maxPieces + 1), ErrTooLarge, ErrTooLarge},
	} {
		s := newStore(t, o)
		steps := []step{{1, false, texts(long)}, {0, false, x.batch}}
		batches, err := send(t, s, x.schema, IngestOptions{Codec: compress.Zstd, DecodeDictionaries: true}, steps...)
		if !errors.Is(err, x.put) || (err == nil) != (x.put == nil) {
			t.Errorf("%s: decoded at put: %v", x.name, err)
		}
		releaseAll(batches)
		batches, err = send(t, s, x.schema, IngestOptions{Codec: compress.Zstd}, steps...)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		forms := []ReadOptions{
			{Decode: all, Encode: compress.None, MaxMessage: 256 << 10}, {Decode: all, Encode: compress.None}, {Decode: all, Encode: compress.Zstd},
		}
		if underRace {
			forms = forms[:1]
		}
		for _, ro := range forms {
			r := s.Reader(x.schema.Layout, allOf(t, x.schema), ro)
			rows := int64(0)
			err := r.Read(batches[0], math.MaxInt64, func(m *Message) error {
				if m.BodyLength > 256<<10 && m.Rows > 1 {
					t.Errorf("%s: a message of %d bytes", x.name, m.BodyLength)
				}
				rows += m.Rows
				return nil
			})
			if !errors.Is(err, x.read) || (err == nil) != (x.read == nil) || err == nil && rows != x.batch.rows {
				t.Errorf("%s, %+v: %d rows, %v", x.name, ro, rows, err)
			}
			r.Close()
		}
		releaseAll(batches)
		noDictionaries(t, s)
	}
}

// TestHugeNulls has value types of which a null is large, or impossible: fixed-size lists, and unions of nothing. Kept,
// nothing is made of it.
func TestHugeNulls(t *testing.T) {
	all := func(int64) bool { return true }
	inner := arrow.FixedSizeListOf(math.MaxInt32, i64)
	for _, x := range []struct {
		name   string
		values arrow.DataType
		want   error
	}{
		{"fixed list", inner, ErrTooLarge},
		{"fixed list of fixed lists", arrow.FixedSizeListOf(math.MaxInt32, arrow.FixedSizeListOf(math.MaxInt32, inner)), ErrTooLarge},
		{"fixed list of nothing", arrow.FixedSizeListOf(math.MaxInt32, arrow.Null), ErrTooLarge},
		{"struct of wide binary", structOf(&arrow.FixedSizeBinaryType{ByteWidth: math.MaxInt32}), ErrTooLarge},
		{"list of fixed lists", arrow.ListOf(inner), nil},
		{"fixed list of 1536", arrow.FixedSizeListOf(1536, arrow.PrimitiveTypes.Float32), nil},
		{"dense union of nothing", unionOf(arrow.DenseMode), ErrInvalidBatch},
		{"sparse union of nothing", unionOf(arrow.SparseMode), ErrInvalidBatch},
		{"run ends of int16 in a list", arrow.FixedSizeListOf(40_000, arrow.RunEndEncodedOf(i16, i8)), ErrTooLarge},
		{"run ends of int16", arrow.FixedSizeListOf(30_000, arrow.RunEndEncodedOf(i16, i8)), nil},
	} {
		s := newStore(t, Options{})
		schema := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "a", x.values)))
		empty := concat(t, schema.Layout.Dictionaries[0].Values, nil)
		steps := []step{{1, false, empty}, {0, false, allNull(indices(1, 0, 0))}}
		batches, err := send(t, s, schema, IngestOptions{Codec: compress.None}, steps...)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 9); !slices.Equal(rows, []string{"-|", "-|"}) {
			t.Errorf("%s: %q", x.name, rows)
		}
		r := s.Reader(schema.Layout, allOf(t, schema), ReadOptions{Decode: all})
		err = r.Read(batches[0], 9, func(*Message) error { return nil })
		r.Close()
		if !errors.Is(err, x.want) || (err == nil) != (x.want == nil) || err != nil && !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: decoded at read: %v", x.name, err)
		}
		releaseAll(batches)
		batches, err = send(t, s, schema, IngestOptions{Codec: compress.None, DecodeDictionaries: true}, steps...)
		if !errors.Is(err, x.want) || (err == nil) != (x.want == nil) {
			t.Errorf("%s: decoded at put: %v", x.name, err)
		}
		releaseAll(batches)
	}
}

// TestValuesWithoutBytes has dictionaries of very many values in few bytes: nothing is made in proportion to them.
func TestValuesWithoutBytes(t *testing.T) {
	const runs = 20_000
	var ends []int64
	for i := range int64(runs) {
		ends = append(ends, i+1)
	}
	ends[runs-1] = MaxRows
	for name, x := range map[string]struct {
		dt     arrow.DataType
		values *plainBatch
	}{
		"null": {arrow.Null, &plainBatch{rows: MaxRows, nodes: nodes(MaxRows)}},
		"run ends": {arrow.RunEndEncodedOf(i32, i32), &plainBatch{
			rows: MaxRows, nodes: nodes(MaxRows, runs, runs), bufs: [][]byte{nil, ints(4, ends...), nil, make([]byte, 4*runs)},
		}},
	} {
		s := newStore(t, Options{})
		schema := buildSchema(t, encodedWith(1, 64, false, fieldOf(t, "a", x.dt)))
		batches, err := send(t, s, schema, IngestOptions{Codec: compress.None},
			step{1, false, x.values}, step{0, false, indices(8, 0, MaxRows-1)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := batches[0].dicts[0].values.Rows(); got != MaxRows {
			t.Errorf("%s: %d values", name, got)
		}
		if n := s.Stats().Charged; n > 1<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
		releaseAll(batches)
		_, err = send(t, s, schema, IngestOptions{Codec: compress.None}, step{1, false, x.values}, step{1, true, x.values})
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: twice as many: %v", name, err)
		}
	}
}

// TestManyDeltas sends a delta for every value, with batches between them, some of views and of types without bytes: the
// parts are put together on the way, also of a dictionary that goes on as its own after a nested one was replaced.
func TestManyDeltas(t *testing.T) {
	r := seeded(t)
	for _, dt := range []arrow.DataType{str, vstr, arrow.Null, arrow.ListViewOf(i16), unionOf(arrow.DenseMode, i8, vstr)} {
		for _, decode := range []bool{false, true} {
			schema := buildSchema(t, encodedWith(1, 32, true, fieldOf(t, "a", dt)), encodedWith(3, 32, true, &arrowipc.Field{
				Name: "o", Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{encodedWith(2, 32, true, fieldOf(t, "item", dt))},
			}))
			s := newStore(t, Options{JoinBelow: 1 << 10})
			m := newDictModel(t, r, schema)
			in := begin(t, s, schema, IngestOptions{Codec: compress.None, DecodeDictionaries: decode})
			most := 0
			for n := range 1500 {
				for i, d := range schema.Layout.Dictionaries {
					delta := n > 0 && !(n == 700 && d.ID == 2)
					b := m.values(i, 1)
					if !delta {
						b = m.values(i, 800+int64(n)) // as many as others need
					}
					m.set(i, delta, b)
					if err := addDictionary(t, in, d.ID, delta, b, compress.None); err != nil {
						t.Fatal(err)
					}
					most = max(most, len(in.dicts.current[i].values.parts))
				}
				if n%50 == 0 {
					b := randomPlain(r, schema.Layout, 20)
					putIndices(r, b, m.leaves, m.limits())
					states := dictStates{}
					for i, x := range m.states {
						states[schema.Layout.Dictionaries[i].ID] = x
					}
					m.sent = append(m.sent, sentBatch{b, states})
					if err := addBatch(t, in, b, compress.None); err != nil {
						t.Fatal(err)
					}
				}
			}
			if most > looseParts+1500/looseParts+2 {
				t.Errorf("%v: up to %d parts", dt, most)
			}
			batches, err := in.Finish(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			stored := in.Schema()
			got, _ := readAll(t, s, stored.Layout, allOf(t, stored), ReadOptions{Encode: compress.None}, batches, math.MaxInt64)
			if want := m.oracle(allOf(t, schema), decode); !slices.Equal(got, want) {
				t.Errorf("%v: %d rows, want %d", dt, len(got), len(want))
			}
			releaseAll(batches)
			noDictionaries(t, s)
		}
	}
}
