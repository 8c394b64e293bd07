package batchstore

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
)

// TestArrowGoIsKept writes batches of every shape with arrow-go: as they are they need no rewriting, and slices of them
// are accepted and hold the slice's rows.
func TestArrowGoIsKept(t *testing.T) {
	for _, x := range shapes {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			schema := schemaOf(t, x.dt, x.dt)
			l := schema.Layout
			written := 0
			for try := 0; try < 100 && written < 10; try++ {
				b := randomPlain(r, l, 1+r.Int64N(150))
				made := concat(t, l, []run{{b, 0, b.rows}})
				record := toArrow(t, schema, made)
				sent := sentByArrow(t, record)
				if sent == nil {
					continue
				}
				written++
				plain := sent.plain()
				if err := checkPlain(l, plain); err != nil {
					t.Fatal(err)
				}
				if !canonical(l, plain, sent.header.Buffers, int64(len(sent.body))) {
					t.Fatalf("arrow-go's batch would be rewritten: nodes %v, buffers %v", plain.nodes, sent.header.Buffers)
				}
				ours, theirs := nodeBytes(l, made), nodeBytes(l, plain)
				if !slices.Equal(ours, theirs) {
					t.Fatalf("bytes by node: %v as we write it, %v as arrow-go does", ours, theirs)
				}
				from := r.Int64N(b.rows)
				n := r.Int64N(b.rows - from + 1)
				sent = sentByArrow(t, record.NewSlice(from, from+n))
				if sent == nil {
					continue
				}
				slice := sent.plain()
				if err := checkPlain(l, slice); err != nil {
					t.Fatalf("a slice is refused: %v", err)
				}
				requireRows(t, l, concat(t, l, []run{{slice, 0, n}}), renderRows(l.Columns, made, from, n))
			}
			if written == 0 {
				t.Error("arrow-go has written no batch")
			}
		})
	}
}

// sentByArrow is fromArrow, nil where arrow-go's writer panics: it does for list views without any value.
func sentByArrow(t *testing.T, rec arrow.RecordBatch) (sent *received) {
	defer func() {
		if p := recover(); p != nil {
			t.Logf("arrow-go cannot write it: %v", p)
		}
	}()
	r := fromArrow(t, rec)
	return &r
}

func nodeBytes(l *arrowipc.Layout, b *plainBatch) []int64 {
	var out []int64
	s := newSource(b)
	var walk func(cols []*arrowipc.Column)
	walk = func(cols []*arrowipc.Column) {
		for _, c := range cols {
			out = append(out, ownBytes(s, c))
			walk(c.Children)
		}
	}
	walk(l.Columns)
	return out
}

// TestOwnBytes counts by hand, with buffers far longer than needed.
func TestOwnBytes(t *testing.T) {
	long := func(b []byte) []byte { return append(b, make([]byte, 1000)...) }
	data := []byte("a string that is longer than twelve bytes")
	for _, x := range []struct {
		dt   arrow.DataType
		b    plainBatch
		want []int64
	}{
		{arrow.Null, plainBatch{rows: 9, nodes: nodes(9)}, []int64{0}},
		{boolean, plainBatch{rows: 9, nodes: nodes(9), bufs: [][]byte{nil, long(nil)}}, []int64{2}},
		{i32, plainBatch{rows: 9, nodes: nodes(9), bufs: [][]byte{long([]byte{255, 255}), long(nil)}}, []int64{2 + 36}},
		{str, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, long(ints(4, 3, 4, 8)), long(nil)}}, []int64{12 + 5}},
		{lstr, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil, long(nil)}}, []int64{0}},
		{lstr, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, ints(8, 0), long(nil)}}, []int64{8}},
		{vstr, plainBatch{rows: 1, nodes: nodes(1), variadic: []int64{2}, bufs: [][]byte{nil, longView(data[2:], 20, 1, 2), data, long(data)}}, []int64{16 + 22}},
		{arrow.ListOf(i8), plainBatch{rows: 1, nodes: nodes(1, 5), bufs: [][]byte{nil, ints(4, 0, 5), nil, long(nil)}}, []int64{8, 5}},
		{arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 5), bufs: [][]byte{nil, long(nil), long(nil), nil, long(nil)}}, []int64{8, 5}},
		{unionOf(arrow.DenseMode, i8), plainBatch{rows: 2, nodes: nodes(2, 2), bufs: [][]byte{long([]byte{1, 1}), ints(4, 0, 1), nil, long(nil)}}, []int64{10, 2}},
		{unionOf(arrow.SparseMode, i8), plainBatch{rows: 2, nodes: nodes(2, 2), bufs: [][]byte{long([]byte{1, 1}), nil, long(nil)}}, []int64{2, 2}},
		{arrow.RunEndEncodedOf(i16, i8), plainBatch{rows: 7, nodes: nodes(7, 1, 1), bufs: [][]byte{nil, ints(2, 7), nil, long(nil)}}, []int64{0, 2, 1}},
	} {
		if got := nodeBytes(schemaOf(t, x.dt).Layout, &x.b); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v bytes, want %v", x.dt, got, x.want)
		}
	}
}

