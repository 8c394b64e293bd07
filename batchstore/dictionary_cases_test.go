package batchstore

import (
	"bytes"
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

// texts is a batch of one string column.
func texts(values ...string) *plainBatch {
	offsets, data := ints(4, 0), []byte{}
	for _, v := range values {
		data = append(data, v...)
		offsets = append(offsets, ints(4, int64(len(data)))...)
	}
	return &plainBatch{rows: int64(len(values)), nodes: nodes(int64(len(values))), bufs: [][]byte{nil, offsets, data}}
}

// indices is a batch of one column of indices of width bytes, none of them null.
func indices(width int64, values ...int64) *plainBatch {
	n := int64(len(values))
	b := make([]byte, n*width)
	for i, v := range values {
		if width == 1 {
			b[i] = byte(v)
		} else {
			putInt(b, width, int64(i), v)
		}
	}
	return &plainBatch{rows: n, nodes: nodes(n), bufs: [][]byte{nil, b}}
}

// allNull makes every slot of a batch of one column null.
func allNull(b *plainBatch) *plainBatch {
	b.nodes[0].Nulls = b.rows
	b.bufs[0] = make([]byte, bitBytes(b.rows))
	return b
}

// step is one message into an ingest.
type step struct {
	id    int64 // of a dictionary; 0 is a record batch
	delta bool
	b     *plainBatch
}

// send runs steps and gives the batches, or the first error.
func send(t testing.TB, s *Store, schema *arrowipc.Schema, o IngestOptions, steps ...step) ([]*Batch, error) {
	t.Helper()
	in := begin(t, s, schema, o)
	defer in.Abort()
	for _, x := range steps {
		var err error
		if x.id == 0 {
			err = addBatch(t, in, x.b, compress.None)
		} else {
			err = addDictionary(t, in, x.id, x.delta, x.b, compress.None)
		}
		if err != nil {
			return nil, err
		}
	}
	return in.Finish(context.Background())
}

// TestRefusedDictionaries has what clients get wrong, or right in an unusual way. Each is tried with dictionaries kept and
// decoded.
func TestRefusedDictionaries(t *testing.T) {
	column := func(bits int, signed bool) *arrowipc.Schema {
		return buildSchema(t, encodedWith(5, bits, signed, fieldOf(t, "c", str)))
	}
	nested := buildSchema(t, encodedWith(1, 8, true, &arrowipc.Field{
		Name: "outer", Type: arrowipc.Type{ID: arrowipc.TypeList}, Children: []*arrowipc.Field{encodedWith(2, 8, true, fieldOf(t, "item", str))},
	}))
	// lists is a dictionary of lists of one index each.
	lists := func(values ...int64) *plainBatch {
		offsets := ints(4, 0)
		for i := range values {
			offsets = append(offsets, ints(4, int64(i+1))...)
		}
		n := int64(len(values))
		return &plainBatch{rows: n, nodes: nodes(n, n), bufs: [][]byte{nil, offsets, nil, indices(1, values...).bufs[1]}}
	}
	garbage := indices(4, 0, math.MinInt32)
	garbage.nodes[0].Nulls, garbage.bufs[0] = 1, []byte{0xFD}
	deep := buildSchema(t, fieldOf(t, "x", i32), &arrowipc.Field{Name: "s", Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{
		encodedWith(5, 32, true, fieldOf(t, "c", str)),
	}})
	for _, x := range []struct {
		name   string
		schema *arrowipc.Schema
		steps  []step
		says   string // "": it is accepted
	}{
		{"unknown id", column(8, true), []step{{6, false, texts("a")}}, "id 6: invalid record batch: no column"},
		{"no dictionaries at all", buildSchema(t, fieldOf(t, "c", str)), []step{{6, false, texts("a")}}, "no column"},
		{"delta first", column(8, true), []step{{5, true, texts("a")}}, "has not come"},
		{"delta after nulls", column(8, true), []step{{0, false, allNull(indices(1, 0))}, {5, true, texts("a")}}, "has not come"},
		{"missing", column(8, true), []step{{0, false, indices(1, 0)}}, `record batch 0: invalid record batch: column "c": index 0 at row 0, where dictionary 5 has 0 values`},
		{"missing, all null", column(8, true), []step{{0, false, allNull(indices(1, 0, 99))}}, ""},
		{"missing, no rows", column(8, true), []step{{0, false, indices(1)}}, ""},
		{"after nulls", column(8, true), []step{{0, false, allNull(indices(1, 9))}, {5, false, texts("a")}, {5, true, texts("b")}, {0, false, indices(1, 0, 1)}}, ""},
		{"empty", column(8, true), []step{{5, false, texts()}, {0, false, allNull(indices(1, 0))}, {5, true, texts("a")}, {0, false, indices(1, 0)}}, ""},
		{"empty delta", column(8, true), []step{{5, false, texts("a")}, {5, true, texts()}, {0, false, indices(1, 0)}}, ""},
		{"empty, with an index", column(8, true), []step{{5, false, texts()}, {0, false, indices(1, 0)}}, "0 values"},
		{"int8 one too much", column(8, true), []step{{5, false, texts("a", "b")}, {0, false, indices(1, 0, 2)}}, `column "c": index 2 at row 1, where dictionary 5 has 2 values`},
		{"int8 negative", column(8, true), []step{{5, false, texts("a", "b")}, {0, false, indices(1, -1)}}, "index -1 at row 0"},
		{"uint8 high", column(8, false), []step{{5, false, texts("a", "b")}, {0, false, indices(1, 255)}}, "index 255"},
		{"int16 negative", column(16, true), []step{{5, false, texts("a")}, {0, false, indices(2, -2)}}, "index -2"},
		{"uint16 high", column(16, false), []step{{5, false, texts("a")}, {0, false, indices(2, 65535)}}, "index 65535"},
		{"int32 negative", column(32, true), []step{{5, false, texts("a")}, {0, false, indices(4, math.MinInt32)}}, "index -2147483648"},
		{"uint32 high", column(32, false), []step{{5, false, texts("a")}, {0, false, indices(4, math.MaxUint32)}}, "index 4294967295"},
		{"int64 high", column(64, true), []step{{5, false, texts("a")}, {0, false, indices(8, math.MaxInt64)}}, "index 9223372036854775807"},
		{"uint64 beyond int64", column(64, false), []step{{5, false, texts("a")}, {0, false, indices(8, -1)}}, "index 18446744073709551615"},
		{"garbage in a null slot", column(32, true), []step{{5, false, texts("a")}, {0, false, garbage}}, ""},
		{"before the delta", column(8, true), []step{{5, false, texts("a")}, {0, false, indices(1, 1)}, {5, true, texts("b")}}, "has 1 values"},
		{"before the extension", column(8, true), []step{{5, false, texts("a")}, {0, false, indices(1, 1)}, {5, false, texts("a", "b")}}, "has 1 values"},
		{"after the delta", column(8, true), []step{{5, false, texts("a")}, {0, false, indices(1, 0)}, {5, true, texts("b")}, {0, false, indices(1, 1)}}, ""},
		{"of the replaced", column(8, true), []step{{5, false, texts("a", "b")}, {5, false, texts("c")}, {0, false, indices(1, 1)}}, "has 1 values"},
		{"below a struct", deep, []step{{5, false, texts("a")}, {0, false, &plainBatch{
			rows: 1, nodes: nodes(1, 1, 1), bufs: [][]byte{nil, ints(4, 0), nil, nil, ints(4, 7)},
		}}}, `column "s.c": index 7`},
		{"values that contradict themselves", column(8, true), []step{{5, false, &plainBatch{
			rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 0, 9), []byte("a")},
		}}}, `dictionary batch of id 5: invalid record batch: column "c"`},
		{"nested before", nested, []step{{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)}}, ""},
		{"nested after", nested, []step{{1, false, lists(0)}, {2, false, texts("a")}, {0, false, indices(1, 0)}}, ""},
		{"nested missing", nested, []step{{1, false, lists(0)}, {0, false, indices(1, 0)}}, "the values of dictionary 1 need 1 values of dictionary 2, which has 0"},
		{"nested negative", nested, []step{{2, false, texts("a")}, {1, false, lists(-1)}}, `column "outer.item": index -1 at row 0, where dictionary 2 has no such place`},
		{"nested grows", nested, []step{
			{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)}, {2, true, texts("b")}, {1, true, lists(1)}, {0, false, indices(1, 1)},
		}, ""},
		{"nested is replaced", nested, []step{
			{2, false, texts("a", "b")}, {1, false, lists(1)}, {0, false, indices(1, 0)}, {2, false, texts("c", "d")}, {0, false, indices(1, 0)},
		}, ""},
		{"nested is replaced by too few", nested, []step{
			{2, false, texts("a", "b")}, {1, false, lists(1)}, {0, false, indices(1, 0)}, {2, false, texts("c")}, {0, false, indices(1, 0)},
		}, "record batch 1: invalid record batch: the values of dictionary 1 need 2 values of dictionary 2, which has 1"},
		{"both are replaced", nested, []step{
			{2, false, texts("a", "b")}, {1, false, lists(1)}, {0, false, indices(1, 0)}, {2, false, texts("c")}, {1, false, lists(0)}, {0, false, indices(1, 0)},
		}, ""},
		{"the outer grows too far after the last batch", nested, []step{
			{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)}, {1, true, lists(5)},
		}, ""},
		{"the outer comes after nulls, too far", nested, []step{{0, false, allNull(indices(1, 0))}, {1, false, lists(5)}}, ""},
		{"the outer grows too far for what is then replaced", nested, []step{
			{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)}, {1, true, lists(1)}, {2, false, texts("b", "c")}, {0, false, indices(1, 1)},
		}, ""},
		{"both are replaced, extending the outer", nested, []step{
			{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)}, {2, false, texts("c", "d")}, {1, false, lists(0, 1)}, {0, false, indices(1, 1)},
		}, ""},
	} {
		for _, decode := range []bool{false, true} {
			s := newStore(t, Options{})
			batches, err := send(t, s, x.schema, IngestOptions{Codec: compress.None, DecodeDictionaries: decode}, x.steps...)
			switch {
			case x.says == "" && err != nil:
				t.Errorf("%s: %v", x.name, err)
			case x.says != "" && (!errors.Is(err, ErrInvalidBatch) || !strings.Contains(err.Error(), x.says)):
				t.Errorf("%s: got %v, want %s", x.name, err, x.says)
			}
			if err == nil && !decode { // and a client, which checks what it gets
				readAll(t, s, x.schema.Layout, allOf(t, x.schema), ReadOptions{}, batches, math.MaxInt64)
				readAll(t, s, x.schema.Layout, allOf(t, x.schema), ReadOptions{Decode: func(int64) bool { return true }}, batches, math.MaxInt64)
			}
			releaseAll(batches)
			noDictionaries(t, s)
		}
	}
}

