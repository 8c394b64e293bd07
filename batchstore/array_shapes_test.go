package batchstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/flightcache/flightcache/arrowipc"
)

// shape is a named column type that the tests of this part run over.
type shape struct {
	name string
	dt   arrow.DataType
}

func structOf(types ...arrow.DataType) arrow.DataType {
	var fields []arrow.Field
	for i, t := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("f%d", i), Type: t, Nullable: true})
	}
	return arrow.StructOf(fields...)
}

func unionOf(mode arrow.UnionMode, types ...arrow.DataType) arrow.UnionType {
	var fields []arrow.Field
	var codes []arrow.UnionTypeCode
	for i, t := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("u%d", i), Type: t, Nullable: true})
		codes = append(codes, arrow.UnionTypeCode(3*i+1)) // codes that are no positions
	}
	if mode == arrow.DenseMode {
		return arrow.DenseUnionOf(fields, codes)
	}
	return arrow.SparseUnionOf(fields, codes)
}

var (
	i8, i16, i32, i64 = arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	str, lstr, vstr   = arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView
	boolean           = arrow.FixedWidthTypes.Boolean
)

// shapes has every kind, and the nestings in which one kind's children are cut by another's rules.
var shapes = []shape{
	{"null", arrow.Null},
	{"bool", boolean},
	{"int8", i8},
	{"int64", i64},
	{"decimal256", &arrow.Decimal256Type{Precision: 50, Scale: 3}},
	{"fixed binary of 7", &arrow.FixedSizeBinaryType{ByteWidth: 7}},
	{"fixed binary of 0", &arrow.FixedSizeBinaryType{ByteWidth: 0}},
	{"binary", arrow.BinaryTypes.Binary},
	{"string", str},
	{"large string", lstr},
	{"string view", vstr},
	{"list<int32>", arrow.ListOf(i32)},
	{"large list<string>", arrow.LargeListOf(str)},
	{"list view<int16>", arrow.ListViewOf(i16)},
	{"large list view<string>", arrow.LargeListViewOf(str)},
	{"fixed list<bool>", arrow.FixedSizeListOf(3, boolean)},
	{"map<string, int32>", arrow.MapOf(str, i32)},
	{"struct<int8, string>", structOf(i8, str)},
	{"sparse union", unionOf(arrow.SparseMode, i32, str)},
	{"dense union", unionOf(arrow.DenseMode, i32, str, boolean)},
	{"run ends 16", arrow.RunEndEncodedOf(i16, str)},
	{"run ends 32", arrow.RunEndEncodedOf(i32, boolean)},
	{"run ends 64", arrow.RunEndEncodedOf(i64, vstr)},
	{"list<struct<string view, bool>>", arrow.ListOf(structOf(vstr, boolean))},
	{"struct<dense union, string view>", structOf(vstr, unionOf(arrow.DenseMode, vstr, i64), vstr)},
	{"map<int8, list<string>>", arrow.MapOf(i8, arrow.ListOf(str))},
	{"list<string view>", arrow.ListOf(vstr)},
	{"struct<run ends>", structOf(arrow.RunEndEncodedOf(i32, i64), str)},
	{"list<run ends>", arrow.ListOf(arrow.RunEndEncodedOf(i32, str))},
	{"list view<list view<string>>", arrow.ListViewOf(arrow.ListViewOf(str))},
	{"list view<dense union>", arrow.ListViewOf(unionOf(arrow.DenseMode, i8, arrow.ListOf(i8)))},
	{"dense union<list view, string view>", unionOf(arrow.DenseMode, arrow.ListViewOf(vstr), vstr)},
	{"sparse union<dense union>", unionOf(arrow.SparseMode, unionOf(arrow.DenseMode, i8, arrow.Null), boolean)},
	{"fixed list<fixed list<list<bool>>>", arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(2, arrow.ListOf(boolean)))},
	{"run ends<struct<list>>", arrow.RunEndEncodedOf(i32, structOf(arrow.ListOf(i64), boolean))},
	{"struct<struct<struct<bool>>>", structOf(structOf(structOf(boolean)))},
}

// schemaOf gives one schema of columns of these types, parsed by us from what arrow-go writes.
func schemaOf(t testing.TB, types ...arrow.DataType) *arrowipc.Schema {
	t.Helper()
	var fields []arrow.Field
	for i, dt := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true})
	}
	return parseSchema(t, arrow.NewSchema(fields, nil))
}

