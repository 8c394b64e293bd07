package flight

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/flight/gather"
)

// holder is an owner that counts how often it is held.
type holder struct {
	mu   sync.Mutex
	held int
	low  int // the least it ever was
}

func (h *holder) Retain()  { h.add(1) }
func (h *holder) Release() { h.add(-1) }

func (h *holder) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held += n
	h.low = min(h.low, h.held)
}

func (h *holder) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held
}

// rig is a connection with one lease that holds n pieces of one owner.
type rig struct {
	*testing.T
	ctx    context.Context
	conn   *connection
	lease  *lease
	pieces mem.BufferSlice
	owner  *holder
	far    net.Conn // the client's side
}

// connected gives a connection something to send by, and the other side of it.
func connected(t testing.TB, c *connection) (far net.Conn) {
	near, far := net.Pipe()
	c.out = gather.New(near, gather.Options{})
	t.Cleanup(func() {
		_ = c.out.Close()
		<-c.out.Ended()
		_ = far.Close()
	})
	return far
}

func newRig(t *testing.T, n int) *rig {
	ctx := connectionTracker{&Server{}}.TagConn(context.Background(), &stats.ConnTagInfo{})
	r := &rig{T: t, ctx: ctx, conn: connectionOf(ctx), owner: &holder{}}
	r.far = connected(t, r.conn)
	r.lease = r.conn.newLease()
	m := &batchstore.Message{Owner: r.owner}
	for range n {
		m.Body = append(m.Body, make([]byte, 4096))
	}
	r.pieces = r.lease.hold(nil, m)
	return r
}

// free is what the transport does with a piece that it is done with.
func (r *rig) free(i int) { r.pieces[i].Free() }

// connEnd is what gRPC reports when a connection is over.
func (r *rig) connEnd() {
	_ = r.conn.out.Close()
	connectionTracker{&Server{}}.HandleConn(r.ctx, &stats.ConnEnd{})
}

func (r *rig) want(held, leases int) {
	r.Helper()
	if got := r.owner.count(); got != held {
		r.Errorf("%d pieces are held, want %d", got, held)
	}
	if r.owner.low < 0 {
		r.Error("more was released than held")
	}
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if len(r.conn.leases) != leases {
		r.Errorf("the connection knows %d leases, want %d", len(r.conn.leases), leases)
	}
}

func TestLeaseReleasesWhenTheTransportLetsGo(t *testing.T) {
	r := newRig(t, 2)
	r.want(2, 1)
	r.free(0)
	r.want(1, 1)
	r.lease.end()
	r.want(1, 1) // the transport still reads the other
	r.free(1)
	r.want(0, 0)
}

func TestLeaseWithoutPieces(t *testing.T) {
	r := newRig(t, 0)
	r.lease.end()
	r.want(0, 0)
	r.connEnd()
	r.want(0, 0)
}

func TestLeaseIsRescued(t *testing.T) {
	t.Run("handler first", func(t *testing.T) {
		r := newRig(t, 3)
		r.free(1)
		r.lease.end()
		r.want(2, 1)
		r.connEnd()
		r.want(0, 0)
	})
	t.Run("connection first", func(t *testing.T) {
		r := newRig(t, 3)
		r.free(1)
		r.connEnd()
		r.want(2, 1) // the handler may be handing over pieces still
		r.lease.end()
		r.want(0, 0)
	})
	t.Run("let go between", func(t *testing.T) {
		r := newRig(t, 2)
		r.connEnd()
		r.free(0)
		r.free(1)
		r.want(0, 1)
		r.lease.end()
		r.want(0, 0)
	})
}

func TestLateAndDoubleReturnsReleaseNothingTwice(t *testing.T) {
	r := newRig(t, 2)
	var loans []*loan
	for n := range r.lease.lent {
		loans = append(loans, n)
	}
	loans[0].over()
	loans[0].over()
	r.want(1, 1)
	r.lease.end()
	r.connEnd()
	r.want(0, 0)
	r.free(0)
	r.free(1)
	r.want(0, 0)
}

// A piece that the transport forgets while the connection lives comes back with the garbage collection, and no sooner
// than the transport has forgotten it.
func TestForgottenPieceIsCollected(t *testing.T) {
	r := newRig(t, 2)
	r.lease.end()
	kept := r.pieces[1]
	r.pieces = nil
	for deadline := time.Now().Add(patience); r.owner.count() != 1; {
		if time.Now().After(deadline) {
			t.Fatalf("%d pieces are held, want the one that is still referred to", r.owner.count())
		}
		runtime.GC()
	}
	r.want(1, 1)
	kept.Free()
	r.want(0, 0)
}

// A reference that the transport took besides keeps the piece lent: it is let go of with the last.
func TestPieceGoesWithItsLastReference(t *testing.T) {
	r := newRig(t, 1)
	r.pieces[0].Ref()
	r.free(0)
	r.want(1, 1)
	r.free(0)
	r.want(0, 1)
	r.lease.end()
	r.want(0, 0)
}

// gRPC never says that it is done with a small buffer, so small pieces are copied and hold nothing.
func TestSmallPiecesAreCopied(t *testing.T) {
	r := newRig(t, 0)
	large := make([]byte, 8192)
	body := [][]byte{large[:1024], large[1024:2049], {}}
	pieces := r.lease.hold(nil, &batchstore.Message{Owner: r.owner, Body: body})
	r.want(1, 1)
	large[0], large[1024] = 1, 1
	if pieces[0].ReadOnlyData()[0] != 0 {
		t.Error("a piece of 1,024 bytes is not copied")
	}
	if pieces[1].ReadOnlyData()[0] != 1 {
		t.Error("a piece of 1,025 bytes is copied")
	}
	for _, p := range pieces {
		p.Free()
	}
	r.want(0, 1)
	r.lease.end()
	r.want(0, 0)
}

// Handlers, transport and the connection's end meet in any order.
func TestLeasesUnderConcurrency(t *testing.T) {
	const pieces = 40
	for i := range 5 * pieces {
		r := newRig(t, pieces)
		last := 1 + i%pieces // the transport forgets the rest
		var all sync.WaitGroup
		all.Go(func() {
			for i := range last {
				r.free(i)
			}
		})
		all.Go(func() { r.lease.end() })
		all.Go(r.connEnd)
		all.Wait()
		r.want(0, 0)
	}
}

// A piece that gRPC has let go of is held until what was written before has been sent, or the connection has ended.
func TestLeaseOfWhatIsBeingSent(t *testing.T) {
	for _, reads := range []bool{true, false} {
		r := newRig(t, 2)
		if _, err := r.conn.out.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		r.free(0)
		r.lease.end()
		r.want(2, 1)
		if reads {
			if _, err := io.ReadFull(r.far, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(patience); r.owner.count() > 1; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("what was sent is still held")
				}
			}
			r.want(1, 1)
		}
		r.connEnd()
		r.want(0, 0)
	}
}
