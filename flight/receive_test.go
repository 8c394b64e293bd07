package flight

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// stingy is a connection that sends so many bytes and no more, though it lives on.
type stingy struct {
	net.Conn
	mu     sync.Mutex
	left   int
	closed chan struct{}
	once   sync.Once
}

func (s *stingy) Write(p []byte) (int, error) {
	s.mu.Lock()
	n := min(s.left, len(p))
	s.left -= n
	s.mu.Unlock()
	if n > 0 {
		if n, err := s.Conn.Write(p[:n]); err != nil {
			return n, err
		}
	}
	if n < len(p) {
		<-s.closed
		return n, net.ErrClosed
	}
	return n, nil
}

func (s *stingy) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

// stingy connects a client that sends so many bytes and no more.
func (f *fixture) stingy(bytes int) (client arrowflight.FlightServiceClient, leave func()) {
	var mu sync.Mutex
	var dialled []net.Conn
	conn := f.dial(grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		s := &stingy{Conn: c, left: bytes, closed: make(chan struct{})}
		mu.Lock()
		dialled = append(dialled, s)
		mu.Unlock()
		return s, nil
	}), grpc.WithDisableRetry())
	return arrowflight.NewFlightServiceClient(conn), func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range dialled { // first: a client that closes wants to write
			c.Close()
		}
		conn.Close()
	}
}

// half has a client put the half of a message of about so many bytes, and gives how the put ends.
func (f *fixture) half(bytes int) (ended chan error, leave func()) {
	client, leave := f.stingy(bytes / 2)
	messages := described(byCommand(`{"dataset":"half","codec":"none"}`), messagesOf(f, noise(bytes/8)))
	ended = make(chan error, 1)
	go func() {
		_, err := sendTo(f.context(), client, messages)
		ended <- err
	}()
	return ended, leave
}

// unread is what the transport holds of streams.
func (f *fixture) unread() int64 { return f.server.intake.Stats().Received }

// Clients that send half of a message and no more hold what they sent, up to a bound, and nothing when they have left. All
// others go on.
func TestHalfMessages(t *testing.T) {
	f := start(t, func(s *setup) { s.service.TransportBytes, s.service.StallTime = 16*mib, 15*time.Second })
	limit := f.figure("transport_limit_bytes")
	var leave []func()
	for _, size := range []int{mib / 4, mib, 8 * mib} {
		for range 3 {
			_, l := f.half(size)
			leave = append(leave, l)
		}
	}
	// Of each lane one is granted; the others have sent what they may unasked.
	f.eventually("they have sent what they may", func() bool { return f.unread() > 7*mib })
	for i := range 20 {
		f.put(byPath("d"), noise(mib/8/4+i))
		if i == 0 {
			f.put(byPath("e"), noise(4*mib/8)) // those before it are given up, one after the other
		}
		f.get("d")
		if n := f.unread(); n > limit {
			t.Errorf("%d bytes are held, the bound is %d", n, limit)
		}
	}
	for _, l := range leave {
		l()
	}
	f.eventually("nothing is held", func() bool { return f.unread() == 0 })
	f.eventually("all puts have ended", func() bool { return f.ended("DoPut") == 9+21 })
}

// A message that stands still ends its call, whatever the call is, and the answer says so.
func TestStalledMessages(t *testing.T) {
	f := start(t, func(s *setup) { s.service.StallTime = 300 * time.Millisecond })
	for _, size := range []int{100_000, 10 * mib} { // without and with a grant
		ended, leave := f.half(size)
		wantStatus(t, <-ended, codes.DeadlineExceeded, `dataset "half"`, "the rest of a message did not come for 300ms")
		leave()
	}
	client, leave := f.stingy(2000)
	_, err := client.GetFlightInfo(f.context(), byPath("d", string(make([]byte, 10_000))))
	wantStatus(t, err, codes.Canceled)
	leave()
	client, leave = f.stingy(2000)
	_, err = read(f.context(), client, string(make([]byte, 10_000)))
	wantStatus(t, err, codes.DeadlineExceeded, "did not come")
	leave()
	f.eventually("nothing is held", func() bool { return f.unread() == 0 })
	if n := f.figure("streams_given_up"); n != 4 {
		t.Errorf("%d streams were given up", n)
	}
}

// Only puts may send large messages.
func TestLargeRequests(t *testing.T) {
	f := start(t)
	large := string(make([]byte, 8*mib))
	_, err := f.client.GetFlightInfo(f.context(), byPath(large))
	wantStatus(t, err, codes.Canceled) // gRPC reads the requests of unary calls by itself
	_, err = read(f.context(), f.client, large)
	wantStatus(t, err, codes.ResourceExhausted, "too large", "83886", "at most 4194304")
	_, err = f.actionBody("drop", []byte(large))
	wantStatus(t, err, codes.ResourceExhausted, "too large")
	f.put(byPath("d"), noise(8*mib/8))
	f.get("d")
	f.eventually("nothing is held", func() bool { return f.unread() == 0 })
}

