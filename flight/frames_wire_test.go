package flight

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// rawClient reads by HTTP/2 alone, so that frames can be seen.
type rawClient struct {
	testing.TB
	net.Conn
	*http2.Framer
	longest int
}

// rawGet begins a read of a client that takes as much as comes, in frames of any size up to frame.
func (f *fixture) rawGet(ticket string, settings ...http2.Setting) *rawClient {
	f.Helper()
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &rawClient{TB: f.TB, Conn: conn, Framer: http2.NewFramer(conn, conn)}
	c.SetMaxReadFrameSize(1<<24 - 1)
	body, err := proto.Marshal(&arrowflight.Ticket{Ticket: []byte(ticket)})
	if err != nil {
		f.Fatal(err)
	}
	var headers bytes.Buffer
	h := hpack.NewEncoder(&headers)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/arrow.flight.protocol.FlightService/DoGet"}, {":authority", "test"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		_ = h.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	const window = 1 << 30
	_, err = conn.Write([]byte(http2.ClientPreface))
	for _, write := range []func() error{
		func() error { return err },
		func() error {
			return c.WriteSettings(append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})...)
		},
		func() error { return c.WriteWindowUpdate(0, window) },
		func() error {
			return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers.Bytes(), EndHeaders: true})
		},
		func() error { return c.WriteData(1, true, prefixed(body)) },
	} {
		if err := write(); err != nil {
			f.Fatal(err)
		}
	}
	return c
}

// prefixed is a message behind gRPC's prefix.
func prefixed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// data reads all that comes, until the stream's end.
func (c *rawClient) data() (all []byte) {
	c.Helper()
	for {
		f, err := c.ReadFrame()
		if err != nil {
			c.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.WriteSettingsAck()
			}
		case *http2.DataFrame:
			all = append(all, f.Data()...)
			c.longest = max(c.longest, len(f.Data()))
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				return all
			}
		}
	}
}

// A client that takes large frames gets them, another does not, and both get the same.
func TestLargeFrames(t *testing.T) {
	const large = 1 << 20
	f := start(t)
	bigPut(f)
	const ticket = `{"dataset":"d","wire":"stored"}`
	var want []byte
	for _, m := range f.get(ticket) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, prefixed(b)...)
	}
	for name, c := range map[string]struct {
		settings    []http2.Setting
		least, most int
	}{
		"says nothing": {least: 1, most: 16 << 10},
		"takes larger": {[]http2.Setting{{ID: http2.SettingMaxFrameSize, Val: large}}, 16<<10 + 1, large},
	} {
		t.Run(name, func(t *testing.T) {
			raw := f.rawGet(ticket, c.settings...)
			f.blocked() // much waits
			if got := raw.data(); !bytes.Equal(got, want) {
				t.Errorf("%d bytes came, not the %d of another client", len(got), len(want))
			}
			if raw.longest < c.least || raw.longest > c.most {
				t.Errorf("the longest frame has %d bytes, want %d to %d", raw.longest, c.least, c.most)
			}
		})
	}
}
