package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/net/http2"
)

// regular makes a batch of eight columns that compress well, of 64 bytes a row.
func regular(rows int) arrow.RecordBatch {
	fields := make([]arrow.Field, 8)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: arrow.PrimitiveTypes.Int64}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i := range fields {
		column := b.Field(i).(*array.Int64Builder)
		for row := range rows {
			column.Append(int64(row / 1000 * (i + 1)))
		}
	}
	return b.NewRecordBatch()
}

// grant opens the windows of the connection and of its call.
func (r *rawConn) grant(n uint32) {
	r.Helper()
	r.send(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, n) })
	r.send(func(f *http2.Framer) error { return f.WriteWindowUpdate(1, n) })
}

// read begins a read, of which the server can send no more than the first windows take.
func (r *rawConn) read(ticket string) {
	r.Helper()
	r.call("DoGet")
	r.message(&flight.Ticket{Ticket: []byte(ticket)}, true)
}

// began waits until a read's first batch comes, and gives "", or what comes in its place.
func (r *rawConn) began() string {
	r.Helper()
	// The schema is small: the second frame of data is of a batch.
	for _, want := range []string{"headers", "data", "data"} {
		if line := r.next(); line != want {
			return line
		}
	}
	return ""
}

// Many readers of large tables that stand still cost a message or two each, whatever form they are sent in; one of them
// that goes on gets everything.
func TestReadersThatStandStill(t *testing.T) {
	const (
		budget  = 256 << 20
		readers = 50
		message = 1 << 20
		batches = 1024
	)
	address := startServer(t, "--memory", fmt.Sprint(budget))
	client := stockClient(t, address)
	batch := regular(message / 64)
	defer batch.Release()
	all := make([]arrow.RecordBatch, batches)
	for i := range all {
		all[i] = batch
	}
	facts := put(t, client, map[string]any{"dataset": "d", "codec": "zstd", "batching": "keep"}, all...)
	if got := facts["decoded_bytes"].(float64); got != message*batches {
		t.Fatalf("the dataset has %v bytes", got)
	}
	stored := figures(t, client)["charged_bytes"]

	var stalled []*rawConn
	for i := range readers {
		r := dialRaw(t, address)
		r.read(fmt.Sprintf(`{"dataset":"d","wire":%q}`, []string{"none", "stored", "lz4"}[i%3]))
		if line := r.began(); line != "" {
			t.Fatalf("reader %d: %s", i, line)
		}
		stalled = append(stalled, r)
	}
	time.Sleep(500 * time.Millisecond) // for the server to go on, if it does
	now := figures(t, client)
	t.Logf("%d readers: %d MiB in flight, %d MiB resident", readers, now["in_flight_bytes"]>>20, now["resident_bytes"]>>20)
	if now["in_flight_bytes"] > readers*3*message {
		t.Errorf("%d bytes are held for %d readers that stand still", now["in_flight_bytes"], readers)
	}
	withinBudget(t, now)

	r := stalled[0]
	for range 1100 {
		r.grant(1 << 20)
	}
	line := "data"
	for line == "data" {
		line = r.next()
	}
	if !strings.HasPrefix(line, "end grpc-status=0") {
		t.Errorf("the read that went on ended with %q", line)
	}
	for _, r := range stalled {
		r.conn.Close()
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if now = figures(t, client); now["charged_bytes"] == stored {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d bytes stay charged, of a dataset of %d", now["charged_bytes"], stored)
		}
	}
}

// withinBudget checks what the server promises of its memory.
func withinBudget(t *testing.T, now map[string]int64) {
	t.Helper()
	if now["charged_bytes"] > now["budget_bytes"] {
		t.Errorf("%d bytes are charged, the budget is %d", now["charged_bytes"], now["budget_bytes"])
	}
	if most := now["budget_bytes"]*115/100 + 96<<20 + now["transport_bytes"]; now["resident_bytes"] > most {
		t.Errorf("the process has %d bytes, more than %d", now["resident_bytes"], most)
	}
}

// Readers that would hold more than the budget are refused in time, with the reason; those that came before are not touched.
func TestReadersBeyondTheBudget(t *testing.T) {
	const budget, readers = 192 << 20, 50
	address := startServer(t, "--memory", fmt.Sprint(budget))
	client := stockClient(t, address)
	batch := regular(128 << 10) // 8 MiB, which each reader holds whole until all parts of it are sent
	defer batch.Release()
	put(t, client, map[string]any{"dataset": "d", "codec": "zstd"}, batch, batch, batch, batch)
	var all []*rawConn
	for range readers {
		r := dialRaw(t, address)
		r.read(`{"dataset":"d","wire":"none"}`)
		all = append(all, r)
	}
	refused := 0
	for _, r := range all {
		if line := r.began(); line != "" {
			refused++
			if !strings.HasPrefix(line, `end grpc-status=8 grpc-message=dataset "d": out of memory budget`) {
				t.Errorf("a reader was refused with %q", line)
			}
		}
	}
	now := figures(t, client)
	t.Logf("%d of %d readers were refused: %d MiB in flight, %d MiB resident", refused, readers, now["in_flight_bytes"]>>20, now["resident_bytes"]>>20)
	if refused == 0 || refused > readers-5 {
		t.Errorf("%d of %d readers were refused", refused, readers)
	}
	withinBudget(t, now)
	for _, r := range all {
		r.conn.Close()
	}
}
