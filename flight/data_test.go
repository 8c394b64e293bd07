package flight

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
)

// table is a schema and its batches. Its memory is Go's and needs no release.
type table struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
}

func (tb table) rows() (n int64) {
	for _, b := range tb.batches {
		n += b.NumRows()
	}
	return n
}

// slice is rows from, to of the table's rows in their order, to excluded.
func (tb table) slice(from, to int64) table {
	out := table{schema: tb.schema}
	at := int64(0)
	for _, b := range tb.batches {
		lo, hi := max(from-at, 0), min(to-at, b.NumRows())
		if lo < hi {
			out.batches = append(out.batches, b.NewSlice(lo, hi))
		}
		at += b.NumRows()
	}
	return out
}

// columns is the table of these columns, in this order.
func (tb table) columns(ordinals ...int) table {
	var fields []arrow.Field
	for _, o := range ordinals {
		fields = append(fields, tb.schema.Field(o))
	}
	md := tb.schema.Metadata()
	out := table{schema: arrow.NewSchema(fields, &md)}
	for _, b := range tb.batches {
		var columns []arrow.Array
		for _, o := range ordinals {
			columns = append(columns, b.Column(o))
		}
		out.batches = append(out.batches, array.NewRecordBatch(out.schema, columns, b.NumRows()))
	}
	return out
}

// mixedSchema has a column of each way to lie in a body: fixed width, bits, offsets, views, children, nothing.
var mixedSchema = func() *arrow.Schema {
	md := arrow.MetadataFrom(map[string]string{"origin": "a test"})
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "word", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "view", Type: arrow.BinaryTypes.StringView, Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "deep", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
			arrow.Field{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		), Nullable: true},
		{Name: "none", Type: arrow.Null, Nullable: true},
		{Name: "noise", Type: arrow.PrimitiveTypes.Int64},
	}, &md)
}()

// mixed makes batches of so many rows over mixedSchema. The same seed makes the same values.
func mixed(seed uint64, rows ...int) table {
	r := rand.New(rand.NewPCG(seed, 0))
	out := table{schema: mixedSchema}
	next := int64(0)
	for _, n := range rows {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), mixedSchema)
		list := b.Field(4).(*array.ListBuilder)
		deep := b.Field(5).(*array.StructBuilder)
		for range n {
			b.Field(0).(*array.Int64Builder).Append(next)
			next++
			null := r.IntN(5) == 0
			word := fmt.Sprintf("a word of row %d", r.IntN(1000))[:r.IntN(14)]
			if null {
				b.Field(1).AppendNull()
				b.Field(2).AppendNull()
				b.Field(3).AppendNull()
				list.AppendNull()
				deep.AppendNull()
			} else {
				b.Field(1).(*array.BooleanBuilder).Append(r.IntN(2) == 0)
				b.Field(2).(*array.StringBuilder).Append(word)
				b.Field(3).(*array.StringViewBuilder).Append(word + " and more than a view holds inline")
				list.Append(true)
				for range r.IntN(4) {
					list.ValueBuilder().(*array.Int32Builder).Append(int32(r.IntN(9)))
				}
				deep.Append(true)
				deep.FieldBuilder(0).(*array.Float64Builder).Append(float64(r.IntN(100)))
				deep.FieldBuilder(1).(*array.StringBuilder).Append(word)
			}
			b.Field(6).(*array.NullBuilder).AppendNull()
			b.Field(7).(*array.Int64Builder).Append(int64(r.Uint64()))
		}
		out.batches = append(out.batches, b.NewRecordBatch())
	}
	return out
}

var numberSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// numbers makes batches of one int64 column, each value given by of from its row.
func numbers(of func(row int64) int64, rows ...int) table {
	out := table{schema: numberSchema}
	next := int64(0)
	for _, n := range rows {
		values := make([]int64, n)
		for i := range values {
			values[i] = of(next)
			next++
		}
		b := array.NewInt64Builder(memory.NewGoAllocator())
		b.AppendValues(values, nil)
		out.batches = append(out.batches, array.NewRecordBatch(numberSchema, []arrow.Array{b.NewArray()}, int64(n)))
	}
	return out
}

// constant is a value for numbers.
func constant(v int64) func(int64) int64 { return func(int64) int64 { return v } }

// noise does not compress: a stored batch is as large as a plain one.
func noise(rows ...int) table {
	return numbers(func(row int64) int64 {
		x := uint64(row+1) * 0x9E3779B97F4A7C15
		x = (x ^ x>>32) * 0xD6E8FEB86659FD93
		return int64(x ^ x>>32)
	}, rows...)
}

// collector keeps what a writer of arrow-go sends.
type collector struct{ messages []*arrowflight.FlightData }

func (c *collector) Send(m *arrowflight.FlightData) error {
	c.messages = append(c.messages, proto.Clone(m).(*arrowflight.FlightData)) // the writer uses its message again
	return nil
}

// messagesOf is the stream of a table as arrow-go writes it, the schema first.
func messagesOf(t testing.TB, tb table, options ...ipc.Option) []*arrowflight.FlightData {
	t.Helper()
	c := &collector{}
	w := arrowflight.NewRecordWriter(c, append(options, ipc.WithSchema(tb.schema))...)
	for _, b := range tb.batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return c.messages
}

// described puts a descriptor on the first of messages.
func described(d *arrowflight.FlightDescriptor, messages []*arrowflight.FlightData) []*arrowflight.FlightData {
	out := slices.Clone(messages)
	out[0] = proto.Clone(out[0]).(*arrowflight.FlightData)
	out[0].FlightDescriptor = d
	return out
}

// replay hands out messages as a stream does.
type replay struct{ messages []*arrowflight.FlightData }

func (r *replay) Recv() (*arrowflight.FlightData, error) {
	if len(r.messages) == 0 {
		return nil, io.EOF
	}
	m := r.messages[0]
	r.messages = r.messages[1:]
	return m, nil
}

// tableOf reads a stream's messages with arrow-go.
func tableOf(t testing.TB, messages []*arrowflight.FlightData) table {
	t.Helper()
	// The reader decodes in place what it is given.
	r, err := arrowflight.NewRecordReader(&replay{messages: messages})
	if err != nil {
		t.Fatalf("reading the stream's schema: %v", err)
	}
	defer r.Release()
	out := table{schema: r.Schema()}
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		out.batches = append(out.batches, b)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("reading the stream: %v", err)
	}
	return out
}

// sameTable checks schema, metadata and every value; how rows are cut into batches does not count.
func sameTable(t testing.TB, got, want table) {
	t.Helper()
	if !got.schema.Equal(want.schema) || !got.schema.Metadata().Equal(want.schema.Metadata()) {
		t.Errorf("schema %v, want %v", got.schema, want.schema)
		return
	}
	if got.rows() != want.rows() {
		t.Errorf("%d rows, want %d", got.rows(), want.rows())
		return
	}
	if len(want.schema.Fields()) == 0 || want.rows() == 0 {
		return
	}
	g, w := array.NewTableFromRecords(got.schema, got.batches), array.NewTableFromRecords(want.schema, want.batches)
	defer g.Release()
	defer w.Release()
	if !array.TableEqual(g, w) {
		t.Errorf("values differ:\n got %v\nwant %v", g, w)
	}
}

// int64s are all values of the first column.
func (tb table) int64s() []int64 {
	var out []int64
	for _, b := range tb.batches {
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}
