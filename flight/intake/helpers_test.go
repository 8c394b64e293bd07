package intake

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// fake is a connection from which nothing comes.
type fake struct{ net.Conn }

func (fake) Write(p []byte) (int, error) { return len(p), nil }
func (fake) Close() error                { return nil }

// client writes the frames of a client into a counted connection, as if a server had read them.
type client struct {
	t    testing.TB
	conn *Conn
	out  bytes.Buffer
	*http2.Framer
}

func connect(t testing.TB, m *Meter) *client {
	c := &client{t: t, conn: m.Conn(fake{}, fake{})}
	c.Framer = http2.NewFramer(&c.out, nil)
	c.AllowIllegalWrites = true
	c.conn.received([]byte(http2.ClientPreface))
	return c
}

// pass hands over what was written.
func (c *client) pass() {
	c.conn.received(c.out.Bytes())
	c.out.Reset()
}

// open begins a stream.
func (c *client) open(id uint32) *Stream {
	c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0x82}, EndHeaders: true})
	c.pass()
	s := c.conn.Opened()
	s.Limit(0, func(error) {})
	return s
}

// own is a caller for each connection.
func own(s *Stream) string { return fmt.Sprintf("%p", s.conn) }

// data sends data in frames of at most 16 KiB.
func (c *client) data(id uint32, p []byte) {
	for len(p) > 0 {
		n := min(len(p), 16<<10)
		c.WriteData(id, false, p[:n])
		p = p[n:]
	}
	c.pass()
}

// answers is what the server writes to end a stream.
func (c *client) answers(id uint32) {
	var b bytes.Buffer
	f := http2.NewFramer(&b, nil)
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
	c.conn.Write(b.Bytes())
}

// messageOf is a message of n bytes with its prefix.
func messageOf(n int) []byte {
	b := make([]byte, prefixBytes+n)
	binary.BigEndian.PutUint32(b[1:], uint32(n))
	return b
}

// wants checks what the meter counts, of the streams' data.
func wants(t testing.TB, m *Meter, held, loose int64) {
	t.Helper()
	if h, l := m.held.Load(), m.loose.Load(); h != held || l != loose {
		t.Errorf("%d bytes are held, %d of them without a grant; want %d and %d", h, l, held, loose)
	}
}

// framesOf is the footprint of n bytes that come in frames of at most 16 KiB.
func framesOf(n int) (sum int64) {
	for ; n > 0; n -= min(n, 16<<10) {
		sum += footprint(min(n, 16<<10))
	}
	return sum
}