func parseSchema(t testing.TB, schema *arrow.Schema) *arrowipc.Schema {
	t.Helper()
	payload := ipc.GetSchemaPayload(schema, memory.DefaultAllocator)
	defer payload.Release()
	meta := payload.Meta()
	defer meta.Release()
	parsed, err := arrowipc.ParseSchema(bytes.Clone(meta.Bytes()), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// received is a batch as it would arrive.
type received struct {
	header *arrowipc.RecordBatch
	body   []byte
}

func (r received) plain() *plainBatch {
	return &plainBatch{
		rows: r.header.Rows, nodes: r.header.Nodes, variadic: r.header.Variadic,
		bufs: sliceBuffers(r.body, r.header.Buffers),
	}
}

// fromArrow gives what arrow-go sends for a record batch.
func fromArrow(t testing.TB, rec arrow.RecordBatch) received {
	t.Helper()
	payload, err := ipc.GetRecordBatchPayload(rec)
	if err != nil {
		t.Fatal(err)
	}
	defer payload.Release()
	meta := payload.Meta()
	defer meta.Release()
	m, err := arrowipc.ReadMessage(bytes.Clone(meta.Bytes()), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if err := payload.SerializeBody(&body); err != nil {
		t.Fatal(err)
	}
	return received{m.Batch, body.Bytes()}
}

// withTrueNulls is b without the null counts that checkPlain forgives and arrow-go does not.
func withTrueNulls(l *arrowipc.Layout, b *plainBatch) *plainBatch {
	out := *b
	out.nodes = slices.Clone(b.nodes)
	var walk func(cols []*arrowipc.Column)
	walk = func(cols []*arrowipc.Column) {
		for _, c := range cols {
			out.nodes[c.Node0].Nulls = trueNulls(c, b.nodes[c.Node0])
			walk(c.Children)
		}
	}
	walk(l.Columns)
	return &out
}

// toArrow reads a batch with arrow-go's reader and lets it check all it can.
func toArrow(t testing.TB, s *arrowipc.Schema, b *plainBatch) arrow.RecordBatch {
	t.Helper()
	var body []byte
	header := arrowipc.RecordBatch{Rows: b.rows, Nodes: b.nodes, Variadic: b.variadic, Compression: arrowipc.Uncompressed}
	for _, buf := range b.bufs {
		header.Buffers = append(header.Buffers, arrowipc.Buffer{Offset: int64(len(body)), Length: int64(len(buf))})
		body = append(body, buf...)
		body = append(body, make([]byte, padded(int64(len(body)))-int64(len(body)))...)
	}
	var builder arrowipc.HeaderBuilder
	meta := builder.RecordBatch(&header, int64(len(body)), nil)
	stream := bytes.NewBuffer(bytes.Clone(s.Encapsulated()))
	stream.Write([]byte{0xff, 0xff, 0xff, 0xff})
	stream.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(meta))))
	stream.Write(meta)
	stream.Write(body)
	r, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatalf("arrow-go cannot read the batch: %v", r.Err())
	}
	rec := r.RecordBatch()
	rec.Retain()
	for i, c := range rec.Columns() {
		if rec.NumRows() == 0 {
			break // unions without rows have buffers that arrow-go's validation does not expect
		}
		if v, ok := c.(interface{ ValidateFull() error }); ok {
			if err := v.ValidateFull(); err != nil {
				t.Fatalf("arrow-go finds column %d invalid: %v", i, err)
			}
		}
	}
	return rec
}

// concat plans and writes runs into a dirty body, and checks what holds of every result.
func concat(t testing.TB, l *arrowipc.Layout, runs []run) *plainBatch {
	t.Helper()
	plan, err := concatSize(l.Columns, runs)
	if err != nil {
		t.Fatal(err)
	}
	const guard = 16
	body := bytes.Repeat([]byte{0xa5}, int(plan.bodyLen)+guard)
	b, buffers := plan.write(body)
	for _, x := range body[plan.bodyLen:] {
		if x != 0xa5 {
			t.Fatal("memory after the body was written")
		}
	}
	body = body[:plan.bodyLen]
	end := int64(0)
	for i, x := range buffers {
		if x.Offset != padded(end) || !bytes.Equal(body[end:x.Offset], make([]byte, x.Offset-end)) {
			t.Fatalf("buffer %d at %d does not follow %d with zeros between", i, x.Offset, end)
		}
		end = x.Offset + x.Length
	}
	if err := checkPlain(l, &b); err != nil {
		t.Fatalf("the result is invalid: %v", err)
	}
	if !canonical(l, &b, buffers, plan.bodyLen) {
		t.Fatal("the result is not canonical")
	}
	var sources int64
	seen := map[*plainBatch]bool{}
	for _, r := range runs {
		if !seen[r.b] {
			seen[r.b] = true
			sources += plainSize(l.Columns, r.b)
		}
	}
	// Each buffer is rounded up, offsets have one more item, and a bitmap may be needed for all where one has it.
	if most := sources + int64(len(buffers))*24 + bitmapBytes(&b, l); plan.bodyLen > most && len(seen) == len(runs) {
		t.Fatalf("%d bytes of sources became %d", sources, plan.bodyLen)
	}
	return &b
}

func bitmapBytes(b *plainBatch, l *arrowipc.Layout) int64 {
	var sum int64
	for _, n := range b.nodes {
		sum += bitBytes(n.Length)
	}
	return sum
}

// requireEqual compares rows [from, from+n) of one arrow-go batch with another.
func requireEqual(t testing.TB, want arrow.RecordBatch, from, n int64, got arrow.RecordBatch) {
	t.Helper()
	if got.NumRows() != n {
		t.Fatalf("%d rows, want %d", got.NumRows(), n)
	}
	for i, c := range want.Columns() {
		if !array.SliceEqual(c, from, from+n, got.Column(i), 0, n) {
			t.Fatalf("rows %d to %d of column %d (%s):\n got %v\nwant %v", from, from+n, i, c.DataType(), got.Column(i),
				array.NewSlice(c, from, from+n))
		}
	}
}

// someShapes is all of them, and under the race detector every third, from another one on in each test. What becomes of the
// rows of each type the run without it shows; which goroutine touches what does not differ by type.
func someShapes(from int) []shape {
	if !underRace {
		return shapes
	}
	var some []shape
	for i := from % 3; i < len(shapes); i += 3 {
		some = append(some, shapes[i])
	}
	return some
}