// TestDictionaryMessages counts what is sent: each dictionary before the first batch that needs it, only for chosen
// columns, and again only when another one takes its place.
func TestDictionaryMessages(t *testing.T) {
	schema := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "a", str)), encodedWith(2, 8, true, fieldOf(t, "b", str)), fieldOf(t, "c", i32))
	row := func(a, b int64) step {
		return step{b: &plainBatch{rows: 1, nodes: nodes(1, 1, 1), bufs: [][]byte{nil, {byte(a)}, nil, {byte(b)}, nil, ints(4, 0)}}}
	}
	s := newStore(t, Options{})
	batches, err := send(t, s, schema, IngestOptions{Codec: compress.None, KeepBatches: true},
		step{1, false, texts("a")}, step{2, false, texts("x", "y")}, row(0, 0), row(0, 1),
		step{1, true, texts("b")}, row(1, 1), step{1, false, texts("a", "b", "c")}, row(2, 0), step{1, false, texts("a", "b", "c")}, row(2, 0),
		step{2, false, texts("z")}, row(2, 0), step{2, false, texts("x", "y")}, row(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(batches) != 7 {
		t.Fatalf("%d batches", len(batches))
	}
	for _, x := range []struct {
		columns []int
		want    int
		first   string
	}{
		{[]int{0, 1, 2}, 4, `"a"|"x"|00000000|`}, // a once; b three times
		{[]int{0}, 1, `"a"|`}, {[]int{1}, 3, `"x"|`}, {[]int{2}, 0, "00000000|"}, {nil, 0, ""}, {[]int{1, 1, 1}, 3, `"x"|"x"|"x"|`},
	} {
		var picks []arrowipc.Pick
		for _, c := range x.columns {
			picks = append(picks, arrowipc.Pick{Ordinal: c})
		}
		p, err := schema.Project(picks)
		if err != nil {
			t.Fatal(err)
		}
		rows, dictionaries := readAll(t, s, schema.Layout, p, ReadOptions{}, batches, math.MaxInt64)
		if dictionaries != x.want || len(rows) != 7 || rows[0] != x.first {
			t.Errorf("columns %v: %d dictionary messages, want %d; rows %q", x.columns, dictionaries, x.want, rows)
		}
	}
	releaseAll(batches)
	noDictionaries(t, s)
}

// TestDictionariesAreShared puts the same values several times: they are stored once, and stay as long as somebody holds
// them, be it the transport alone.
func TestDictionariesAreShared(t *testing.T) {
	schema := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "a", str)))
	long := strings.Repeat("value ", 20_000)
	s := newStore(t, Options{})
	put := func() []*Batch {
		batches, err := send(t, s, schema, IngestOptions{Codec: compress.None}, step{1, false, texts(long)}, step{0, false, indices(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return batches
	}
	first := put()
	one := s.Stats().Charged
	second := put()
	if grown := s.Stats().Charged - one; grown > 2000 {
		t.Errorf("the same dictionary again takes %d bytes", grown)
	}
	if first[0].dicts[0] != second[0].dicts[0] {
		t.Error("equal dictionaries are not one")
	}
	var held *Message
	r := s.Reader(schema.Layout, allOf(t, schema), ReadOptions{Encode: compress.None})
	err := r.Read(first[0], 1, func(m *Message) error {
		if m.Dictionary {
			m.Owner.Retain()
			held = m
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	releaseAll(first)
	releaseAll(second)
	if !bytes.Contains(bytes.Join(held.Body, nil), []byte(long)) {
		t.Error("the transport's bytes are gone")
	}
	third := put() // finds the one that only the transport has
	if len(s.dictionaries.byHash) != 1 || third[0].dicts[0] != held.Owner {
		t.Error("a dictionary in the transport's hands is not found")
	}
	held.Owner.Release()
	rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, third, 1)
	if rows[0] != fmt.Sprintf("%q|", long) {
		t.Error("the dictionary went away with the transport's hold")
	}
	releaseAll(third)
	noDictionaries(t, s)
}

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
		for _, ro := range []ReadOptions{
			{Decode: all, Encode: compress.None}, {Decode: all, Encode: compress.None, MaxMessage: 256 << 10}, {Decode: all, Encode: compress.Zstd},
		} {
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