// A large message waits for its grant, and fails when it gets none in time; one that has all its bytes in the window, or comes
// after, does not.
func TestGrantInVain(t *testing.T) {
	f := start(t, func(s *setup) {
		s.service.MessageWait = 100 * time.Millisecond
		s.service.TransportBytes = mib
	})
	_, leave := f.half(16 * mib)
	f.eventually("half of the message has come", func() bool { return f.unread() > 8*mib })
	_, err := f.send(described(byPath("d"), messagesOf(t, noise(10*mib/8))))
	wantStatus(t, err, codes.ResourceExhausted, `"d"`, "too much is being received at once", "waited 100ms", "send again")
	f.put(byPath("d"), noise(mib/8))
	leave()
	f.eventually("nothing is held", func() bool { return f.unread() == 0 })
	f.put(byPath("d"), noise(10*mib/8))
}

// Puts that hold all memory and wait for the transport are not waited for in vain by the one that has its grant.
func TestGrantAndMemory(t *testing.T) {
	f := start(t, func(s *setup) {
		s.store.Memory, s.store.PutWait, s.store.Workers = 8*mib, time.Hour, 1
		s.service.MessageWait, s.service.TransportBytes = time.Hour, 4*mib
	})
	var streams []arrowflight.FlightService_DoPutClient
	send := func(i, n int, done func() bool) {
		messages := plainly(t, fmt.Sprint("d", i), 4)
		if i == len(streams) {
			stream, err := f.client.DoPut(f.context())
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
			streams[i].Send(messages[0])
		}
		for range n {
			if err := streams[i].Send(messages[1]); err != nil {
				t.Fatal(err)
			}
		}
		f.eventually("the messages have come", done)
	}
	staged := func(n int64) func() bool {
		return func() bool { return f.store.Stats().Staged == n*body && f.unread() == 0 }
	}
	send(0, 2, staged(2))
	send(1, 3, staged(5))
	send(2, 2, staged(7))
	send(0, 1, func() bool { return f.unread() > body }) // it has a grant, and waits for memory
	send(1, 1, func() bool { return f.unread() > body*3/2 })
	send(2, 1, func() bool { return true })
	_, err := streams[2].Recv()
	wantStatus(t, err, codes.ResourceExhausted, `"d2"`, "wait for each other's memory", "the youngest")
	for i, s := range streams[:2] {
		s.CloseSend()
		if _, err := s.Recv(); err != nil {
			t.Errorf("put %d: %v", i, err)
		}
	}
}

// What readers who do not read hold is their windows and a message each.
func TestSlowReadersOfOneConnection(t *testing.T) {
	f := start(t)
	stored := bigPut(f)
	ctx, cancel := context.WithCancel(f.context())
	client := f.agent("grpc-go")
	const readers, message = 50, 40_000*8 + 4096
	for range readers {
		stalled(f, ctx, client, ways["decoded"])
	}
	f.blocked()
	// gRPC takes messages until it has 64 KiB of the stream's, so that two may be on their way, and a third is written for it.
	if over := f.charged() - stored; over > readers*3*message {
		t.Errorf("%d bytes are held for %d readers", over, readers)
	}
	cancel()
	f.collects(stored)
}

// All that is counted of a connection is counted over a unix socket as well.
func TestUnixSocket(t *testing.T) {
	f := start(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go f.grpc.Serve(l)
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	client := arrowflight.NewFlightServiceClient(conn)
	stream, err := client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	waits := f.server.putting.holds
	for _, m := range described(byPath("d"), messagesOf(t, noise(5*mib/8))) {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	f.eventually("the put is under way", func() bool { return waits("d") && f.charged() > 5*mib && f.unread() == 0 })
	stream.CloseSend()
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	f.eventually("nothing is held", func() bool { s := f.server.intake.Stats(); return s.Received == 0 && s.Buffers == 0 })
}

// The next message of a put comes while the put is busy with the last one, here waiting for memory; what came is counted, and goes
// however the put ends.
func TestReceivesAhead(t *testing.T) {
	for name, end := range map[string]func(f *fixture, cancel func()){
		"done":      func(f *fixture, _ func()) { f.act("drop", `{"dataset":"a"}`) },
		"cancelled": func(_ *fixture, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, budget(time.Hour, EvictionReject))
			f.puts("a", 5)
			messages := plainly(t, "b", 4)
			ctx, cancel := context.WithCancel(f.context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := sendTo(ctx, f.client, messages)
				ended <- err
			}()
			f.eventually("the put waits", func() bool { return f.store.Stats().Staged == 2*body })
			f.eventually("another message has come", func() bool { return f.unread() > 2*body })
			if n, most := f.unread(), f.figure("transport_limit_bytes"); n > most {
				t.Errorf("%d bytes are held, the bound is %d", n, most)
			}
			end(f, cancel)
			if err := <-ended; (err != nil) != (name == "cancelled") {
				t.Error(err)
			}
			f.eventually("nothing is held", func() bool { return f.unread() == 0 })
			if name == "done" {
				if n := len(f.get("b")); n != 5 {
					t.Errorf("%d messages of the dataset that was put", n)
				}
			}
		})
	}
}