// TestNotCanonical has batches that are valid and would carry what is not theirs, or are not as readers like them.
func TestNotCanonical(t *testing.T) {
	pad := make([]byte, 64)
	data := []byte("a string that is longer than twelve bytes")
	null := func(n int64) []arrowipc.FieldNode { return []arrowipc.FieldNode{{Length: n, Nulls: n}} }
	ends := arrow.RunEndEncodedOf(i32, i8)
	for _, x := range []struct {
		name string
		dt   arrow.DataType
		b    plainBatch
	}{
		{"values of more rows", i32, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, append(ints(4, 1), pad...)}}},
		{"bitmap of more rows", i8, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{append([]byte{1}, pad...), {1}}}},
		{"offsets from 1", str, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 1, 1), {1}}}},
		{"data of more rows", str, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 0, 0), pad}}},
		{"lists from 1", arrow.ListOf(i8), plainBatch{rows: 1, nodes: nodes(1, 1), bufs: [][]byte{nil, ints(4, 1, 1), nil, {1}}}},
		{"child longer", arrow.ListOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, ints(4, 0, 1), nil, {1, 2}}}},
		{"struct child longer", structOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, nil, {1, 2}}}},
		{"view data unused", vstr, plainBatch{rows: 1, nodes: nodes(1), variadic: []int64{1}, bufs: [][]byte{nil, make([]byte, 16), pad}}},
		{"view data used from 1", vstr, plainBatch{rows: 1, nodes: nodes(1), variadic: []int64{1}, bufs: [][]byte{nil, longView(data[1:], 40, 0, 1), data}}},
		{"null view of garbage", vstr, plainBatch{rows: 1, nodes: null(1), variadic: []int64{0}, bufs: [][]byte{{0}, longView(data, 40, 3, 1)}}},
		{"list view hole", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 3), bufs: [][]byte{nil, ints(4, 1), ints(4, 2), nil, {1, 2, 3}}}},
		{"list view unused", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 1), bufs: [][]byte{nil, ints(4, 0), ints(4, 0), nil, {1}}}},
		{"union value unused", unionOf(arrow.DenseMode, i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{{1}, ints(4, 0), nil, {1, 2}}}},
		{"union with nulls", unionOf(arrow.SparseMode, i8), plainBatch{rows: 1, nodes: append(null(1), nodes(1)...), bufs: [][]byte{{1}, nil, {1}}}},
		{"nulls not counted", arrow.Null, plainBatch{rows: 1, nodes: nodes(1)}},
		{"run past the end", ends, plainBatch{rows: 1, nodes: nodes(1, 1, 1), bufs: [][]byte{nil, ints(4, 2), nil, {1}}}},
		{"run value unused", ends, plainBatch{rows: 1, nodes: nodes(1, 1, 2), bufs: [][]byte{nil, ints(4, 1), nil, {1, 2}}}},
		{"run without rows", ends, plainBatch{nodes: nodes(0, 1, 1), bufs: [][]byte{nil, ints(4, 1), nil, {1}}}},
	} {
		l := schemaOf(t, x.dt).Layout
		if err := checkPlain(l, &x.b); err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var buffers []arrowipc.Buffer
		end := int64(0)
		for _, b := range x.b.bufs {
			buffers = append(buffers, arrowipc.Buffer{Offset: end, Length: int64(len(b))})
			end = padded(end + int64(len(b)))
		}
		if !canonicalBody(buffers, end) {
			t.Errorf("%s: the body is not laid out well", x.name)
		}
		if canonical(l, &x.b, buffers, end) {
			t.Errorf("%s: kept as it lies", x.name)
		}
		concat(t, l, []run{{&x.b, 0, x.b.rows}}) // which is canonical
	}
}

func TestCanonicalBody(t *testing.T) {
	type buffers = []arrowipc.Buffer
	for _, x := range []struct {
		name string
		b    buffers
		size int64
		want bool
	}{
		{"nothing", nil, 0, true},
		{"unpadded", buffers{{Offset: 0, Length: 3}, {Offset: 8, Length: 8}}, 16, true},
		{"padded to 64", buffers{{Offset: 0, Length: 64}, {Offset: 64, Length: 3}}, 128, true},
		{"empty ones between", buffers{{Offset: 0, Length: 8}, {Offset: 8}, {Offset: 8}, {Offset: 8, Length: 8}}, 16, true},
		{"end not padded", buffers{{Offset: 0, Length: 3}}, 3, true},
		{"out of order", buffers{{Offset: 8, Length: 8}, {Offset: 0, Length: 8}}, 16, false},
		{"overlap", buffers{{Offset: 0, Length: 9}, {Offset: 8, Length: 8}}, 16, false},
		{"not aligned", buffers{{Offset: 4, Length: 4}}, 8, false},
		{"gap before", buffers{{Offset: 64, Length: 8}}, 72, false},
		{"gap between", buffers{{Offset: 0, Length: 8}, {Offset: 72, Length: 8}}, 80, false},
		{"gap after", buffers{{Offset: 0, Length: 8}}, 72, false},
		{"past the end", buffers{{Offset: 0, Length: 9}}, 8, false},
		{"begins past the end", buffers{{Offset: 16, Length: 0}}, 8, false},
		{"negative length", buffers{{Offset: 0, Length: -8}}, 0, false},
		{"negative offset", buffers{{Offset: -8, Length: 8}}, 8, false},
		{"overflow", buffers{{Offset: 8, Length: 1<<63 - 1}}, 16, false},
	} {
		if got := canonicalBody(x.b, x.size); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

func TestNullCounts(t *testing.T) {
	schema := schemaOf(t, i8, arrow.Null, unionOf(arrow.SparseMode, i8), structOf(i8))
	b := &plainBatch{rows: 3, nodes: []arrowipc.FieldNode{{Length: 3, Nulls: 2}, {Length: 3}, {Length: 3, Nulls: 1}, {Length: 3, Nulls: 3}, {Length: 3, Nulls: 1}, {Length: 3, Nulls: 3}}}
	if got := nullCounts(schema.Layout.Columns, b); !slices.Equal(got, []int64{2, 3, 0, 1}) {
		t.Errorf("null counts %v", got)
	}
}
