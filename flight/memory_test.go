package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
)

const mib = 1 << 20

// body is the size of the batches put here: seven of them, with their facts, are what puts may fill of 8 MiB.
const body = mib - 8<<10

// budget is a server of 8 MiB, of which puts leave 1 MiB free.
func budget(wait time.Duration, e Eviction) func(*setup) {
	return func(s *setup) {
		s.store.Memory, s.store.PutWait, s.store.Workers = 8*mib, wait, 1
		s.service.Eviction = e
	}
}

// plainly are the messages that put n batches, which are kept as they come.
func plainly(t testing.TB, name string, n int) []*arrowflight.FlightData {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = body / 8
	}
	d := byCommand(fmt.Sprintf(`{"dataset":%q,"codec":"none","batching":"keep"}`, name))
	return described(d, messagesOf(t, noise(rows...)))
}

func (f *fixture) puts(name string, n int) {
	f.Helper()
	if _, err := f.send(plainly(f, name, n)); err != nil {
		f.Fatalf("put %s: %v", name, err)
	}
}

func (f *fixture) gone(name string) {
	f.Helper()
	_, err := read(f.context(), f.client, name)
	wantStatus(f, err, codes.NotFound, name, "was evicted at 20", "to make room for a put", "put it again")
}

func TestPutWaitsForADrop(t *testing.T) {
	f := start(t, budget(patience, EvictionReject))
	f.puts("a", 5)
	messages := plainly(t, "b", 4)
	ended := make(chan error, 1)
	go func() {
		_, err := sendTo(f.context(), f.client, messages)
		ended <- err
	}()
	f.eventually("the put waits", func() bool { return f.store.Stats().Staged == 2*body })
	if err := f.action("drop", `{"dataset":"a"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := len(f.get("b")); n != 5 {
		t.Errorf("%d messages of the dataset that was put", n)
	}
}

func TestPutWithoutRoomFails(t *testing.T) {
	f := start(t, budget(50*time.Millisecond, EvictionReject))
	f.puts("a", 5)
	charged := f.charged()
	if err := f.action("pin", `{"dataset":"a"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	_, err := f.send(plainly(t, "b", 4))
	wantStatus(t, err, codes.ResourceExhausted, `dataset "b"`, "memory", "of 8388608 bytes are taken", fmt.Sprintf("(pinned %d)", 5*body),
		fmt.Sprintf("staged by puts %d", 2*body), "in flight to readers 0", "drop datasets", "--memory")
	f.settles(charged)
	_, err = read(f.context(), f.client, "b")
	wantStatus(t, err, codes.NotFound)
	f.get("a")
}

// A put that is larger than the budget fails when it has filled it, not when its time is over.
func TestPutLargerThanTheBudget(t *testing.T) {
	f := start(t, budget(time.Hour, EvictionDrop))
	_, err := f.send(plainly(t, "a", 9))
	wantStatus(t, err, codes.ResourceExhausted, "put less at once")
	f.settles(0)
}

func TestOptionsWithinTheBudget(t *testing.T) {
	store, err := batchstore.New(batchstore.Options{Memory: 8 * mib, Arena: arena.Options{ReserveBytes: 64 * mib}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, x := range []struct {
		o    Options
		want string
	}{
		{Options{MaxReceive: 8*mib + 1}, "at most the memory budget, 8388608"},
		{Options{Eviction: EvictionSpill}, "no folder to spill to (option --data-dir)"},
		{Options{Eviction: "lru"}, "want reject, drop or spill"},
	} {
		if _, err := New(store, nil, x.o); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.o, err, x.want)
		}
	}
}

// Puts that together want more than there is all succeed sooner or later, without a wait for time to pass.
func TestPutsThatShareTheBudget(t *testing.T) {
	f := start(t, budget(time.Hour, EvictionReject))
	var wg sync.WaitGroup
	for i := range 6 {
		messages := plainly(t, fmt.Sprint("d", i), 4)
		wg.Go(func() {
			for {
				_, err := sendTo(f.context(), f.client, messages)
				if status.Code(err) == codes.ResourceExhausted {
					continue // it was the youngest
				}
				if err != nil {
					t.Errorf("put %d: %v", i, err)
				}
				break
			}
			if err := f.action("drop", fmt.Sprintf(`{"dataset":"d%d"}`, i), new(any)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.settles(0)
}

func TestEvictionDropsLeastRecentlyUsed(t *testing.T) {
	f := start(t, budget(time.Second, EvictionDrop))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f.puts(name, 1)
	}
	f.get("a")
	if err := f.action("pin", `{"dataset":"b"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	info, err := f.client.GetFlightInfo(f.context(), byPath("c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.send(described(byCommand(`{"dataset":"d","mode":"append","codec":"none"}`), messagesOf(t, noise(1)))); err != nil {
		t.Fatal(err)
	}
	// In order of use: b (pinned), e, a, c (leased), d.
	f.puts("f", 2)
	f.gone("e")
	for _, name := range []string{"a", "b", "c", "d", "f"} {
		f.get(name)
	}
	f.puts("g", 1) // b, a, c, d, f
	f.gone("a")
	f.puts("f", 3) // its own rows of before are not evicted for it
	f.gone("d")
	f.gone("g")
	if messages := f.get("f"); len(messages) != 4 {
		t.Errorf("%d messages", len(messages))
	}
	_, err = f.send(plainly(t, "h", 6))
	wantStatus(t, err, codes.ResourceExhausted, fmt.Sprintf("(pinned %d)", 2*body))
	if _, err := read(f.context(), f.client, string(info.Endpoint[0].Ticket.Ticket)); err != nil {
		t.Errorf("what was leased: %v", err)
	}
	f.puts("a", 1)
	f.get("a")
}

func TestEvictAction(t *testing.T) {
	f := start(t)
	f.puts("d", 3)
	ctx, cancel := context.WithCancel(f.context())
	defer cancel()
	stream, err := f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte("d")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	f.action("pin", `{"dataset":"d"}`, new(any))
	wantStatus(t, f.action("evict", `{"dataset":"d"}`, nil), codes.FailedPrecondition, "pinned", "unpin it first")
	f.action("unpin", `{"dataset":"d"}`, new(any))
	var result evictResult
	if err := f.action("evict", `{"dataset":"d"}`, &result); err != nil {
		t.Fatal(err)
	}
	if want := (evictResult{Dataset: "d", Evicted: true, Dropped: true, StoredBytes: 3 * body, FreedBytes: 3 * body}); result != want {
		t.Errorf("%+v, want %+v", result, want)
	}
	_, err = read(f.context(), f.client, "d")
	wantStatus(t, err, codes.NotFound, "was evicted at 20", "by the action evict")
	wantStatus(t, f.action("evict", `{"dataset":"d"}`, nil), codes.NotFound, "was evicted")
	wantStatus(t, f.action("evict", `{"dataset":"other"}`, nil), codes.NotFound, "nothing was evicted")
	for n := 0; ; n++ {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			if n != 3 {
				t.Errorf("%d batches came to the reader that was there before", n)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	f.collects(0)
	var stats map[string]int64
	if err := f.action("server_stats", "", &stats); err != nil {
		t.Fatal(err)
	}
	if stats["evictions"] != 1 || stats["resident_bytes"] <= 0 || stats["budget_bytes"] != 0 || stats["in_flight_bytes"] != 0 {
		t.Errorf("%v", stats)
	}
}

// A read that has to decode needs memory too; what is sent as stored does not.
func TestReadWithoutRoom(t *testing.T) {
	f := start(t, budget(50*time.Millisecond, EvictionDrop))
	f.put(byPath("d"), numbers(constant(1), mib/8))
	var rest []arena.Block
	for _, n := range []int{256 << 10, 16 << 10} {
		for {
			b, err := f.store.Alloc(n)
			if err != nil {
				break
			}
			rest = append(rest, b)
		}
	}
	_, err := read(f.context(), f.client, `{"dataset":"d","wire":"none"}`)
	wantStatus(t, err, codes.ResourceExhausted, `dataset "d"`, "memory")
	f.get(`{"dataset":"d","wire":"stored"}`)
	for i := range rest {
		batchstore.Free(&rest[i])
	}
	f.get(`{"dataset":"d","wire":"none"}`)
}
