package flight

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
)

// appended puts a table by appends of so many rows each.
func (f *fixture) appended(dataset string, tb table, each int64) {
	f.Helper()
	for from := int64(0); from < tb.rows(); from += each {
		f.put(byCommand(fmt.Sprintf(`{"dataset":%q,"mode":"append"}`, dataset)), tb.slice(from, from+each))
	}
}

func (f *fixture) compact(dataset string) compactResult {
	f.Helper()
	var r compactResult
	if err := f.action("compact", fmt.Sprintf(`{"dataset":%q}`, dataset), &r); err != nil {
		f.Fatalf("compact: %v", err)
	}
	return r
}

func (f *fixture) describe(dataset string) (d catalog.Description) {
	f.Helper()
	if err := f.action("describe", fmt.Sprintf(`{"dataset":%q}`, dataset), &d); err != nil {
		f.Fatalf("describe: %v", err)
	}
	return d
}

// whole is the table that a dataset has.
func (f *fixture) whole(dataset string) table {
	f.Helper()
	return tableOf(f, f.get(dataset))
}

// The action joins what was appended in small pieces: the generation and its rows stay, the facts tell the new batches,
// and asked again it has nothing to do.
func TestCompactAction(t *testing.T) {
	f := start(t)
	tb := mixed(3, 600) // in less than a crowd
	f.appended("d", tb, 10)
	f.put(byPath("other"), mixed(4, 20))
	before := f.describe("d")
	charged := f.charged()
	r := f.compact("d")
	after := f.describe("d")
	want := compactResult{
		Dataset: "d", Generation: before.Generation, BatchesBefore: 60, Batches: 1,
		StoredBytesBefore: before.StoredBytes, StoredBytes: after.StoredBytes,
	}
	if r != want || after.Batches != 1 || after.Generation != before.Generation || after.Rows != before.Rows || after.Created != before.Created {
		t.Errorf("compact says %+v, want %+v; described as %+v", r, want, after)
	}
	sameTable(t, f.whole("d"), tb)
	if f.charged() >= charged || r.StoredBytes >= r.StoredBytesBefore {
		t.Errorf("%d bytes are charged, before %d; %+v", f.charged(), charged, r)
	}
	for _, s := range []statsJSON{f.stats("d"), f.stats("")} {
		if s.Compactions != 1 || s.BatchesCompacted != 60 || s.BatchesJoined != 1 || s.BytesCompacted != after.DecodedBytes {
			t.Errorf("the counters say %+v", s)
		}
	}
	if s := f.stats("other"); s.Compactions != 0 {
		t.Errorf("the other dataset's counters say %+v", s)
	}
	want.BatchesBefore, want.StoredBytesBefore = want.Batches, want.StoredBytes
	if r := f.compact("d"); r != want {
		t.Errorf("asked again it says %+v, want %+v", r, want)
	}
	f.appended("d", tb, 300)
	if r := f.compact("d"); r.BatchesBefore != 3 || r.Batches != 1 || r.Generation == before.Generation {
		t.Errorf("after more appends it says %+v", r)
	}
	wantStatus(t, f.action("compact", `{"dataset":"none"}`, nil), codes.NotFound, `"none"`)
}

// Batches of a put that says so stay as they are, whatever is appended and whoever asks.
func TestCompactLeavesKeptBatches(t *testing.T) {
	f := start(t)
	tb := mixed(3, 40, 40, 40, 40)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), tb)
	f.appended("d", tb, 10)
	f.put(byCommand(`{"dataset":"d","batching":"keep","mode":"append"}`), tb)
	f.appended("d", tb, 10)
	if r := f.compact("d"); r.BatchesBefore != 4+16+4+16 || r.Batches != 4+1+4+1 {
		t.Errorf("compact says %+v", r)
	}
	want := tb
	for range 3 {
		want.batches = append(want.batches, tb.batches...)
	}
	sameTable(t, f.whole("d"), want)
}

