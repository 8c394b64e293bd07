package gather

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// writer writes frames as gRPC does: the head of one of data, then its payload in pieces; all others whole.
type writer struct {
	t     *testing.T
	conn  *Conn
	whole *http2.Framer
}

func newWriter(t *testing.T, c *Conn) *writer {
	return &writer{t: t, conn: c, whole: http2.NewFramer(c, nil)}
}

func (w *writer) write(p []byte) {
	w.t.Helper()
	if n, err := w.conn.Write(p); n != len(p) || err != nil {
		w.t.Fatal(n, err)
	}
}

func (w *writer) data(stream uint32, ends bool, pieces ...[]byte) {
	w.t.Helper()
	length, flags := 0, byte(0)
	for _, p := range pieces {
		length += len(p)
	}
	if ends {
		flags = endStream
	}
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), 0, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}
	w.write(head)
	clear(head)
	for _, p := range pieces {
		w.write(p)
	}
}

// stall makes a connection of which nothing is sent until it is told to: all that is written meanwhile waits together.
func stall(t *testing.T, network string, o Options) (c *Conn, far net.Conn, goOn func()) {
	t.Helper()
	near, far := connect(t, network)
	c = New(near, o)
	c.sending = true
	t.Cleanup(func() {
		c.Close()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		ended(t, c)
	})
	return c, far, func() {
		senders.Add(1)
		go c.send()
	}
}

// reader reads frames of any size.
func reader(far net.Conn) *http2.Framer {
	frames := http2.NewFramer(nil, far)
	frames.SetMaxReadFrameSize(maxFrame)
	return frames
}

// next reads a frame as a line of text.
func next(t *testing.T, frames *http2.Framer) string {
	t.Helper()
	f, err := frames.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	h := f.Header()
	return fmt.Sprintf("%v %d %d %v", h.Type, h.StreamID, h.Length, h.Flags.Has(http2.FlagDataEndStream))
}

// Frames become one where that changes nothing of what they mean: those of data, of one stream, one after the other.
func TestFramesThatFollowEachOther(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit int
		write func(*writer)
		want  []string
	}{
		{"one stream", 100, func(w *writer) {
			for range 3 {
				w.data(1, false, make([]byte, 20), make([]byte, 10))
			}
		}, []string{"DATA 1 90 false"}},
		{"up to the limit", 60, func(w *writer) {
			for range 3 {
				w.data(1, false, make([]byte, 30))
			}
		}, []string{"DATA 1 60 false", "DATA 1 30 false"}},
		{"not beyond", 59, func(w *writer) {
			for range 3 {
				w.data(1, false, make([]byte, 30))
			}
		}, []string{"DATA 1 30 false", "DATA 1 30 false", "DATA 1 30 false"}},
		{"two streams", 100, func(w *writer) {
			for _, s := range []uint32{1, 3, 3, 1} {
				w.data(s, false, make([]byte, 10))
			}
		}, []string{"DATA 1 10 false", "DATA 3 20 false", "DATA 1 10 false"}},
		{"the end", 100, func(w *writer) {
			w.data(1, false, make([]byte, 10))
			w.data(1, true, make([]byte, 10))
			w.data(1, true, make([]byte, 10)) // nobody does
		}, []string{"DATA 1 20 true", "DATA 1 10 true"}},
		{"empty frames", 100, func(w *writer) {
			w.data(1, false)
			w.data(1, false, make([]byte, 10))
			w.data(1, true)
		}, []string{"DATA 1 10 true"}},
		{"others between", 100, func(w *writer) {
			w.data(1, false, make([]byte, 10))
			_ = w.whole.WritePing(true, [8]byte{})
			w.data(1, false, make([]byte, 10))
			_ = w.whole.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
			w.data(1, false, make([]byte, 10))
		}, []string{"DATA 1 10 false", "PING 0 8 true", "DATA 1 10 false", "HEADERS 1 1 true", "DATA 1 10 false"}},
		{"padding", 100, func(w *writer) {
			for range 2 {
				_ = w.whole.WriteDataPadded(1, false, make([]byte, 5), make([]byte, 4))
			}
		}, []string{"DATA 1 10 false", "DATA 1 10 false"}},
	} {
		for _, network := range networks {
			t.Run(tc.name+"/"+network, func(t *testing.T) {
				c, far, goOn := stall(t, network, Options{FrameLimit: func() int { return tc.limit }})
				w := newWriter(t, c)
				tc.write(w)
				_ = w.whole.WriteGoAway(0, 0, nil)
				goOn()
				frames := reader(far)
				for i, want := range append(tc.want, "GOAWAY 0 8 false") {
					if got := next(t, frames); got != want {
						t.Fatalf("frame %d is %s, want %s", i, got, want)
					}
				}
			})
		}
	}
}

