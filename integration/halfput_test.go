package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// halfPut is a client that begins a put and sends a part of its first message.
type halfPut struct {
	conn   net.Conn
	frames *http2.Framer

	mu     sync.Mutex // of writing, and of what follows
	stream int        // how much the server lets it send on the stream, and on the connection
	whole  int
	more   *sync.Cond
	ended  bool
}

// beginPut connects, and has the client send the first part bytes of a message of size bytes, as fast as the server takes
// them. The connection stays open until leave.
func beginPut(t *testing.T, address string, size, part int) *halfPut {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	h := &halfPut{conn: conn, stream: 65535, whole: 65535}
	h.more = sync.NewCond(&h.mu)
	out := bufio.NewWriter(conn)
	out.WriteString(http2.ClientPreface)
	out.Flush()
	h.frames = http2.NewFramer(conn, bufio.NewReader(conn))
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/arrow.flight.protocol.FlightService/DoPut"}, {":authority", address},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.frames.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := h.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(block.String()), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	go h.receive()
	go h.send(size, part)
	return h
}

// receive obeys the server until the connection ends.
func (h *halfPut) receive() {
	for {
		f, err := h.frames.ReadFrame()
		h.mu.Lock()
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
				h.stream += int(v) - 65535
			}
			if !f.IsAck() {
				err = h.frames.WriteSettingsAck()
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				h.whole += int(f.Increment)
			} else {
				h.stream += int(f.Increment)
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = h.frames.WritePing(true, f.Data)
			}
		}
		h.ended = h.ended || err != nil
		h.more.Broadcast()
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (h *halfPut) send(size, part int) {
	message := make([]byte, 5+part)
	copy(message[1:], []byte{byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)})
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(message) > 0 && !h.ended {
		n := min(16<<10, len(message), h.stream, h.whole)
		if n <= 0 {
			h.more.Wait()
			continue
		}
		if h.frames.WriteData(1, false, message[:n]) != nil {
			return
		}
		message = message[n:]
		h.stream -= n
		h.whole -= n
	}
}

func (h *halfPut) leave() { h.conn.Close() }

// figures are those of server_stats.
func figures(t *testing.T, client flight.Client) map[string]int64 {
	t.Helper()
	stream, err := client.DoAction(context.Background(), &flight.Action{Type: "server_stats"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]int64
	if err := json.Unmarshal(result.Body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Many clients that each send half of a large message and then nothing cost the server little, and the others nothing.
func TestHalfMessagesOfManyClients(t *testing.T) {
	const clients, message, slack = 64, 64 << 20, 96 << 20
	address := startServer(t, "--memory", "256MiB")
	client := stockClient(t, address)
	batch := flatBatch(memory.DefaultAllocator, 0, 10_000)
	put(t, client, map[string]any{"dataset": "d"}, batch)
	var all []*halfPut
	for range clients {
		all = append(all, beginPut(t, address, message, message/2))
	}
	most, worst := int64(0), int64(0)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		put(t, client, map[string]any{"dataset": "d"}, batch)
		now := figures(t, client)
		most = max(most, now["transport_bytes"])
		worst = max(worst, now["resident_bytes"]-now["charged_bytes"]-now["transport_bytes"])
		if now["transport_bytes"] > now["transport_limit_bytes"] {
			t.Errorf("the transport holds %d bytes, its limit is %d", now["transport_bytes"], now["transport_limit_bytes"])
		}
	}
	t.Logf("the transport held %d MiB at most, of %d MiB that were on offer; the process %d MiB beyond that", most>>20, clients*message>>21, worst>>20)
	if most < 32<<20 || most > 128<<20 {
		t.Errorf("the transport held %d bytes", most)
	}
	if worst > slack {
		t.Errorf("the process had %d bytes more than it told", worst)
	}
	for _, h := range all {
		h.leave()
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		// Frames are kept to be used again, and the buffer from which this very call is read may be counted.
		if n := figures(t, client)["transport_bytes"]; n <= 17<<20 {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%d bytes are held by nobody", n)
		}
	}
}
