package flight

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	dto "github.com/prometheus/client_model/go"
)

// stalled opens a read and receives the schema only: the server then sends until the windows are full.
func stalled(f *fixture, ctx context.Context, client arrowflight.FlightServiceClient, ticket string) arrowflight.FlightService_DoGetClient {
	f.Helper()
	stream, err := client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte(ticket)})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		f.Fatal(err)
	}
	return stream
}

// blocked waits until handlers send no more: the windows are full.
func (f *fixture) blocked() {
	f.Helper()
	last := int64(-1)
	f.eventually("the server has filled the windows", func() bool {
		time.Sleep(5 * time.Millisecond)
		now := f.sent.Load()
		same := now == last && now > 0
		last = now
		return same
	})
}

// tickets of the two ways a body is sent: the store's own memory, and memory of the one message.
var ways = map[string]string{
	"stored":  `{"dataset":"d","wire":"stored"}`,
	"decoded": `{"dataset":"d","wire":"none"}`,
}

// bigTable fills the windows of a connection several times.
var bigTable = sync.OnceValue(func() table { return noise(repeat(16, 40_000)...) })

func bigPut(f *fixture) int64 {
	f.put(byCommand(`{"dataset":"d","codec":"zstd","batching":"keep"}`), bigTable())
	return f.charged()
}

func repeat(n, v int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// A connection that dies with messages queued gives their memory back, whatever killed it.
func TestKilledReadReturnsItsMemory(t *testing.T) {
	for way, ticket := range ways {
		for _, drop := range []bool{false, true} {
			for _, how := range []string{"connection", "stream"} {
				settles := (*fixture).settles
				if how == "stream" {
					settles = (*fixture).collects
				}
				t.Run(fmt.Sprintf("%s, %s killed, dropped %v", way, how, drop), func(t *testing.T) {
					f := start(t)
					stored := bigPut(f)
					w := f.wire()
					ctx, cancel := context.WithCancel(f.context())
					defer cancel()
					stalled(f, ctx, w.client, ticket)
					f.blocked()
					if drop {
						if err := f.action("drop", `{"dataset":"d"}`, &dropResult{}); err != nil {
							t.Fatal(err)
						}
						if f.charged() < stored/2 {
							t.Errorf("%d bytes are charged while a read of %d is under way", f.charged(), stored)
						}
						stored = 0
					}
					if how == "connection" {
						w.cut()
					} else {
						cancel()
					}
					f.eventually("the read ends", func() bool { return f.ended("DoGet") == 1 })
					settles(f, stored)
				})
			}
		}
	}
}

// A reader that stops does not make the server decode ahead: what is charged for it is a few messages.
func TestSlowReaderHoldsOnlyWhatWasSent(t *testing.T) {
	f := start(t)
	stored := bigPut(f)
	ctx, cancel := context.WithCancel(f.context())
	defer cancel()
	for range 3 {
		stalled(f, ctx, f.agent("grpc-go"), ways["decoded"])
	}
	f.blocked()
	const message = 40_000 * 8
	if over := f.charged() - stored; over > 3*3*message {
		t.Errorf("%d bytes are held for three readers that stand still, over messages of %d", over, message)
	}
	cancel()
	f.collects(stored)
}

// running is how many calls of a method are being answered.
func (f *fixture) running(method string) float64 {
	var m dto.Metric
	if err := f.server.calls.running.WithLabelValues(method).Write(&m); err != nil {
		f.Fatal(err)
	}
	return m.GetGauge().GetValue()
}

// Reads that end anywhere return everything, and those that go on get the right bytes.
func TestCancelledReads(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := start(t)
	tb := noise(repeat(10, 2500)...)
	f.put(byCommand(`{"dataset":"d","codec":"zstd","batching":"keep"}`), tb)
	stored := f.charged()
	workers, gets := 8, 125
	if underRace {
		gets = 50
	}
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range gets {
				ticket := ways[[]string{"stored", "decoded"}[r.IntN(2)]]
				ctx, cancel := context.WithCancel(context.Background())
				stream, err := f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte(ticket)})
				if err != nil {
					t.Error(err)
				}
				for range r.IntN(8) {
					if _, err := stream.Recv(); err != nil {
						t.Error(err)
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	sameTable(t, tableOf(t, f.get("d")), tb)
	// Not by the log, which has a part of what is refused where that is very much at once.
	f.eventually("all reads have ended", func() bool { return f.running("DoGet") == 0 })
	f.collects(stored)
}

// Readers of one batch share its memory, and a poisoned arena shows if one of them lets go of it too early.
func TestDropDuringReads(t *testing.T) {
	for way, ticket := range ways {
		t.Run(way, func(t *testing.T) {
			f := start(t)
			bigPut(f)
			var streams []arrowflight.FlightService_DoGetClient
			var firsts []messages
			for range 4 {
				stream, err := f.agent("grpc-go").DoGet(f.context(), &arrowflight.Ticket{Ticket: []byte(ticket)})
				if err != nil {
					t.Fatal(err)
				}
				m, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				streams, firsts = append(streams, stream), append(firsts, messages{m})
			}
			if err := f.action("drop", `{"dataset":"d"}`, &dropResult{}); err != nil {
				t.Fatal(err)
			}
			f.put(byPath("other"), numbers(constant(-1), 200_000)) // would take freed memory
			for i, stream := range streams {
				got := firsts[i]
				for {
					m, err := stream.Recv()
					if err != nil {
						break
					}
					got = append(got, m)
				}
				sameTable(t, tableOf(t, got), bigTable())
			}
		})
	}
}
