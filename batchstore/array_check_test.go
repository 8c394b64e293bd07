package batchstore

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
)

// ints is integers of a width as a buffer.
func ints(width int64, v ...int64) []byte {
	b := make([]byte, width*int64(len(v)))
	for i, x := range v {
		putInt(b, width, int64(i), x)
	}
	return b
}

// longView is a view of size bytes at a place in a data buffer.
func longView(data []byte, size, buf, offset int64) []byte {
	v := append(ints(4, size), data[:4]...)
	return append(v, ints(4, buf, offset)...)
}

// nodes is field nodes without nulls.
func nodes(lengths ...int64) []arrowipc.FieldNode {
	var out []arrowipc.FieldNode
	for _, n := range lengths {
		out = append(out, arrowipc.FieldNode{Length: n})
	}
	return out
}

func TestCheckPlain(t *testing.T) {
	data := []byte("a string that is longer than twelve bytes")
	node := func(n, nulls int64) arrowipc.FieldNode { return arrowipc.FieldNode{Length: n, Nulls: nulls} }
	union := unionOf(arrow.DenseMode, i8, str) // type codes 1 and 4
	for _, x := range []struct {
		name string
		dt   arrow.DataType
		b    plainBatch
		want string // part of the error; empty if the batch is valid
	}{
		{"rows below zero", i32, plainBatch{rows: -1, nodes: nodes(-1), bufs: [][]byte{nil, nil}}, "-1 rows"},
		{"no node", i32, plainBatch{bufs: [][]byte{nil, nil}}, "0 field nodes where the schema asks for 1"},
		{"node too many", i32, plainBatch{nodes: nodes(0, 0), bufs: [][]byte{nil, nil}}, "2 field nodes"},
		{"buffer too few", i32, plainBatch{nodes: nodes(0), bufs: [][]byte{nil}}, "1 buffers where"},
		{"buffer too many", i32, plainBatch{nodes: nodes(0), bufs: make([][]byte, 3)}, "3 buffers where"},
		{"variadic missing", vstr, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil}}, "0 variadic buffer counts"},
		{"variadic too many", i32, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil}, variadic: []int64{0}}, "1 variadic"},
		{"variadic below zero", vstr, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil}, variadic: []int64{-1}}, "count of -1"},
		{"variadic huge", vstr, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil}, variadic: []int64{math.MaxInt64}}, "variadic"},
		{"rows differ", i32, plainBatch{rows: 2, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 1)}}, `column "c0": has 1 rows in a batch of 2`},

		{"nulls below zero", i32, plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, -1)}, bufs: [][]byte{nil, ints(4, 1)}}, "-1 nulls"},
		{"nulls over length", i32, plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 2)}, bufs: [][]byte{{0}, ints(4, 1)}}, "2 nulls in a length of 1"},
		{"bitmap missing", i32, plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 1)}, bufs: [][]byte{nil, ints(4, 1)}}, "validity buffer has 0 bytes, 1 are needed"},
		{"bitmap short", i8, plainBatch{rows: 9, nodes: []arrowipc.FieldNode{node(9, 1)}, bufs: [][]byte{{0}, make([]byte, 9)}}, "validity buffer has 1 bytes, 2"},
		{"null count lies", i8, plainBatch{rows: 9, nodes: []arrowipc.FieldNode{node(9, 2)}, bufs: [][]byte{{0xfe, 1}, make([]byte, 9)}}, "null count is 2 but the validity bitmap has 1"},
		{"null count true", i8, plainBatch{rows: 9, nodes: []arrowipc.FieldNode{node(9, 1)}, bufs: [][]byte{{0xfe, 1}, make([]byte, 9)}}, ""},
		{"nulls not counted", i8, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{{0}, {1}}}, "null count is 0"},
		{"bitmap of ones", i8, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{{1}, {1}}}, ""},

		{"values short", i32, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, ints(4, 1)}}, "values buffer has 4 bytes, not 2 values of 4"},
		{"values overflow", i64, plainBatch{rows: 1 << 61, nodes: nodes(1 << 61), bufs: [][]byte{nil, ints(8, 1)}}, "not 2305843009213693952 values"},
		{"bits short", boolean, plainBatch{rows: 9, nodes: nodes(9), bufs: [][]byte{nil, {1}}}, "values buffer has 1 bytes, 2"},
		{"nothing needs nothing", &arrow.FixedSizeBinaryType{}, plainBatch{rows: 1 << 62, nodes: nodes(1 << 62), bufs: [][]byte{nil, nil}}, ""},

		{"no offsets without rows", str, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, nil, nil}}, ""},
		{"one offset without rows", str, plainBatch{nodes: nodes(0), bufs: [][]byte{nil, ints(4, 0), nil}}, ""},
		{"offsets short", str, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, ints(4, 0, 0), nil}}, "offsets buffer has 8 bytes"},
		{"offsets overflow", lstr, plainBatch{rows: math.MaxInt64, nodes: nodes(math.MaxInt64), bufs: [][]byte{nil, ints(8, 0), nil}}, "offsets buffer has 8 bytes"},
		{"first offset negative", str, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, -1, 0), nil}}, "the first offset is -1"},
		{"offsets backwards", str, plainBatch{rows: 6, nodes: nodes(6), bufs: [][]byte{nil, ints(4, 0, 1, 2, 3, 4, 3, 4), data}}, "offsets run backwards at row 4: from 4 to 3"},
		{"offsets backwards at the end", str, plainBatch{rows: 5, nodes: nodes(5), bufs: [][]byte{nil, ints(4, 0, 1, 2, 3, 4, 3), data}}, "at row 4"},
		{"offset wraps", str, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, ints(4, 0, math.MaxInt32, math.MinInt32), data}}, "at row 1"},
		{"large offsets backwards", lstr, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, ints(8, 0, 2, 1), data}}, "at row 1"},
		{"large offset wraps", lstr, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, ints(8, 0, math.MaxInt64, math.MinInt64), data}}, "at row 1"},
		{"offset past data", str, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 0, 4), data[:3]}}, "last offset is 4 but there are 3 bytes"},
		{"offset past child", arrow.ListOf(i8), plainBatch{rows: 1, nodes: nodes(1, 3), bufs: [][]byte{nil, ints(4, 0, 4), nil, data[:3]}}, "last offset is 4 but there are 3 child values"},
		{"child bad", structOf(structOf(str)), plainBatch{rows: 1, nodes: nodes(1, 1, 1), bufs: [][]byte{nil, nil, nil, ints(4, 2, 1), nil}}, `column "c0.f0.f0": offsets run backwards at row 0`},
		{"child length negative", arrow.ListOf(i8), plainBatch{nodes: nodes(0, -1), bufs: make([][]byte, 4)}, "in a length of -1"},

		{"struct child short", structOf(i8), plainBatch{rows: 2, nodes: nodes(2, 1), bufs: [][]byte{nil, nil, {1}}}, `child "f0" has 1 values, 2 are needed`},
		{"struct child longer", structOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, nil, {1, 2}}}, ""},
		{"fixed list child short", arrow.FixedSizeListOf(3, i8), plainBatch{rows: 2, nodes: nodes(2, 5), bufs: [][]byte{nil, nil, data}}, "has 5 values, 6 are needed"},
		{"fixed list overflow", arrow.FixedSizeListOf(math.MaxInt32, arrow.Null), plainBatch{rows: 1 << 40, nodes: nodes(1<<40, 1), bufs: [][]byte{nil}}, "too many"},
		{"sparse child short", unionOf(arrow.SparseMode, i8), plainBatch{rows: 2, nodes: nodes(2, 1), bufs: [][]byte{{1, 1}, nil, {1}}}, "has 1 values, 2"},
		{"sparse code", unionOf(arrow.SparseMode, i8), plainBatch{rows: 2, nodes: nodes(2, 2), bufs: [][]byte{{1, 0}, nil, {1, 1}}}, "row 1 has the type code 0"},
		{"sparse codes short", unionOf(arrow.SparseMode, i8), plainBatch{rows: 2, nodes: nodes(2, 2), bufs: [][]byte{{1}, nil, {1, 1}}}, "type codes buffer"},
		{"dense code negative", union, plainBatch{rows: 1, nodes: nodes(1, 1, 0), bufs: [][]byte{{0xff}, ints(4, 0), nil, {1}, nil, nil, nil}}, "type code -1"},
		{"dense offsets short", union, plainBatch{rows: 1, nodes: nodes(1, 1, 0), bufs: [][]byte{{1}, {0}, nil, {1}, nil, nil, nil}}, "offsets buffer"},
		{"dense offset outside", union, plainBatch{rows: 1, nodes: nodes(1, 1, 0), bufs: [][]byte{{1}, ints(4, 1), nil, {1}, nil, nil, nil}}, `row 0 is value 1 of child "u0", which has 1`},
		{"dense offset negative", union, plainBatch{rows: 1, nodes: nodes(1, 1, 0), bufs: [][]byte{{1}, ints(4, -1), nil, {1}, nil, nil, nil}}, "value -1"},
		{"dense offset of other child", union, plainBatch{rows: 1, nodes: nodes(1, 1, 0), bufs: [][]byte{{4}, ints(4, 0), nil, {1}, nil, nil, nil}}, `child "u1", which has 0`},
		{"dense offsets backwards", union, plainBatch{rows: 2, nodes: nodes(2, 2, 0), bufs: [][]byte{{1, 1}, ints(4, 1, 0), nil, {1, 1}, nil, nil, nil}}, "union offsets run backwards at row 1"},
		{"dense nulls forgiven", union, plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 1), node(1, 0), node(0, 0)}, bufs: [][]byte{{1}, ints(4, 0), nil, {1}, nil, nil, nil}}, ""},

		{"views short", vstr, plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, make([]byte, 31)}, variadic: []int64{0}}, "views buffer has 31 bytes"},
		{"view negative", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, -1, 0, 0, 0)}, variadic: []int64{0}}, "view at row 0 has a length of -1"},
		{"view inline dirty", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 3, 'a', 0, 1)}, variadic: []int64{0}}, "not padded with zeros"},
		{"view inline dirty near", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 3, 1<<24, 0, 0)}, variadic: []int64{0}}, "not padded with zeros"},
		{"view inline full", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, ints(4, 12, -1, -1, -1)}, variadic: []int64{0}}, ""},
		{"view buffer outside", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, longView(data, 13, 1, 0), data}, variadic: []int64{1}}, "is in data buffer 1, there are 1"},
		{"view buffer negative", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, longView(data, 13, -1, 0), data}, variadic: []int64{1}}, "data buffer -1"},
		{"view past data", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, longView(data[1:], 41, 0, 1), data}, variadic: []int64{1}}, "41 bytes at 1 of a data buffer of 41"},
		{"view offset negative", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, longView(data, 20, 0, -1), data}, variadic: []int64{1}}, "20 bytes at -1"},
		{"view prefix", vstr, plainBatch{rows: 1, nodes: nodes(1), bufs: [][]byte{nil, longView(data, 20, 0, 1), data}, variadic: []int64{1}}, "another prefix"},
		{"view null garbage", vstr, plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 1)}, bufs: [][]byte{{0}, longView(data, 99, 7, -1)}, variadic: []int64{0}}, ""},

		{"list view offsets short", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 0), bufs: [][]byte{nil, nil, ints(4, 0), nil, nil}}, "offsets buffer"},
		{"list view sizes short", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 0), bufs: [][]byte{nil, ints(4, 0), nil, nil, nil}}, "sizes buffer"},
		{"list view outside", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, ints(4, 1), ints(4, 2), nil, {1, 2}}}, "list at row 0 is 2 values at 1 of 2"},
		{"list view negative offset", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, ints(4, -1), ints(4, 2), nil, {1, 2}}}, "at -1"},
		{"list view negative size", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, ints(4, 0), ints(4, -2), nil, {1, 2}}}, "-2 values"},
		{"list view overflow", arrow.LargeListViewOf(i8), plainBatch{rows: 1, nodes: nodes(1, 2), bufs: [][]byte{nil, ints(8, 2), ints(8, math.MaxInt64), nil, {1, 2}}}, "values at 2 of 2"},
		{"list view null outside", arrow.ListViewOf(i8), plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 1), node(0, 0)}, bufs: [][]byte{{0}, ints(4, 5), ints(4, 5), nil, nil}}, "list at row 0"},

		{"run ends none", arrow.RunEndEncodedOf(i16, i8), plainBatch{rows: 1, nodes: nodes(1, 0, 0), bufs: make([][]byte, 4)}, "runs end at 0, before the length 1"},
		{"run ends short", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 3, nodes: nodes(3, 2, 2), bufs: [][]byte{nil, ints(4, 1, 2), nil, {1, 2}}}, "runs end at 2"},
		{"run ends buffer short", arrow.RunEndEncodedOf(i64, i8), plainBatch{rows: 2, nodes: nodes(2, 2, 2), bufs: [][]byte{nil, ints(4, 1, 2), nil, {1, 2}}}, "run ends buffer"},
		{"run ends equal", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 2, nodes: nodes(2, 2, 2), bufs: [][]byte{nil, ints(4, 2, 2), nil, {1, 2}}}, "run 1 ends at 2"},
		{"run ends zero", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 2, nodes: nodes(2, 2, 2), bufs: [][]byte{nil, ints(4, 0, 2), nil, {1, 2}}}, "run 0 ends at 0"},
		{"run ends null", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 1, nodes: []arrowipc.FieldNode{node(1, 0), node(1, 1), node(1, 0)}, bufs: [][]byte{{0}, ints(4, 1), nil, {1}}}, "1 run ends are null"},
		{"run ends negative", arrow.RunEndEncodedOf(i32, i8), plainBatch{nodes: nodes(0, -1, 0), bufs: make([][]byte, 4)}, "-1 run ends"},
		{"run values missing", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 2, nodes: nodes(2, 2, 1), bufs: [][]byte{nil, ints(4, 1, 2), nil, {1}}}, "2 runs have 1 values"},
		{"run longer than rows", arrow.RunEndEncodedOf(i32, i8), plainBatch{rows: 2, nodes: nodes(2, 1, 1), bufs: [][]byte{nil, ints(4, 9), nil, {1}}}, ""},
	} {
		l := schemaOf(t, x.dt).Layout
		err := checkPlain(l, &x.b)
		switch {
		case x.want == "":
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		case !errors.Is(err, ErrInvalidBatch) || !strings.Contains(err.Error(), x.want):
			t.Errorf("%s: %v; want ErrInvalidBatch and %q", x.name, err, x.want)
		}
	}
}

