package flight

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// wire is a client whose TCP connection a test can cut.
type wire struct {
	client arrowflight.FlightServiceClient
	conn   *grpc.ClientConn

	mu   sync.Mutex
	dial []net.Conn
}

func (f *fixture) wire(options ...grpc.DialOption) *wire {
	w := &wire{}
	w.conn = f.dial(append(options, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			w.mu.Lock()
			w.dial = append(w.dial, c)
			w.mu.Unlock()
		}
		return c, err
	}))...)
	w.client = arrowflight.NewFlightServiceClient(w.conn)
	return w
}

// cut closes the connection under the client, with a reset: what it has not read is lost.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.dial {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// unchanged checks that a dataset is as it was before a put that failed, and that the put's memory came back.
func (f *fixture) unchanged(name string, was table, stored int64) {
	f.Helper()
	f.settles(stored)
	if was.schema == nil {
		_, err := read(f.context(), f.client, name)
		wantStatus(f, err, codes.NotFound, name)
		return
	}
	sameTable(f, tableOf(f, f.get(name)), was)
}

// Nothing of a put that fails is visible, wherever in its stream it fails: neither of a new dataset, nor of one that is
// replaced or appended to.
func TestFailedPutLeavesNothing(t *testing.T) {
	const batches = 5
	tb := mixed(7, 500, 500, 500, 500, 500)
	stream := messagesOf(t, tb)
	bad := func(m *arrowflight.FlightData) *arrowflight.FlightData {
		m = proto.Clone(m).(*arrowflight.FlightData)
		m.DataBody = m.DataBody[:len(m.DataBody)/2]
		return m
	}
	for _, before := range []string{"absent", "replace", "append"} {
		t.Run(before, func(t *testing.T) {
			f := start(t)
			var was table
			d := byCommand(`{"dataset":"d","mode":"append","batching":"keep"}`)
			if before == "replace" {
				d = byCommand(`{"dataset":"d","batching":"keep"}`)
			}
			if before != "absent" {
				was = mixed(8, 100)
				f.put(byPath("d"), was)
			}
			stored := f.charged()
			for k := range batches {
				t.Run(fmt.Sprintf("bad batch %d", k), func(t *testing.T) {
					f := f.in(t)
					messages := described(d, stream)
					messages[1+k] = bad(messages[1+k])
					_, err := f.send(messages)
					wantStatus(t, err, codes.InvalidArgument, `dataset "d"`, fmt.Sprintf("record batch %d", k))
					f.unchanged("d", was, stored)
				})
			}
			for k := range batches + 1 {
				t.Run(fmt.Sprintf("cancelled after %d batches", k), func(t *testing.T) {
					f := f.in(t)
					ctx, cancel := context.WithCancel(f.context())
					begun(f, ctx, f.client, described(d, stream)[:1+k])
					cancel()
					f.eventually("the put ends", func() bool { return f.ended("DoPut") == 1 })
					f.unchanged("d", was, stored)
				})
				t.Run(fmt.Sprintf("connection lost after %d batches", k), func(t *testing.T) {
					f := f.in(t)
					w := f.wire()
					begun(f, f.context(), w.client, described(d, stream)[:1+k])
					w.cut()
					f.eventually("the put ends", func() bool { return f.ended("DoPut") == 1 })
					f.unchanged("d", was, stored)
				})
			}
		})
	}
}

// ended counts the calls of an RPC that have ended since the log was taken.
func (f *fixture) ended(rpc string) (n int) {
	for _, e := range f.logs.FilterMessage("call").All() {
		if e.ContextMap()["rpc"] == rpc {
			n++
		}
	}
	return n
}

// begun opens a put and sends messages without an end, and returns when the handler has received them. The log is
// emptied first: what ends after is this put.
func begun(f *fixture, ctx context.Context, client arrowflight.FlightServiceClient, messages messages) {
	f.Helper()
	f.logs.TakeAll()
	want := f.received.Load() + int64(len(messages))
	stream, err := client.DoPut(ctx)
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			f.Fatal(err)
		}
	}
	f.eventually("the messages have come", func() bool { return f.received.Load() == want })
}
