package flight

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
)

// wide is one row of so many columns.
func wide(columns int) table {
	b := array.NewInt32Builder(memory.NewGoAllocator())
	b.Append(1)
	one := b.NewArray()
	fields, arrays := make([]arrow.Field, columns), make([]arrow.Array, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("column_%d", i), Type: arrow.PrimitiveTypes.Int32, Nullable: true}
		arrays[i] = one
	}
	schema := arrow.NewSchema(fields, nil)
	return table{schema: schema, batches: []arrow.RecordBatch{array.NewRecordBatch(schema, arrays, 1)}}
}

// Schemas of thousands of columns work with a client that takes messages of 4 MiB, in every call.
func TestWideSchemas(t *testing.T) {
	const columns = 5000
	f := start(t)
	stock := arrowflight.NewFlightServiceClient(f.stock())
	tb := wide(columns)
	facts, err := sendTo(f.context(), stock, described(byPath("wide"), messagesOf(t, tb)))
	if err != nil || len(facts.Columns) != columns {
		t.Fatalf("%d columns, %v", len(facts.Columns), err)
	}
	info, err := stock.GetFlightInfo(f.context(), byPath("wide"))
	if err != nil {
		t.Fatal(err)
	}
	for ticket, want := range map[string]table{
		string(info.Endpoint[0].Ticket.Ticket):              tb,
		`{"dataset":"wide","columns":["column_4999",2500]}`: tb.columns(4999, 2500),
	} {
		got, err := read(f.context(), stock, ticket)
		if err != nil {
			t.Fatal(err)
		}
		sameTable(t, tableOf(t, got), want)
	}
}

func TestTooWideSchema(t *testing.T) {
	f := start(t)
	_, err := f.send(described(byPath("wide"), messagesOf(t, table{schema: wide(20_001).schema})))
	wantStatus(t, err, codes.InvalidArgument, `dataset "wide"`, "20001", "20000")
}