func TestCheckCounts(t *testing.T) {
	l := schemaOf(t, vstr, i8).Layout
	h := &arrowipc.RecordBatch{Nodes: nodes(0, 0), Buffers: make([]arrowipc.Buffer, 6), Variadic: []int64{2}}
	if err := checkCounts(l, h); err != nil {
		t.Error(err)
	}
	h.Variadic[0] = 1
	if err := checkCounts(l, h); !errors.Is(err, ErrInvalidBatch) {
		t.Errorf("a buffer too many: %v", err)
	}
}

// TestTooBig joins what 32-bit offsets, run ends or any numbers cannot hold; lists of nulls make it cheap.
func TestTooBig(t *testing.T) {
	list := func(width, child int64) *plainBatch {
		return &plainBatch{rows: 1, bufs: [][]byte{nil, ints(width, 0, child)},
			nodes: []arrowipc.FieldNode{{Length: 1}, {Length: child, Nulls: child}}}
	}
	view := func(child int64) *plainBatch {
		b := list(4, child)
		b.bufs = [][]byte{nil, ints(4, 0), ints(4, child)}
		return b
	}
	runs := func(n int64) *plainBatch {
		return &plainBatch{rows: n, bufs: [][]byte{nil, ints(2, n), nil, {1}}, nodes: nodes(n, 1, 1)}
	}
	for _, x := range []struct {
		name string
		dt   arrow.DataType
		b    *plainBatch
		fits int // how many join
	}{
		{"list", arrow.ListOf(arrow.Null), list(4, math.MaxInt32/2), 2},
		{"large list", arrow.LargeListOf(arrow.Null), list(8, maxBody/2), 2},
		{"list view", arrow.ListViewOf(arrow.Null), view(math.MaxInt32 / 3), 3},
		{"run ends", arrow.RunEndEncodedOf(i16, i8), runs(math.MaxInt16 / 4), 4},
		{"rows", &arrow.FixedSizeBinaryType{}, &plainBatch{rows: maxBody / 2, nodes: nodes(maxBody / 2), bufs: make([][]byte, 2)}, 2},
	} {
		l := schemaOf(t, x.dt).Layout
		if err := checkPlain(l, x.b); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		many := slices.Repeat([]run{{x.b, 0, x.b.rows}}, x.fits)
		if _, err := concatSize(l.Columns, many); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if _, err := concatSize(l.Columns, append(many, many...)); !errors.Is(err, errTooBig) {
			t.Errorf("%s: %v, want errTooBig", x.name, err)
		}
	}
}