// What GetFlightInfo counted, its tickets deliver over a compaction while their lease runs. Then those for all rows are as
// good, and those for some batches, or for what depends on them, are refused with what to do.
func TestTicketsOverCompactions(t *testing.T) {
	for name, leased := range map[string]bool{"leased": true, "not leased": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(s *setup) {
				if !leased {
					s.service.LeaseTime = -1
				}
			})
			tb := mixed(6, 300)
			f.appended("d", tb, 10)
			all, parts := f.info(byPath("d")), f.info(byCommand(`{"dataset":"d","partitions":3}`))
			pruned := f.info(byCommand(`{"dataset":"d","filters":[["id","<",15]],"prune_only":true}`))
			statistics := f.info(byCommand(`{"dataset":"d","statistics":true,"batch_metadata":true}`))
			f.compact("d")
			check := func(bound bool) {
				t.Helper()
				sameTable(t, tableOf(t, f.get(ticketOf(all.Endpoint[0]))), tb)
				for _, e := range append(append(parts.Endpoint[:3:3], pruned.Endpoint...), statistics.Endpoint...) {
					_, err := read(f.context(), f.client, ticketOf(e))
					if bound != (err == nil) {
						t.Errorf("a ticket that depends on the batches: %v", err)
					}
					if err != nil {
						wantStatus(t, err, codes.NotFound, "have been joined since; ask GetFlightInfo again", `"d"`)
					}
				}
			}
			check(leased)
			if leased {
				var out table
				for _, e := range parts.Endpoint {
					part := tableOf(t, f.get(ticketOf(e)))
					out.schema, out.batches = part.schema, append(out.batches, part.batches...)
				}
				sameTable(t, out, tb)
				if n := tableOf(t, f.get(ticketOf(pruned.Endpoint[0]))).rows(); n != pruned.TotalRecords {
					t.Errorf("%d rows of %d", n, pruned.TotalRecords)
				}
				for _, info := range []*arrowflight.FlightInfo{all, parts, pruned, statistics} {
					if status, err := f.cancel(info); err != nil || status != arrowflight.CancelStatusCancelled {
						t.Fatalf("%v, %v", status, err)
					}
				}
				check(false)
			}
			now := f.info(byCommand(`{"dataset":"d","partitions":3}`))
			if len(now.Endpoint) != 1 {
				t.Errorf("%d endpoints for one batch", len(now.Endpoint))
			}
			sameTable(t, tableOf(t, f.get(ticketOf(now.Endpoint[0]))), tb)
			f.put(byCommand(`{"dataset":"d","mode":"append"}`), tb)
			_, err := read(f.context(), f.client, ticketOf(parts.Endpoint[0]))
			wantStatus(t, err, codes.NotFound, "was replaced")
		})
	}
}

