package integration

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// patience is how long a test waits for what must come: far longer than it takes.
const patience = 60 * time.Second

// maxFrame is the most bytes of a frame that every peer takes.
const maxFrame = 16 << 10

// rawConn is an HTTP/2 connection whose frames a test sends and sees: what a gRPC library would make of them is not of
// interest. It grants the server no window but the first 64 KiB.
type rawConn struct {
	*testing.T
	conn net.Conn
	seen chan string // what came, a line a frame; closed with the connection

	mu     sync.Mutex // of writing
	frames *http2.Framer
}

func dialRaw(t *testing.T, address string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return rawOver(t, conn)
}

// rawOver is an HTTP/2 connection over one that is there, which it closes.
func rawOver(t *testing.T, conn net.Conn) *rawConn {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	r := &rawConn{T: t, conn: conn, seen: make(chan string, 1000), frames: http2.NewFramer(conn, bufio.NewReader(conn))}
	r.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	r.send(func(f *http2.Framer) error { return f.WriteSettings() })
	go r.receive()
	return r
}

// send writes a frame.
func (r *rawConn) send(write func(*http2.Framer) error) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := write(r.frames); err != nil {
		r.Fatal(err)
	}
}

// receive tells what comes. Windows and settings are no news.
func (r *rawConn) receive() {
	defer close(r.seen)
	for {
		frame, err := r.frames.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				r.mu.Lock()
				r.frames.WriteSettingsAck() // an error of it is the next read's too
				r.mu.Unlock()
			}
		case *http2.MetaHeadersFrame:
			line := "headers"
			if f.StreamEnded() {
				line = "end"
			}
			for _, field := range f.Fields {
				if field.Name == "grpc-status" || field.Name == "grpc-message" {
					line += fmt.Sprintf(" %s=%s", field.Name, field.Value)
				}
			}
			r.seen <- line
		case *http2.DataFrame:
			r.seen <- "data"
		case *http2.RSTStreamFrame:
			r.seen <- "reset " + f.ErrCode.String()
		case *http2.GoAwayFrame:
			r.seen <- fmt.Sprintf("goaway %v %s", f.ErrCode, f.DebugData())
		case *http2.PingFrame:
			if f.IsAck() {
				r.seen <- "pong"
			}
		}
	}
}

// call begins a call of Flight's.
func (r *rawConn) call(method string, headers ...[2]string) {
	r.Helper()
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for _, h := range append([][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/arrow.flight.protocol.FlightService/" + method},
		{":authority", "test"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	}, headers...) {
		if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			r.Fatal(err)
		}
	}
	rest := []byte(block.String())
	next := func() (part []byte, last bool) {
		part, rest = rest[:min(len(rest), maxFrame)], rest[min(len(rest), maxFrame):]
		return part, len(rest) == 0
	}
	part, last := next()
	r.send(func(f *http2.Framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: part, EndHeaders: last})
	})
	for !last {
		part, last = next()
		r.send(func(f *http2.Framer) error { return f.WriteContinuation(1, last, part) })
	}
}

// message sends a message of the call, of at most 16 KiB; the last one half-closes it.
func (r *rawConn) message(m proto.Message, last bool) {
	r.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		r.Fatal(err)
	}
	n := len(body)
	framed := append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
	r.send(func(f *http2.Framer) error { return f.WriteData(1, last, framed) })
}

func (r *rawConn) halfClose() {
	r.Helper()
	r.send(func(f *http2.Framer) error { return f.WriteData(1, true, nil) })
}

func (r *rawConn) ping() {
	r.Helper()
	r.send(func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) })
}

// next is the next thing that comes.
func (r *rawConn) next() string {
	r.Helper()
	select {
	case line, ok := <-r.seen:
		if !ok {
			line = "closed"
		}
		return line
	case <-time.After(patience):
		r.Fatal("the server sends nothing")
	}
	return ""
}

// expect checks the next things that come, by their beginnings.
func (r *rawConn) expect(begin ...string) {
	r.Helper()
	for _, want := range begin {
		if got := r.next(); !strings.HasPrefix(got, want) {
			r.Fatalf("the server sent %q, want %q", got, want)
		}
	}
}

// quiet checks that nothing comes for a while.
func (r *rawConn) quiet(d time.Duration) {
	r.Helper()
	select {
	case line := <-r.seen:
		r.Fatalf("the server sent %q", line)
	case <-time.After(d):
	}
}

