package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/catalog"
)

func bounded(b Bounds) func(*setup) { return func(s *setup) { s.service.Bounds = b } }

func TestGetsAndPutsOfOneCaller(t *testing.T) {
	f := start(t, bounded(Bounds{Gets: 2, Puts: 1}))
	bigPut(f)
	ctx, cancel := context.WithCancel(f.context())
	stalled(f, ctx, f.client, ways["decoded"])
	stalled(f, ctx, f.client, ways["decoded"])
	other := arrowflight.NewFlightServiceClient(f.dial()) // by another connection: it is the address that counts
	_, err := read(f.context(), other, "d")
	wantStatus(t, err, codes.ResourceExhausted, "address 127.0.0.1 has 2 gets running", "(option --max-gets)")

	before := f.received.Load()
	put, err := f.client.DoPut(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := put.Send(&arrowflight.FlightData{FlightDescriptor: byPath("new")}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the put has begun", func() bool { return f.received.Load() > before })
	_, err = sendTo(f.context(), other, described(byPath("e"), messagesOf(t, noise(10))))
	wantStatus(t, err, codes.ResourceExhausted, "address 127.0.0.1 has 1 puts running", "(option --max-puts)")
	if _, err := f.client.GetFlightInfo(f.context(), byPath("d")); err != nil {
		t.Errorf("another call: %v", err)
	}

	cancel()
	f.eventually("the gets have ended", func() bool {
		_, err := read(f.context(), f.client, "d")
		return err == nil
	})
	f.eventually("the put has ended", func() bool {
		_, err := f.send(described(byPath("e"), messagesOf(t, noise(10))))
		return err == nil
	})
}

func TestRateOfOneCaller(t *testing.T) {
	f := start(t, bounded(Bounds{Rate: 0.01}))
	if _, err := f.client.GetFlightInfo(f.context(), byPath("d")); err == nil {
		t.Fatal("a dataset that is not there")
	}
	_, err := f.client.GetFlightInfo(f.context(), byPath("d"))
	wantStatus(t, err, codes.ResourceExhausted, "address 127.0.0.1 makes more than 0.01 calls a second", "(option --max-rate)")
	_, err = f.send(described(byPath("e"), messagesOf(t, noise(10))))
	wantStatus(t, err, codes.ResourceExhausted, "--max-rate")
}

func TestConnectionsBeyondTheLimit(t *testing.T) {
	f := start(t, bounded(Bounds{Connections: 1}))
	f.put(byPath("d"), noise(10))
	other := arrowflight.NewFlightServiceClient(f.dial())
	_, err := other.GetFlightInfo(f.context(), byPath("d"))
	wantStatus(t, err, codes.ResourceExhausted, "1 connections are open", "(option --max-connections)")
	_, err = sendTo(f.context(), other, described(byPath("e"), messagesOf(t, noise(10))))
	wantStatus(t, err, codes.ResourceExhausted, "(option --max-connections)")
	if n := f.server.places.Open(); n != 2 {
		t.Errorf("%d connections are open, want 2", n)
	}
}

// However a connection ends, its place is free again.
func TestConnectionsLeave(t *testing.T) {
	f := start(t)
	for _, said := range []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("x", 100)} {
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, said)
		f.eventually("the connection is counted or gone", func() bool { return f.server.places.Open() <= 1 })
		conn.Close()
	}
	f.eventually("all have left", func() bool { return f.server.places.Open() == 0 })
}

// A connection on which nothing was said does not keep a server that stops.
func TestStopDoesNotWaitForHandshakes(t *testing.T) {
	f := start(t)
	for range 3 {
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	f.eventually("they are there", func() bool { return f.server.places.Open() == 3 })
	f.server.NotServing()
	stopped := make(chan struct{})
	go func() { f.grpc.GracefulStop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(handshakeTime / 2):
		t.Error("it waits for connections that say nothing")
	}
}

func TestSchemasBeyondTheBounds(t *testing.T) {
	f := start(t, bounded(Bounds{Fields: 5, Depth: 2, MetadataBytes: 100}))
	wide := make([]arrow.Field, 6)
	for i := range wide {
		wide[i] = arrow.Field{Name: fmt.Sprint(i), Type: arrow.PrimitiveTypes.Int64}
	}
	long := arrow.NewMetadata([]string{"key"}, []string{strings.Repeat("x", 100)})
	for option, schema := range map[string]*arrow.Schema{
		"max-columns":  arrow.NewSchema(wide, nil),
		"max-nesting":  arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64))}}, nil),
		"max-metadata": arrow.NewSchema(wide[:1], &long),
	} {
		_, err := f.send(described(byPath("d"), messagesOf(t, table{schema: schema})))
		wantStatus(t, err, codes.InvalidArgument, `dataset "d"`, "(option --"+option+")")
	}
	f.put(byPath("d"), table{schema: arrow.NewSchema(wide[:5], nil)})
}