// A dataset that grows by small appends gets few batches by itself, while readers see each generation whole.
func TestCompactsByItself(t *testing.T) {
	f := start(t)
	const appends, rows, writers = 200, 7, 3
	var counted sync.Map // rows by generation
	var stop atomic.Bool
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for range appends {
				facts, err := f.send(described(byCommand(`{"dataset":"d","mode":"append","codec":"zstd"}`), messagesOf(t, numbers(constant(int64(w)), rows))))
				if err != nil {
					t.Error(err)
					return
				}
				counted.Store(facts.Generation, facts.Rows)
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for !stop.Load() {
				info, err := f.client.GetFlightInfo(f.context(), byCommand(`{"dataset":"d","partitions":5}`))
				if err != nil {
					continue // nothing has been put yet
				}
				n := int64(0)
				for _, e := range info.Endpoint {
					messages, err := read(f.context(), f.client, ticketOf(e))
					if err != nil {
						t.Error(err)
						return
					}
					n += tableOf(t, messages).rows()
				}
				if n != info.TotalRecords || n%rows != 0 {
					t.Errorf("%d rows were read of a generation of %d", n, info.TotalRecords)
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	reading.Wait()
	few := func() bool { return f.describe("d").Batches < 2*catalog.Crowd }
	f.eventually("few batches", few)
	facts := f.describe("d")
	if want, ok := counted.Load(facts.Generation); !ok || facts.Rows != writers*appends*rows || want != facts.Rows {
		t.Errorf("%d rows at the end, %v when it was committed", facts.Rows, want)
	}
	sums := map[int64]int{}
	for _, v := range f.whole("d").int64s() {
		sums[v]++
	}
	for w := range writers {
		if sums[int64(w)] != appends*rows {
			t.Errorf("writer %d has %d rows", w, sums[int64(w)])
		}
	}
	if s := f.stats("d"); s.Compactions == 0 || s.BytesCompacted > 12*8*facts.Rows {
		t.Errorf("the counters say %+v", s)
	}
}

// A commit of many puts is one that brings many batches.
func TestCommitsAreCompacted(t *testing.T) {
	f := start(t)
	var tx beginResult
	if err := f.action("begin", `{"dataset":"d"}`, &tx); err != nil {
		t.Fatal(err)
	}
	tb := mixed(8, 2*catalog.Crowd)
	for row := range tb.rows() {
		f.put(byCommand(fmt.Sprintf(`{"dataset":"d","transaction":%q}`, tx.Transaction)), tb.slice(row, row+1))
	}
	if err := f.action("commit", fmt.Sprintf(`{"dataset":"d","transaction":%q}`, tx.Transaction), &struct{}{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("one batch", func() bool { return f.describe("d").Batches == 1 })
	sameTable(t, f.whole("d"), tb)
}

func TestCompactOff(t *testing.T) {
	f := start(t, func(s *setup) { s.service.Compact = CompactOff })
	f.appended("d", mixed(1, 2*catalog.Crowd), 1)
	f.server.Close() // ends what might go on
	if facts := f.describe("d"); facts.Batches != 2*catalog.Crowd {
		t.Errorf("%d batches", facts.Batches)
	}
	if r := f.compact("d"); r.Batches != 1 {
		t.Errorf("asked for, it says %+v", r)
	}
}

// Datasets wait without repetition, and the end of the server ends what waits, and what goes on.
func TestCompactorQueue(t *testing.T) {
	f := start(t)
	c := f.server.compactor
	c.turn <- struct{}{} // something is being compacted
	for _, d := range []string{"a", "b", "a", "b", "b"} {
		f.appended(d, numbers(constant(1), catalog.Crowd), 1)
	}
	f.eventually("the first waits for its turn", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.queue) == 2 && c.queue[0] == "b" && c.queue[1] == "a" && len(c.queued) == 2
	})
	f.server.Close()
	<-c.turn
	c.grown("a")
	if c.runs || len(c.queue) != 0 {
		t.Errorf("after the end: %t, %q", c.runs, c.queue)
	}
	if n := f.describe("b").Batches; n != 3*catalog.Crowd {
		t.Errorf("%d batches", n)
	}
	f.server.Close()
}

// An action that is cancelled while it waits for its turn ends.
func TestCompactCancelled(t *testing.T) {
	f := start(t)
	f.appended("d", mixed(1, 20), 5)
	f.server.compactor.turn <- struct{}{}
	ctx, cancel := context.WithCancel(f.context())
	done := make(chan error)
	go func() {
		_, err := f.server.compactor.compact(ctx, "d", true)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-f.server.compactor.turn
}

// A dataset that is replaced while it is being compacted is left, and what was made of it given back; one that is dropped
// is not found.
func TestCompactConflict(t *testing.T) {
	f := start(t)
	f.appended("d", mixed(1, 20), 5)
	g, err := f.catalog.Current("d")
	if err != nil {
		t.Fatal(err)
	}
	f.put(byPath("d"), mixed(2, 10))
	charged := f.charged()
	if now, _, err := f.server.compactor.step(f.context(), g, true); now != nil || !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("%v, %v", now, err)
	}
	if n := f.charged(); n != charged {
		t.Errorf("%d bytes are charged, before %d", n, charged)
	}
	g.Release()
	if err := f.action("drop", `{"dataset":"d"}`, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, f.action("compact", `{"dataset":"d"}`, nil), codes.NotFound)
}

// Without memory to spare nothing is joined: the action says what holds it, and all is as it was.
func TestCompactWithoutMemory(t *testing.T) {
	f := start(t, func(s *setup) { s.store.Memory = 8 << 20; s.store.Workers = 1 })
	tb := noise(3000)
	f.appended("d", tb, 100)
	batches := f.describe("d").Batches
	for n := 1 << 20; n >= 1<<12; {
		block, err := f.store.Alloc(n)
		if err != nil {
			n /= 2
			continue
		}
		defer batchstore.Free(&block)
	}
	wantStatus(t, f.action("compact", `{"dataset":"d"}`, nil), codes.ResourceExhausted, "bytes are taken")
	if n := f.describe("d").Batches; n != batches {
		t.Errorf("%d batches, before %d", n, batches)
	}
}
