package flight

import (
	"runtime"
	"sync"

	"google.golang.org/grpc/mem"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/flight/gather"
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
)

// A lease is what one stream has lent to the transport: references to stored memory that gRPC still reads from.
//
// gRPC tells through the buffer's pool when it has let go of a piece, which goes when all that was written before has been sent:
// the connection sends from the piece itself. gRPC does so when a message was written and when its stream was reset, with
// two exceptions:
//
//   - Messages that were queued when their connection died. They are released when two things have passed: the
//     connection's end, after which no writer of gRPC's runs, and the stream's handler, which might still have been
//     handing over pieces.
//   - A message that is queued just after its stream was reset. gRPC's writer forgets it without a word, while the
//     connection lives on. It is released when the garbage collector finds that nobody has the piece any more; a
//     reclaimer sees to it that one comes soon.
type lease struct {
	conn *connection

	mu    sync.Mutex // after connection.mu
	lent  map[*loan]struct{}
	ended bool // the handler has returned
}

// loan is the lease's record of one piece. It does not refer to the piece, so that the collector can tell whether gRPC
// still does.
type loan struct {
	owner batchstore.Owner
	lease *lease
}

// piece is one range of a body in the transport's hands. It is the pool that gRPC gives it back to.
type piece struct {
	b    []byte
	loan *loan
}

// Get is never called: gRPC only returns pieces here.
func (p *piece) Get(int) *[]byte { panic("flight: a lent piece of memory was asked for a buffer") }

// Put is gRPC's word that it has let go of the piece.
func (p *piece) Put(*[]byte) { p.loan.over() }

// over ends the loan. It may be called again, and after a rescue.
func (n *loan) over() {
	l := n.lease
	l.mu.Lock()
	_, lent := l.lent[n]
	delete(l.lent, n)
	done := l.ended && len(l.lent) == 0
	l.mu.Unlock()
	if lent {
		l.conn.out.After(n.owner)
	}
	if done {
		l.conn.forget(l)
	}
}

// hold appends the body's pieces as buffers that keep their owner alive.
func (l *lease) hold(pieces mem.BufferSlice, m *batchstore.Message) mem.BufferSlice {
	for _, b := range m.Body {
		if mem.IsBelowBufferPoolingThreshold(len(b)) {
			// Of a small buffer gRPC never says that it is done with it: it gets a copy.
			pieces = append(pieces, mem.SliceBuffer(append([]byte(nil), b...)))
			continue
		}
		// Capacity and length are made equal: gRPC judges the threshold by capacity.
		n := &loan{owner: m.Owner, lease: l}
		p := &piece{b: b[:len(b):len(b)], loan: n}
		m.Owner.Retain()
		l.mu.Lock()
		l.lent[n] = struct{}{}
		l.mu.Unlock()
		runtime.AddCleanup(p, (*loan).over, n)
		pieces = append(pieces, mem.NewBuffer(&p.b, p))
	}
	return pieces
}

// end is called once, when the stream's handler returns. It tells whether pieces are still lent.
func (l *lease) end() bool {
	l.mu.Lock()
	l.ended = true
	idle := len(l.lent) == 0
	l.mu.Unlock()
	if idle {
		l.conn.forget(l)
		return false
	}
	l.conn.rescueIfDead(l)
	return !l.idle()
}

// idle tells whether nothing is lent.
func (l *lease) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lent) == 0
}

// rescue releases all that is still lent. Nobody reads it any more.
func (l *lease) rescue() {
	l.mu.Lock()
	left := l.lent
	l.lent = map[*loan]struct{}{} // a late Put finds nothing to release
	l.mu.Unlock()
	for n := range left {
		n.owner.Release()
	}
}

// connection knows the leases of one client connection.
type connection struct {
	intake *intake.Conn
	out    *gather.Conn
	place  *limits.Place

	mu     sync.Mutex // before lease.mu
	leases map[*lease]struct{}
	dead   bool
}

func (c *connection) newLease() *lease {
	l := &lease{conn: c, lent: map[*loan]struct{}{}}
	c.mu.Lock()
	c.leases[l] = struct{}{}
	c.mu.Unlock()
	return l
}

func (c *connection) forget(l *lease) {
	c.mu.Lock()
	delete(c.leases, l)
	c.mu.Unlock()
}

func (c *connection) rescueIfDead(l *lease) {
	c.mu.Lock()
	dead := c.dead
	if dead {
		delete(c.leases, l)
	}
	c.mu.Unlock()
	if dead {
		l.rescue()
	}
}

// close is the connection's end, when nothing is sent from it any more: leases whose handler has returned are rescued, the others when it does.
func (c *connection) close() {
	c.mu.Lock()
	c.dead = true
	var over []*lease
	for l := range c.leases {
		l.mu.Lock()
		ended := l.ended
		l.mu.Unlock()
		if ended {
			over = append(over, l)
			delete(c.leases, l)
		}
	}
	c.mu.Unlock()
	for _, l := range over {
		l.rescue()
	}
}
