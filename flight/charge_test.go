package flight

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
)

// wideTable has so many columns of zeros, so many bytes of metadata, and batches of so many rows.
func wideTable(columns, metadata int, rows ...int) table {
	fields := make([]arrow.Field, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("column_", i), Type: arrow.PrimitiveTypes.Int64}
	}
	m := arrow.NewMetadata([]string{"k"}, []string{strings.Repeat("v", metadata)})
	tb := table{schema: arrow.NewSchema(fields, &m)}
	for _, n := range rows {
		b := array.NewInt64Builder(memory.NewGoAllocator())
		for range n {
			b.Append(0)
		}
		column := b.NewArray()
		tb.batches = append(tb.batches, array.NewRecordBatch(tb.schema, slices.Repeat([]arrow.Array{column}, columns), int64(n)))
	}
	return tb
}

// Datasets that are all metadata fill the budget like any other: the put that finds no room says so, and nothing of it stays.
func TestSchemasFillTheBudget(t *testing.T) {
	f := start(t, budget(100*time.Millisecond, EvictionReject))
	puts := 0
	var err error
	for ; puts < 20; puts++ {
		if _, err = f.send(described(byPath(fmt.Sprint("d", puts)), messagesOf(t, wideTable(1, mib+puts)))); err != nil {
			break
		}
	}
	wantStatus(t, err, codes.ResourceExhausted, fmt.Sprintf("\"d%d\"", puts), "memory")
	if puts < 2 || puts > 4 {
		t.Errorf("%d datasets of 1 MiB of metadata, twice on the heap, went into 8 MiB", puts)
	}
	full := f.charged()
	if full > 8*mib {
		t.Errorf("%d bytes are charged", full)
	}
	// Of what is there already there can be more.
	for i := range 20 {
		f.put(byPath(fmt.Sprint("e", i)), wideTable(1, mib))
	}
	for i := range puts {
		messages := f.get(fmt.Sprint("d", i))
		if len(messages) != 1 || len(messages[0].DataHeader) < mib+i {
			t.Errorf("d%d: %d messages", i, len(messages))
		}
	}
	f.catalog.Clear()
	f.settles(0)
}

// A large schema that goes to readers who do not read is sent from the store's own memory; what is left of one when columns
// are chosen counts to the budget.
func TestSlowReadersOfLargeSchemas(t *testing.T) {
	f := start(t, budget(100*time.Millisecond, EvictionReject))
	f.put(byPath("d"), wideTable(2, mib, 1))
	charged := f.charged()
	var all []arrowflight.FlightService_DoGetClient
	for range 30 {
		stream, err := f.client.DoGet(f.context(), &arrowflight.Ticket{Ticket: []byte("d")})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stream)
	}
	f.eventually("all reads have sent the schema", func() bool { return f.sent.Load() >= 30 })
	if n := f.charged(); n > charged+mib {
		t.Errorf("%d bytes are charged, %d without readers", n, charged)
	}
	for _, s := range all {
		if m, err := s.Recv(); err != nil || len(m.DataHeader) < mib {
			t.Error(err)
		}
	}
	refused := 0
	for range 30 {
		if _, err := read(f.context(), f.client, `{"dataset":"d","columns":[0]}`); err != nil {
			wantStatus(t, err, codes.ResourceExhausted, "memory")
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d reads one after the other were refused", refused)
	}
	for range 30 {
		stream, err := f.client.DoGet(f.context(), &arrowflight.Ticket{Ticket: []byte(`{"dataset":"d","columns":[0]}`)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stream)
	}
	for _, s := range all[30:] {
		if _, err := s.Recv(); err != nil {
			wantStatus(t, err, codes.ResourceExhausted, "memory")
			refused++
		}
		if n := f.charged(); n > 8*mib {
			t.Errorf("%d bytes are charged", n)
		}
	}
	f.collects(charged)
}
