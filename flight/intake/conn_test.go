package intake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/net/http2"
)

// A message is counted from its first byte until it was taken, whole or not.
func TestCountsUntilTaken(t *testing.T) {
	m := New(Options{})
	c := connect(t, m)
	s := c.open(1)
	b := messageOf(100)
	c.data(1, b[:3])
	wants(t, m, framesOf(3), framesOf(3))
	c.data(1, b[3:])
	if n, err := s.Next(context.Background()); n != 0 || err != nil {
		t.Errorf("next: %d, %v", n, err)
	}
	s.Took(105)
	wants(t, m, 0, 0)
	c.data(1, bytes.Repeat(messageOf(1000), 3))
	for range 3 {
		s.Took(1005)
	}
	wants(t, m, 0, 0)
}

// However a stream ends, nothing of it is counted any more, and nothing that comes for it later.
func TestEndsOfStreams(t *testing.T) {
	ends := map[string]func(*client){
		"answered": func(c *client) { c.answers(1) },
		"reset by the client": func(c *client) {
			c.WriteRSTStream(1, http2.ErrCodeCancel)
			c.pass()
		},
		"reset by the server": func(c *client) {
			c.WriteRSTStream(1, http2.ErrCodeCancel)
			for b := range bytes.SplitSeq(c.out.Bytes(), nil) { // byte by byte
				c.conn.Write(b)
			}
			c.out.Reset()
		},
		"closed": func(c *client) { c.conn.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			m := New(Options{Window: 64 << 10})
			c := connect(t, m)
			s := c.open(1)
			c.data(1, messageOf(100 << 10)[:50<<10])
			if err := s.Grant(context.Background(), own(s), 100<<10); err != nil {
				t.Fatal(err)
			}
			c.data(1, make([]byte, 10<<10))
			wants(t, m, framesOf(50<<10)+framesOf(10<<10), 0)
			end(c)
			wants(t, m, 0, 0)
			c.data(1, make([]byte, 1000))
			s.Took(20)
			wants(t, m, 0, 0)
			if m.small.used != 0 {
				t.Errorf("%d bytes stay granted", m.small.used)
			}
			if n, err := s.Next(context.Background()); n != 0 || err != nil {
				t.Errorf("next: %d, %v", n, err)
			}
			if name != "closed" {
				c.open(3)
				c.data(3, messageOf(10))
				wants(t, m, framesOf(15), framesOf(15))
			}
		})
	}
}

// Padding and other frames are no data, and the end of a stream's data is seen in any frame.
func TestOtherFrames(t *testing.T) {
	m := New(Options{})
	c := connect(t, m)
	s := c.open(1)
	c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	c.WriteDataPadded(1, false, messageOf(20), make([]byte, 200))
	c.WritePing(false, [8]byte{1})
	c.WriteDataPadded(1, false, messageOf(30)[:9], make([]byte, 100))
	c.WriteData(7, false, messageOf(30)) // of a stream that is not there
	c.WriteWindowUpdate(0, 1000)
	c.WriteDataPadded(1, true, messageOf(30)[9:], []byte{})
	for _, b := range c.out.Bytes() {
		c.conn.received([]byte{b})
	}
	if s.complete != 2 || s.bytes != 25+35 || !s.half {
		t.Errorf("%d messages of %d bytes, ended %v", s.complete, s.bytes, s.half)
	}
	s.Took(25)
	s.Took(35)
	wants(t, m, 0, 0)
	for id, end := range map[uint32]func(uint32){
		3: func(id uint32) { c.WriteData(id, true, nil) },
		5: func(id uint32) { c.WriteDataPadded(id, true, nil, make([]byte, 3)) },
	} {
		c = connect(t, m)
		s := c.open(id)
		end(id)
		c.pass()
		if n, err := s.Next(context.Background()); n != 0 || err != nil || !s.half {
			t.Errorf("stream %d: next %d, %v, ended %v", id, n, err, s.half)
		}
	}
}