// A proxy, and some clients, take a status that comes while they are still sending for a broken stream. So it comes after
// the client's end, for every put that is refused before it, and no reset follows it.
func TestRefusalWaitsForTheClientsEnd(t *testing.T) {
	address := startServer(t)
	filler := &flight.FlightData{AppMetadata: make([]byte, 1000)}
	for name, first := range map[string]*flight.FlightData{
		"bad path":      {FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"a", ""}}},
		"bad command":   {FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("{")}},
		"no descriptor": {DataHeader: make([]byte, 64)},
		"no header":     {DataBody: make([]byte, 64)},
	} {
		t.Run(name, func(t *testing.T) {
			r := dialRaw(t, address)
			r.call("DoPut")
			r.message(first, false)
			for range 20 {
				r.message(filler, false)
			}
			r.quiet(200 * time.Millisecond)
			r.message(filler, false)
			r.halfClose()
			r.expect("end grpc-status=3 grpc-message=")
			r.ping()
			r.expect("pong")
		})
	}
	t.Run("nothing at all", func(t *testing.T) {
		r := dialRaw(t, address)
		r.call("DoPut")
		r.quiet(50 * time.Millisecond)
		r.halfClose()
		r.expect("end grpc-status=3 grpc-message=")
		r.ping()
		r.expect("pong")
	})
}

// The server ends a call at its deadline, and says so: a proxy, or a client that leaves the time to the server, would take a
// reset for a call that was cancelled.
func TestCallsEndAtTheirDeadline(t *testing.T) {
	address := startServer(t)
	batch := flatBatch(memory.DefaultAllocator, 0, 2_000_000)
	defer batch.Release()
	put(t, stockClient(t, address), map[string]any{"dataset": "large", "codec": "none"}, batch)
	deadline := [2]string{"grpc-timeout", "1S"}
	t.Run("put", func(t *testing.T) {
		const calls = 8
		var all []*rawConn
		for range calls {
			r := dialRaw(t, address)
			r.call("DoPut", deadline)
			r.message(&flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"d"}}}, false)
			all = append(all, r)
		}
		said := 0
		for _, r := range all {
			// On a machine that stands still around the deadline, gRPC's reset may overtake the status.
			if line := r.next(); strings.HasPrefix(line, `end grpc-status=4 grpc-message=dataset "d"`) {
				said++
			} else if line != "reset CANCEL" {
				t.Errorf("the server sent %q", line)
			}
		}
		if said < calls*3/4 {
			t.Errorf("of %d calls, %d were ended by a status", calls, said)
		}
	})
	t.Run("get", func(t *testing.T) {
		r := dialRaw(t, address)
		r.call("DoGet", deadline)
		r.message(&flight.Ticket{Ticket: []byte("large")}, true)
		r.expect("headers")
		frames, line := 0, r.next()
		for ; line == "data"; line = r.next() {
			frames++
			time.Sleep(20 * time.Millisecond)
			r.send(func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 16<<10) })
			r.send(func(f *http2.Framer) error { return f.WriteWindowUpdate(1, 16<<10) })
		}
		// A status would have to wait behind the data that is on its way.
		if line != "reset CANCEL" && !strings.HasPrefix(line, "end grpc-status=4") {
			t.Errorf("the server sent %q", line)
		}
		if whole := 20 << 20 / (16 << 10); frames > whole/2 {
			t.Errorf("the server sent %d frames of some %d", frames, whole)
		}
	})
}

// Clients that keep their connections alive by pings, with calls and without, keep them; those that flood do not.
func TestKeepaliveOfClients(t *testing.T) {
	address := startServer(t)
	alive := func(r *rawConn) {
		for range 5 {
			r.ping()
			r.expect("pong")
			time.Sleep(1500 * time.Millisecond)
		}
	}
	t.Run("without calls", func(t *testing.T) {
		t.Parallel()
		r := dialRaw(t, address)
		alive(r)
		r.call("DoPut")
		r.halfClose()
		r.expect("end grpc-status=3")
	})
	t.Run("during a call", func(t *testing.T) {
		t.Parallel()
		r := dialRaw(t, address)
		r.call("DoPut")
		alive(r)
		r.halfClose()
		r.expect("end grpc-status=3")
	})
	t.Run("flood", func(t *testing.T) {
		t.Parallel()
		r := dialRaw(t, address)
		for range 100 {
			r.ping()
		}
		line := r.next()
		for ; line == "pong"; line = r.next() {
		}
		if !strings.HasPrefix(line, "goaway ENHANCE_YOUR_CALM too_many_pings") {
			t.Errorf("the server sent %q", line)
		}
	})
}