func TestDatasetsBeyondTheBound(t *testing.T) {
	f := start(t, func(s *setup) { s.catalog = catalog.Options{MaxDatasets: 2} })
	f.put(byPath("a"), noise(1))
	f.put(byPath("b"), noise(1))
	f.put(byPath("b"), noise(1))
	_, err := f.send(described(byPath("c"), messagesOf(t, noise(1))))
	wantStatus(t, err, codes.ResourceExhausted, "there are 2 datasets", "(option --max-datasets)")
	var dropped dropResult
	if err := f.action("drop", `{"dataset":"a"}`, &dropped); err != nil {
		t.Fatal(err)
	}
	f.put(byPath("c"), noise(1))
}

// A put of which nothing comes ends, as does a call that never says what it wants.
func TestPutsThatStandStill(t *testing.T) {
	f := start(t, bounded(Bounds{PutIdle: 50 * time.Millisecond}))
	put, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range described(byPath("d"), messagesOf(t, noise(1000))) {
		if err := put.Send(m); err != nil {
			break // it has ended already; Recv says why
		}
	}
	_, err = put.Recv()
	wantStatus(t, err, codes.DeadlineExceeded, `dataset "d"`, "nothing came for 50ms", "(option --put-idle)")
	f.settles(0)

	silent, err := f.dial().NewStream(f.context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, methodDoGet)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, silent.RecvMsg(&arrowflight.FlightData{}), codes.DeadlineExceeded, "(option --put-idle)")
	unary, err := f.dial().NewStream(f.context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/arrow.flight.protocol.FlightService/GetFlightInfo")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, unary.RecvMsg(&arrowflight.FlightInfo{}), codes.Canceled)
}

// timeouts is how many calls have ended with that code.
func (f *fixture) timeouts() int {
	return len(f.logs.FilterField(zap.String("code", codes.DeadlineExceeded.String())).All())
}

// A read that is not taken ends, and what it held comes back, also where the client never takes anything any more.
func TestReadsThatStandStill(t *testing.T) {
	for way, ticket := range ways {
		t.Run(way, func(t *testing.T) {
			f := start(t, bounded(Bounds{GetIdle: 100 * time.Millisecond}))
			charged := bigPut(f)
			stalled(f, f.context(), arrowflight.NewFlightServiceClient(f.dial()), ticket)
			f.eventually("the connection is closed, and all has come back", func() bool {
				return f.timeouts() == 1 && f.server.places.Open() == 1 && f.charged() == charged &&
					len(f.logs.FilterMessage("closed a connection that takes nothing any more").All()) == 1
			})
		})
	}
}

// A read that holds memory goes much sooner where that is short; one that sends what is stored holds none, and stays.
func TestReadsThatHoldShortMemory(t *testing.T) {
	for way, ticket := range ways {
		t.Run(way, func(t *testing.T) {
			f := start(t, bounded(Bounds{pressed: 100 * time.Millisecond, linger: 100 * time.Millisecond}), func(s *setup) { s.store.Memory = 64 << 20 })
			bigPut(f)
			charged := f.charged()
			f.put(byPath("filler"), noise(repeat(int((52<<20-charged)/8/10_000), 10_000)...))
			if !f.store.Short() {
				t.Fatal("memory is not short")
			}
			charged = f.charged()
			stalled(f, f.context(), arrowflight.NewFlightServiceClient(f.dial()), ticket)
			if way == "stored" {
				f.blocked()
				time.Sleep(300 * time.Millisecond)
				if f.timeouts() != 0 {
					t.Error("a read that holds nothing was ended")
				}
				return
			}
			f.eventually("the read is ended, and all has come back", func() bool { return f.timeouts() == 1 && f.charged() == charged })
			if n := len(f.logs.FilterField(zap.String("code", codes.DeadlineExceeded.String())).FilterMessage("call").All()); n != 1 {
				t.Errorf("%d lines", n)
			}
		})
	}
}

// Who takes up what was sent gets the reason behind it, and its connection is as before.
func TestReadsThatAreTakenUpAgain(t *testing.T) {
	for way, ticket := range ways {
		t.Run(way, func(t *testing.T) {
			f := start(t, bounded(Bounds{GetIdle: 100 * time.Millisecond, linger: time.Hour}))
			charged := bigPut(f)
			stream := stalled(f, f.context(), f.client, ticket)
			f.eventually("the read has ended", func() bool { return f.timeouts() == 1 })
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				t.Fatal("the read came to its end")
			}
			wantStatus(t, err, codes.DeadlineExceeded, "has not taken a message for 100ms", "(option --get-idle)")
			f.settles(charged)
			if n := f.server.places.Open(); n != 1 {
				t.Errorf("%d connections are open", n)
			}
		})
	}
}
