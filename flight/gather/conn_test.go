package gather

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long tests wait for what must come.
const patience = 30 * time.Second

// networks are kinds of connections: those of the system, and one that has no writev, as TLS has none.
var networks = []string{"tcp", "unix", "pipe"}

func connect(t *testing.T, network string) (near, far net.Conn) {
	t.Helper()
	if network == "pipe" {
		near, far = net.Pipe()
	} else {
		address := "127.0.0.1:0"
		if network == "unix" {
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
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// held is memory that must stay as it is until it is released.
type held struct {
	b        []byte
	released atomic.Int32
}

func (h *held) Release() {
	h.released.Add(1)
	clear(h.b)
}

func wait(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

func ended(t *testing.T, c *Conn) {
	t.Helper()
	select {
	case <-c.Ended():
	case <-time.After(patience):
		t.Fatal("a closed connection goes on")
	}
}

// All that is written comes, in order, though what may change is changed and what is held is cleared as soon as it may be.
func TestWritesComeInOrder(t *testing.T) {
	for _, network := range networks {
		for range 3 {
			seed := rand.Uint64()
			t.Run(network, func(t *testing.T) {
				t.Logf("seed %d", seed)
				rng := rand.New(rand.NewPCG(seed, 0))
				near, far := connect(t, network)
				memory := make([]byte, 32<<20)
				noise := rand.NewChaCha8([32]byte{byte(seed)})
				var taken atomic.Int64
				c := New(near, Options{
					Stays: func(p []byte) bool { return len(p) > 0 && within(p, memory) },
					Took:  func(n int) { taken.Add(int64(n)) },
				})
				var all []*held
				sent := sha256.New()
				read := make(chan hash.Hash, 1)
				go func() {
					got := sha256.New()
					_, _ = io.Copy(got, far)
					read <- got
				}()
				scratch := make([]byte, 40<<10)
				for used := 0; used < len(memory)-100<<10; {
					p := scratch[:rng.IntN(len(scratch))]
					if rng.IntN(2) == 0 {
						p = p[:rng.IntN(20)]
					}
					var h *held
					if rng.IntN(2) == 0 {
						p = memory[used : used+rng.IntN(100<<10)]
						used += len(p)
						h = &held{b: p}
						all = append(all, h)
					}
					_, _ = noise.Read(p)
					sent.Write(p)
					if n, err := c.Write(p); n != len(p) || err != nil {
						t.Fatal(n, err)
					}
					if h != nil {
						c.After(h)
					} else {
						clear(p)
					}
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				ended(t, c)
				if got := <-read; !bytes.Equal(got.Sum(nil), sent.Sum(nil)) {
					t.Error("what came is not what was written")
				}
				for i, h := range all {
					if n := h.released.Load(); n != 1 {
						t.Fatalf("piece %d of %d was released %d times", i, len(all), n)
					}
				}
				if n := taken.Load(); n != 0 {
					t.Errorf("%d bytes are taken after the end", n)
				}
			})
		}
	}
}

func within(p, memory []byte) bool {
	// cap tells where a slice of an array begins.
	return cap(p) <= cap(memory) && len(p) <= cap(p) && &p[:1][0] == &memory[cap(memory)-cap(p) : cap(memory)][0]
}

// fill writes until a writer has to wait, and gives how much was taken. The writer's error comes at its end.
func fill(t *testing.T, c *Conn, p []byte) (taken *atomic.Int64, failed chan error) {
	t.Helper()
	taken, failed = new(atomic.Int64), make(chan error, 1)
	go func() {
		for {
			n, err := c.Write(p)
			if err != nil {
				failed <- err
				return
			}
			taken.Add(int64(n))
		}
	}()
	last, same := int64(-1), 0
	wait(t, "a writer that waits", func() bool {
		time.Sleep(10 * time.Millisecond)
		c.mu.Lock()
		full := c.next.bytes >= c.limit
		c.mu.Unlock()
		if now := taken.Load(); full && now == last {
			same++
		} else {
			last, same = now, 0
		}
		return same == 20 // it does not just wait for a processor
	})
	return taken, failed
}

// A reader that stands still holds what it was sent, and the limit: the writer waits, and what is given up for good is released
// only when it has come, or when the connection is closed.
func TestAReaderThatStandsStill(t *testing.T) {
	for _, network := range networks {
		for _, goesOn := range []bool{true, false} {
			near, far := connect(t, network)
			var took atomic.Int64
			c := New(near, Options{Took: func(n int) { took.Add(int64(n)) }})
			written, failed := fill(t, c, make([]byte, 10_000))
			if n := took.Load(); n > 2*(CopyLimit+10_000)+2*largeChunk {
				t.Errorf("%s: %d bytes are taken", network, n)
			}
			h := &held{}
			c.After(h)
			if h.released.Load() != 0 {
				t.Errorf("%s: released before it was sent", network)
			}
			if goesOn {
				// All that was written before comes while more is.
				if _, err := io.CopyN(io.Discard, far, written.Load()); err != nil {
					t.Fatal(err)
				}
				wait(t, "a release", func() bool { return h.released.Load() == 1 })
			}
			c.Close()
			if err := <-failed; !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: a writer ends with %v", network, err)
			}
			ended(t, c)
			if h.released.Load() != 1 || took.Load() != 0 {
				t.Errorf("%s: released %d times, %d bytes are taken after the end", network, h.released.Load(), took.Load())
			}
			if err := c.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: a second close gives %v", network, err)
			}
		}
	}
}

// A peer that goes away fails the writes, and nothing stays held.
func TestAPeerThatGoesAway(t *testing.T) {
	for _, network := range networks {
		near, far := connect(t, network)
		c := New(near, Options{})
		_, failed := fill(t, c, make([]byte, 10_000))
		h := &held{}
		c.After(h)
		far.Close()
		if err := <-failed; err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: a write gives %v", network, err)
		}
		wait(t, "a release", func() bool { return h.released.Load() == 1 })
		if _, err := near.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the connection lives on", network)
		}
		late := &held{}
		wait(t, "a late release", func() bool {
			if late.released.Load() == 0 {
				c.After(late)
			}
			return late.released.Load() > 0
		})
		c.Close()
		ended(t, c)
	}
}

// What is written last comes without anything after it, and a connection that has sent all has no memory.
func TestTheLastBytesCome(t *testing.T) {
	for _, network := range networks {
		near, far := connect(t, network)
		var took atomic.Int64
		c := New(near, Options{Took: func(n int) { took.Add(int64(n)) }})
		for i := range 1000 {
			if _, err := c.Write([]byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 1)
			if _, err := io.ReadFull(far, got); err != nil || got[0] != byte(i) {
				t.Fatal(got, err)
			}
		}
		wait(t, "rest", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return !c.sending
		})
		if n := took.Load(); n != 0 {
			t.Errorf("%s: %d bytes are taken by a connection that rests", network, n)
		}
		h := &held{}
		if c.After(h); h.released.Load() != 1 {
			t.Errorf("%s: not released though nothing waits", network)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ended(t, c)
	}
}

// pump gives a call that writes one frame of n bytes that stay, to a reader that takes them all.
func pump(t testing.TB, n int) func() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{far}, make([]byte, 1<<20))
	}()
	memory := make([]byte, n)
	c := New(near, Options{Stays: func(p []byte) bool { return len(p) == len(memory) }})
	t.Cleanup(func() {
		c.Close()
		<-c.Ended()
		<-read
		far.Close()
	})
	head := make([]byte, 9)
	return func() {
		_, _ = c.Write(head)
		if _, err := c.Write(memory); err != nil {
			t.Fatal(err)
		}
	}
}

// What a frame costs does not grow with its bytes.
func TestWriteAllocates(t *testing.T) {
	for _, n := range []int{2 << 10, 16 << 10, 1 << 20} {
		if got := testing.AllocsPerRun(200, pump(t, n)); got > 4 {
			t.Errorf("a frame of %d bytes takes %v allocations", n, got)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	write := pump(b, 16<<10)
	b.SetBytes(16 << 10)
	b.ReportAllocs()
	for b.Loop() {
		write()
	}
}
