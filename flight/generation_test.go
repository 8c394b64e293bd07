package flight

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
)

// A read sees one generation whole, while others replace it.
func TestReadersSeeOneGeneration(t *testing.T) {
	f := start(t)
	const writers, puts, readers = 3, 15, 4
	shape := []int{3000, 1, 2000} // kept apart: a read has several messages
	put := func(value int64) error {
		_, err := sendTo(f.context(), f.client, described(byCommand(`{"dataset":"d","batching":"keep"}`), messagesOf(t, numbers(constant(value), shape...))))
		return err
	}
	if err := put(-1); err != nil {
		t.Fatal(err)
	}
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		writing.Go(func() {
			for i := range puts {
				if err := put(int64(w*puts + i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for r := range readers {
		ticket := []string{`{"dataset":"d","wire":"stored"}`, `{"dataset":"d","wire":"none"}`}[r%2]
		reading.Go(func() {
			for !done.Load() {
				got, err := read(f.context(), f.client, ticket)
				if err != nil {
					t.Error(err)
					return
				}
				values := tableOf(t, got).int64s()
				if len(values) != 5001 || slices.Max(values) != slices.Min(values) {
					t.Errorf("%d rows with values from %d to %d", len(values), slices.Min(values), slices.Max(values))
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

// A read that has begun goes on with its generation after that was replaced and dropped.
func TestReadOutlivesItsGeneration(t *testing.T) {
	f := start(t)
	tb := noise(repeat(10, 30_000)...)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), tb)
	stream := stalled(f, f.context(), f.client, "d")
	f.put(byPath("d"), numbers(constant(1), 10))
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	var rest messages
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		rest = append(rest, m)
	}
	sameTable(t, tableOf(t, join(messagesOf(t, table{schema: tb.schema}), rest)), tb)
	f.settles(0)
}

// Appends of many clients at once all land, each whole and in its own order.
func TestConcurrentAppends(t *testing.T) {
	f := start(t)
	const clients, appends, rows = 8, 6, 50
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range appends {
				value := int64(c*appends + i)
				if _, err := sendTo(f.context(), f.client, described(byCommand(`{"dataset":"d","mode":"append"}`), messagesOf(t, numbers(constant(value), rows)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	values := tableOf(t, f.get("d")).int64s()
	if len(values) != clients*appends*rows {
		t.Fatalf("%d rows, want %d", len(values), clients*appends*rows)
	}
	last := map[int64]int64{} // by client
	seen := map[int64]bool{}
	for put := range slices.Chunk(values, rows) {
		value := put[0]
		if slices.Max(put) != value || slices.Min(put) != value || seen[value] {
			t.Fatalf("an append was torn or came twice: %v", put)
		}
		seen[value] = true
		client := value / appends
		if before, ok := last[client]; ok && before > value {
			t.Errorf("client %d: append %d stands before %d", client, before, value)
		}
		last[client] = value
	}
}

// Concurrent creates: one wins, the others are told.
func TestConcurrentCreates(t *testing.T) {
	f := start(t)
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := sendTo(f.context(), f.client, described(byCommand(`{"dataset":"d","mode":"create"}`), messagesOf(t, numbers(constant(int64(i)), 20)))); err == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d creates succeeded", won.Load())
	}
	if got := tableOf(t, f.get("d")).int64s(); len(got) != 20 || slices.Max(got) != slices.Min(got) {
		t.Errorf("values %v", got)
	}
}

// An append adds its own bytes only: the older generation's batches are shared.
func TestAppendSharesBatches(t *testing.T) {
	f := start(t)
	f.put(byCommand(`{"dataset":"d","codec":"none"}`), noise(100_000))
	once := f.charged()
	old, err := f.catalog.Current("d")
	if err != nil {
		t.Fatal(err)
	}
	f.put(byCommand(`{"dataset":"d","codec":"none","mode":"append"}`), noise(100_000))
	g, err := f.catalog.Current("d")
	if err != nil {
		t.Fatal(err)
	}
	if len(old.Batches) != 1 || len(g.Batches) != 2 || g.Batches[0] != old.Batches[0] {
		t.Errorf("the old generation has %d batches, the new one %d, and does not share", len(old.Batches), len(g.Batches))
	}
	if got := f.charged(); got > 2*once || got < 2*once-4096 { // they share the schema as well
		t.Errorf("%d bytes for two generations, one batch is %d", got, once)
	}
	old.Release()
	g.Release()
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
}

// Puts of a dataset that stalls do not stand in the way of others, nor of its readers.
func TestStalledPutBlocksNobody(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	ctx, cancel := context.WithCancel(f.context())
	defer cancel()
	for range 4 {
		begun(f, ctx, f.client, described(byPath("d"), messagesOf(t, noise(5000))))
	}
	f.put(byCommand(`{"dataset":"d","mode":"append"}`), numbers(constant(1), 10))
	f.put(byPath("other"), numbers(constant(2), 5))
	if got := tableOf(t, f.get("d")).rows(); got != 20 {
		t.Errorf("%d rows", got)
	}
	cancel()
	f.eventually("the stalled puts end", func() bool { return f.ended("DoPut") == 6 })
	sameTable(t, tableOf(t, f.get("d")), numbers(constant(1), 20))
}

// What a put answers is readable at once, by any client.
func TestPutIsVisibleWhenItIsAnswered(t *testing.T) {
	f := start(t)
	other := arrowflight.NewFlightServiceClient(f.dial())
	for i := range 50 {
		f.put(byPath("d"), numbers(constant(int64(i)), 3))
		got, err := read(f.context(), other, "d")
		if err != nil {
			t.Fatal(err)
		}
		if v := tableOf(t, got).int64s(); v[0] != int64(i) {
			t.Fatalf("read %d after put %d", v[0], i)
		}
	}
}
