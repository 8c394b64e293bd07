package batchstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// TestUnionsOfV4 puts batches and dictionaries of metadata version V4, whose unions have a validity buffer, empty or not,
// and reads what the same batches of V5 give: by our own reading and by arrow-go's.
func TestUnionsOfV4(t *testing.T) {
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
	nested := structOf(vstr, unionOf(arrow.SparseMode, vstr, unionOf(arrow.DenseMode, i8, vstr)), str)
	for name, dt := range map[string]arrow.DataType{
		"sparse": unionOf(arrow.SparseMode, i32, str), "dense": unionOf(arrow.DenseMode, i32, vstr),
		"none": structOf(str, vstr), "nested": nested, "in a list": arrow.ListOf(nested),
		"in run ends": arrow.RunEndEncodedOf(i32, unionOf(arrow.SparseMode, boolean)),
	} {
		r := seeded(t)
		values := fieldOf(t, "values", dt)
		schema := buildSchema(t, fieldOf(t, "u", dt), encodedWith(1, 16, true, values), fieldOf(t, "z", vstr))
		m := newDictModel(t, r, schema)
		for range 12 {
			m.sent, m.states = nil, make([]*dictState, 1)
			s := newStore(t, Options{JoinBelow: int64(1 + r.IntN(4096))})
			in := begin(t, s, schema, IngestOptions{Codec: codecs[r.IntN(3)], KeepArriving: true})
			d := m.values(0, 1+r.Int64N(9))
			clearUnionNulls(d, schema.Layout.Dictionaries[0].Values.Columns)
			m.set(0, false, d)
			bitmaps := r.IntN(2) == 0
			message, raw := s.dictionaryMessage(t, 1, false, withUnionBitmaps(schema.Layout.Dictionaries[0].Values, d, bitmaps), m.codec())
			message.Version = arrowipc.VersionV4
			if err := in.AddDictionary(context.Background(), message, body(t, s, raw)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for range 1 + r.IntN(3) {
				b := randomPlain(r, schema.Layout, r.Int64N(90))
				clearUnionNulls(b, schema.Layout.Columns) // in V4 they count
				putIndices(r, b, m.leaves, m.limits())
				m.sent = append(m.sent, sentBatch{b, dictStates{1: m.states[0]}})
				message, raw := s.message(t, withUnionBitmaps(schema.Layout, b, bitmaps), m.codec())
				message.Version = arrowipc.VersionV4
				if err := in.Add(context.Background(), message, body(t, s, raw)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			batches, err := in.Finish(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			p := allOf(t, schema)
			got, _ := readAll(t, s, schema.Layout, p, ReadOptions{Encode: compress.None}, batches, math.MaxInt64)
			if want := m.oracle(p, false); !slices.Equal(got, want) {
				t.Fatalf("%s:\n got %s\nwant %s", name, got, want)
			}
			whole, err := schema.Project([]arrowipc.Pick{{Ordinal: 0}, {Ordinal: 2}})
			if err != nil {
				t.Fatal(err)
			}
			if rows := arrowRows(t, arrowStream(t, s, schema, whole, ReadOptions{Encode: compress.None}, batches)); len(rows) != len(got) {
				t.Errorf("%s: arrow-go reads %d rows of %d", name, len(rows), len(got))
			}
			releaseAll(batches)
		}
	}
}

// clearUnionNulls says of unions that they have no nulls.
func clearUnionNulls(b *plainBatch, columns []*arrowipc.Column) {
	for _, c := range columns {
		if c.Kind == arrowipc.KindSparseUnion || c.Kind == arrowipc.KindDenseUnion || c.Kind == arrowipc.KindRunEnd {
			b.nodes[c.Node0].Nulls = 0
		}
		clearUnionNulls(b, c.Children)
	}
}

// TestRefusedUnionsOfV4 has unions with nulls of their own, and batches that lack the buffers of one version or the other.
func TestRefusedUnionsOfV4(t *testing.T) {
	schema := schemaOf(t, i32, structOf(unionOf(arrow.SparseMode, i32)))
	union := schema.Layout.Columns[1].Children[0]
	batch := func() *plainBatch {
		b := &plainBatch{rows: 2, nodes: nodes(2, 2, 2, 2), bufs: [][]byte{nil, ints(4, 1, 2), nil, {1, 1}, nil, ints(4, 3, 4)}}
		return b
	}
	nulls := batch()
	nulls.nodes[union.Node0].Nulls = 1
	for name, x := range map[string]struct {
		b       *plainBatch
		old     bool
		version int16
		want    error
		says    string
	}{
		"nulls":                  {withUnionBitmaps(schema.Layout, nulls, true), true, arrowipc.VersionV4, arrowipc.ErrUnsupported, `record batch 0: unsupported Arrow IPC message: record batch: column "c1.f0": 1 nulls`},
		"nulls in V5":            {nulls, false, 4, nil, ""},
		"no bitmap in V4":        {batch(), false, arrowipc.VersionV4, arrowipc.ErrMalformed, "6 buffers"},
		"bitmap in V5":           {withUnionBitmaps(schema.Layout, batch(), false), true, 4, ErrInvalidBatch, "7 buffers"},
		"bitmap in V4":           {withUnionBitmaps(schema.Layout, batch(), true), true, arrowipc.VersionV4, nil, ""},
		"V4 without unions' own": {withUnionBitmaps(schema.Layout, batch(), false), true, arrowipc.VersionV4, nil, ""},
	} {
		s := newStore(t, Options{})
		in := begin(t, s, schema, IngestOptions{Codec: compress.None})
		m, raw := s.message(t, x.b, compress.None)
		m.Version = x.version
		err := in.Add(context.Background(), m, body(t, s, raw))
		if !errors.Is(err, x.want) || (err == nil) != (x.want == nil) || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
		in.Abort()
	}
}

// TestShapesAtTheEdge puts what is legal and rare: lists of size zero, five thousand columns, and errors in them that
// have to say where.
func TestShapesAtTheEdge(t *testing.T) {
	s := newStore(t, Options{})
	nothing := func(dt arrow.DataType) *arrowipc.Field { // arrow-go does not make them
		return &arrowipc.Field{Name: "f", Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeFixedSizeList}, Children: []*arrowipc.Field{fieldOf(t, "item", dt)}}
	}
	empty := buildSchema(t, nothing(i32), nothing(arrow.ListOf(str)), encodedWith(1, 8, true, nothing(str)))
	m := newDictModel(t, seeded(t), empty)
	in := begin(t, s, empty, IngestOptions{Codec: compress.Zstd})
	m.run(in)
	m.run(in)
	batches, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, decode := range []func(int64) bool{nil, func(int64) bool { return true }} {
		rows, _ := readAll(t, s, empty.Layout, allOf(t, empty), ReadOptions{Encode: compress.None, Decode: decode}, batches, math.MaxInt64)
		if want := m.oracle(allOf(t, empty), decode != nil); !slices.Equal(rows, want) {
			t.Errorf("lists of nothing read as %q, want %q", rows, want)
		}
	}
	releaseAll(batches)

	var types []arrow.DataType
	for range 5000 {
		types = append(types, &arrow.DictionaryType{IndexType: i8, ValueType: str})
	}
	wide := schemaOf(t, types...)
	in = begin(t, s, wide, IngestOptions{Codec: compress.None})
	defer in.Abort()
	for _, d := range wide.Layout.Dictionaries {
		if err := addDictionary(t, in, d.ID, false, texts("a"), compress.None); err != nil {
			t.Fatal(err)
		}
	}
	b := &plainBatch{rows: 1}
	for i := range 5000 {
		b.nodes = append(b.nodes, arrowipc.FieldNode{Length: 1})
		b.bufs = append(b.bufs, nil, []byte{byte(i / 4321 % 2 * 3)})
	}
	if err := addBatch(t, in, b, compress.None); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Finish(context.Background()); !errors.Is(err, ErrInvalidBatch) || !strings.Contains(err.Error(), `column "c4321": index 3 at row 0, where dictionary`) {
		t.Errorf("%v", err)
	}
}