// A model: streams that send messages, in frames of any size and in pieces of any size, and are taken, granted and ended in
// any order.
func TestModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	m := New(Options{Window: 2048, Bytes: 1 << 40})
	type stream struct {
		*Stream
		length   int    // of the message that is under way
		rest     []byte // of it, what is to come
		complete []int  // lengths of those that were sent and not taken
		open     bool
	}
	for range 20 {
		c := connect(t, m)
		streams := map[uint32]*stream{}
		next := uint32(1)
		for range 300 {
			if len(streams) == 0 || r.IntN(10) == 0 {
				streams[next] = &stream{Stream: c.open(next), open: true}
				next += 2
			}
			id := uint32(r.IntN(int(next))) | 1
			s := streams[id]
			if s == nil {
				continue
			}
			switch r.IntN(8) {
			case 0:
				c.answers(id)
				s.open = false
			case 1, 2:
				if len(s.complete) > 0 {
					s.Took(int64(s.complete[0]))
					s.complete = s.complete[1:]
				}
			default:
				if len(s.rest) == 0 {
					s.rest = messageOf(r.IntN(5000))
					s.length = len(s.rest)
				}
				n := 1 + r.IntN(len(s.rest))
				if s.open && s.coming.sized() && len(s.complete) == 0 && s.grant == 0 && s.coming.length > m.alone() {
					if err := s.Grant(context.Background(), own(s.Stream), s.coming.length); err != nil {
						t.Fatal(err)
					}
				}
				c.WriteData(id, false, s.rest[:n])
				p := c.out.Bytes()
				for len(p) > 0 {
					k := 1 + r.IntN(len(p))
					c.conn.received(p[:k])
					p = p[k:]
				}
				c.out.Reset()
				if s.rest = s.rest[n:]; len(s.rest) == 0 {
					s.complete = append(s.complete, s.length)
				}
			}
		}
		data := int64(0)
		for _, s := range streams {
			if s.open {
				if s.Stream.complete != len(s.complete) {
					t.Errorf("%d messages are complete, want %d", s.Stream.complete, len(s.complete))
				}
				data += s.bytes
			}
			if s.held < s.bytes || s.loose < 0 || s.loose > s.held || s.bytes == 0 && s.held != 0 {
				t.Errorf("%d bytes are held for %d of data, %d of them loose", s.held, s.bytes, s.loose)
			}
		}
		if held := m.held.Load(); held < data || held > 2*data+300*112 {
			t.Errorf("%d bytes are held for %d of data", held, data)
		}
		c.conn.Close()
		wants(t, m, 0, 0)
	}
	if m.small.used+m.large.used != 0 || len(m.conns) != 0 {
		t.Errorf("%d and %d bytes stay granted, %d connections stay", m.small.used, m.large.used, len(m.conns))
	}
}

// Whatever comes and goes, nothing panics, and nothing stays counted.
func FuzzConn(f *testing.F) {
	var b bytes.Buffer
	w := http2.NewFramer(&b, nil)
	b.WriteString(http2.ClientPreface)
	w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}, EndHeaders: true})
	w.WriteDataPadded(1, false, messageOf(20), make([]byte, 3))
	w.WriteRSTStream(1, 0)
	f.Add(b.Bytes(), b.Bytes()[preface:], uint8(3))
	f.Add([]byte{}, []byte{}, uint8(1))
	f.Fuzz(func(t *testing.T, in, out []byte, piece uint8) {
		m := New(Options{Bytes: 1 << 12, Window: 1 << 8})
		c := m.Conn(fake{}, fake{})
		n := int(piece) + 1
		for len(in) > 0 || len(out) > 0 {
			k := min(n, len(in))
			c.received(in[:k])
			in = in[k:]
			if s := c.Opened(); s != nil {
				s.Limit(1<<10, func(error) {})
				s.Took(int64(n))
			}
			k = min(n, len(out))
			c.Write(out[:k])
			out = out[k:]
			if h, l := m.held.Load(), m.loose.Load(); l < 0 || l > h {
				t.Fatalf("%d held, %d loose", h, l)
			}
		}
		c.Close()
		wants(t, m, 0, 0)
	})
}

// A connection that says nothing has no buffer; one that is closed with something unread has none either.
func TestBuffersOfSockets(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		t.Run(network, func(t *testing.T) {
			near, far := sockets(t, network)
			m := New(Options{})
			c := m.Conn(near, near)
			read := make(chan error, 1)
			p := make([]byte, 10)
			go func() {
				_, err := io.ReadFull(c, p)
				read <- err
			}()
			if network != "pipe" {
				for range 100 {
					if n := m.Stats().Buffers; n != 0 {
						t.Fatalf("%d bytes of buffers while nothing comes", n)
					}
				}
			}
			go far.Write(make([]byte, 25))
			if err := <-read; err != nil {
				t.Fatal(err)
			}
			if n := m.Stats().Buffers; n != readBuffer {
				t.Errorf("%d bytes of buffers while there is something to read", n)
			}
			if _, err := io.ReadFull(c, make([]byte, 15)); err != nil {
				t.Fatal(err)
			}
			if n := m.Stats().Buffers; n != 0 {
				t.Errorf("%d bytes of buffers when all was read", n)
			}
			go far.Write(make([]byte, 25))
			if _, err := io.ReadFull(c, p); err != nil {
				t.Fatal(err)
			}
			c.Close()
			if n := m.Stats().Buffers; n != 0 {
				t.Errorf("%d bytes of buffers after the end", n)
			}
			far.Close()
		})
	}
}

// The end of the other side is an end of file, and a read that waits when the connection is closed ends.
func TestEndsOfSockets(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		near, far := sockets(t, network)
		m := New(Options{})
		c := m.Conn(near, near)
		far.Close()
		if _, err := c.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v at the end", network, err)
		}
		c.Close()
		near, far = sockets(t, network)
		c = m.Conn(near, near)
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 10))
			read <- err
		}()
		c.Close()
		if err := <-read; err == nil {
			t.Errorf("%s: a read of a closed connection went well", network)
		}
		far.Close()
		if n := m.Stats().Buffers; n != 0 {
			t.Errorf("%s: %d bytes of buffers stay", network, n)
		}
	}
}

// sockets are the two ends of a connection.
func sockets(t *testing.T, network string) (near, far net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	switch network {
	case "pipe":
		return net.Pipe()
	case "unix":
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}