// TestRunsOutside asks for rows that a batch does not have.
func TestRunsOutside(t *testing.T) {
	l := schemaOf(t, i8).Layout
	b := &plainBatch{rows: 2, nodes: nodes(2), bufs: [][]byte{nil, {1, 2}}}
	for _, r := range []run{{b, -1, 1}, {b, 0, 3}, {b, 3, 0}, {b, 1, math.MaxInt64}, {b, 0, -1}} {
		if _, err := concatSize(l.Columns, []run{r}); err == nil {
			t.Errorf("rows %d from %d of 2 were planned", r.n, r.from)
		}
	}
}

// TestViewBuffersSplit places more bytes than views of one data buffer can point into.
func TestViewBuffersSplit(t *testing.T) {
	var p bufferPlacer
	spans := []span{{lo: 5, hi: 1 << 30}, {lo: 0, hi: 1 << 30}, {lo: 0, hi: 1 << 30}, {lo: 1, hi: 1 << 31}, {lo: 0, hi: 7}}
	p.place(spans)
	want := []span{
		{lo: 5, hi: 1 << 30}, {lo: 0, hi: 1 << 30, at: 1<<30 - 5}, {lo: 0, hi: 1 << 30, buf: 1},
		{lo: 1, hi: 1 << 31, buf: 2}, {lo: 0, hi: 7, buf: 3},
	}
	if !slices.Equal(spans, want) {
		t.Errorf("placed %v, want %v", spans, want)
	}
}
