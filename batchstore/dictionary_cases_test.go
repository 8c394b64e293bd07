package batchstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

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
		{"a replaced outer had more beyond its rows", nested, []step{
			{2, false, texts("a", "b", "c")}, {1, false, &plainBatch{nodes: nodes(0, 1), bufs: [][]byte{nil, ints(4, 0), nil, {2}}}},
			{2, false, texts("a")}, {1, false, lists(0)}, {0, false, indices(1, 0)},
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
	if len(s.dictionaries.byDigest) != 0 {
		t.Error("a dictionary that only the transport reads is still offered")
	}
	third := put()
	held.Owner.Release()
	rows, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, third, 1)
	if rows[0] != fmt.Sprintf("%q|", long) {
		t.Error("the dictionary went away with the transport's hold")
	}
	releaseAll(third)
	noDictionaries(t, s)
}