// A head that is being sent is not changed any more, and what lies behind a head belongs to it however often it is sent between.
func TestNoFrameGrowsOnceSent(t *testing.T) {
	near, far := connect(t, "tcp")
	c := New(near, Options{FrameLimit: func() int { return maxFrame }})
	defer func() { c.Close(); ended(t, c) }()
	w := newWriter(t, c)
	rests := func() {
		wait(t, "rest", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return !c.sending
		})
	}
	w.write([]byte{0, 0, 6, 0, 0, 0, 0, 0, 1})
	rests()
	w.write([]byte("abc"))
	rests()
	w.write([]byte("def"))
	w.data(1, true, []byte("ghi"))
	got := make([]byte, 9+6+9+3)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x06\x00\x00\x00\x00\x00\x01abcdef\x00\x00\x03\x00\x01\x00\x00\x00\x01ghi"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is not written as frames is sent as it is.
func TestWhatIsNoFrame(t *testing.T) {
	data := []byte{0, 0, 3, 0, 0, 0, 0, 0, 1}
	for name, writes := range map[string][][]byte{
		"half a head":      {data[:4], data[4:], []byte("abc"), data, []byte("abc")},
		"a head and more":  {append(bytes.Clone(data), "abcdef"...), data, []byte("abc"), data},
		"a long payload":   {data, []byte("abcd"), data, []byte("abc"), data, []byte("abc")},
		"nothing":          {nil, {}, data, nil, []byte("abc")},
		"a payload at one": {data, []byte("abc")},
	} {
		c, far, goOn := stall(t, "tcp", Options{FrameLimit: func() int { return maxFrame }})
		for _, p := range writes {
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		goOn()
		want := bytes.Join(writes, nil)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// A model: streams of any sizes, in any order, with other frames between, from memory that stays and that does not. Each stream's
// data come whole and in order, no frame is larger than was allowed when it was written, and nothing passes a frame of another kind.
func TestStreamsStayWhole(t *testing.T) {
	for _, network := range networks {
		seed := rand.Uint64()
		t.Run(network, func(t *testing.T) {
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			memory := make([]byte, 8<<20)
			_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(memory)
			near, far := connect(t, network)
			limit := 16 << 10
			c := New(near, Options{Stays: func(p []byte) bool { return within(p, memory) }, FrameLimit: func() int { return limit }})
			w := newWriter(t, c)
			type step struct { // what came before a frame that is not of data
				of  map[uint32]int
				max int
			}
			written := map[uint32][]byte{}
			pings := make(chan step, 10_000)
			read := make(chan error, 1)
			got := map[uint32][]byte{}
			joined := 0
			go func() {
				read <- func() error {
					frames := reader(far)
					longest := 0
					for {
						f, err := frames.ReadFrame()
						if errors.Is(err, io.EOF) {
							return nil
						} else if err != nil {
							return err
						}
						switch f := f.(type) {
						case *http2.DataFrame:
							got[f.StreamID] = append(got[f.StreamID], f.Data()...)
							longest = max(longest, len(f.Data()))
							if len(f.Data()) > 16<<10 {
								joined++
							}
						case *http2.PingFrame:
							s := <-pings
							for id, n := range s.of {
								if len(got[id]) != n {
									return fmt.Errorf("stream %d had %d bytes before a ping, and should have had %d", id, len(got[id]), n)
								}
							}
							if longest > s.max {
								return fmt.Errorf("a frame has %d bytes of %d", longest, s.max)
							}
							longest = 0
						}
					}
				}()
			}()
			for used := 0; used < len(memory)-32<<10; {
				id := 1 + 2*uint32(rng.IntN(2)*rng.IntN(3)) // mostly the first
				for range rng.IntN(40) {
					p := memory[used:min(used+rng.IntN(16<<10), len(memory))]
					used += len(p)
					written[id] = append(written[id], p...)
					if cut := rng.IntN(len(p) + 1); rng.IntN(2) == 0 {
						w.data(id, false, p[:cut], bytes.Clone(p[cut:]))
					} else {
						w.data(id, false, p)
					}
				}
				if rng.IntN(3) > 0 {
					s := step{of: map[uint32]int{}, max: limit}
					for id, b := range written {
						s.of[id] = len(b)
					}
					pings <- s
					_ = w.whole.WritePing(false, [8]byte{})
					limit = 16<<10 + rng.IntN(1<<20)
				}
			}
			c.Close()
			ended(t, c)
			if err := <-read; err != nil {
				t.Fatal(err)
			}
			for id, b := range written {
				if !bytes.Equal(got[id], b) {
					t.Errorf("stream %d: %d bytes came, not the %d that were written", id, len(got[id]), len(b))
				}
			}
			if joined == 0 {
				t.Error("no frame became longer")
			}
		})
	}
}
