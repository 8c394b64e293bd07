package gather

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Limit is how many bytes may wait to be sent before a writer waits, and CopyLimit the same where all of it is copied.
const (
	Limit     = 2 << 20
	CopyLimit = 1 << 20
)

// least is the size from which a piece is sent from where it lies, in bytes: copying a smaller one costs less than its place in
// a writev.
const least = 1 << 10

// closing is how long a closed connection goes on sending what was written before.
const closing = 500 * time.Millisecond

// Releaser is what holds memory that a connection sends from.
type Releaser interface{ Release() }

// Options say what a [Conn] may do.
type Options struct {
	// Stays tells whether bytes stay as they are until what holds them is released: see [Conn.After]. Nil: none do.
	Stays func(p []byte) bool
	// Took is told how many bytes were taken for copies, and with a negative number that they are free again. Nil: nobody is.
	Took func(n int)
	// FrameLimit tells how many bytes of payload a frame of HTTP/2 may have that is written now. What is written must be frames,
	// and those that follow each other in a stream become larger ones. Nil: all is sent as it is written.
	FrameLimit func() int
}

// Conn is a connection that sends what is written in few system calls. It has the connection's other methods.
type Conn struct {
	net.Conn
	opts  Options
	limit int // Limit or CopyLimit
	chunk int // bytes of the memory that copies go to
	left  int // of the frame that is being written, what is not yet

	mu      sync.Mutex
	room    sync.Cond // of writers: less waits than the limit
	next    load      // waits
	spare   load      // empty, for its memory
	sending bool      // the goroutine runs
	closed  bool
	err     error // nothing more is sent
	ended   chan struct{}
}

// New makes a connection of c, which it takes over.
func New(c net.Conn, o Options) *Conn {
	if o.Took == nil {
		o.Took = func(int) {}
	}
	g := &Conn{Conn: c, opts: o, limit: Limit, chunk: smallChunk, ended: make(chan struct{})}
	g.room.L = &g.mu
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
	default: // it has no writev: one piece a write would be one record of TLS, or worse
		g.opts.Stays = nil
	}
	if !referring {
		g.opts.Stays = nil
	}
	if g.opts.Stays == nil {
		g.limit, g.chunk = CopyLimit, largeChunk
	}
	return g
}

// Write takes bytes to be sent. It returns before they are, and waits while too much is to be sent already. The error is that of
// an earlier write, or net.ErrClosed.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.next.bytes >= c.limit && c.err == nil && !c.closed {
		c.room.Wait()
	}
	switch {
	case c.err != nil:
		return 0, c.err
	case c.closed:
		return 0, net.ErrClosed
	}
	if !c.framed(p) {
		c.take(p)
	}
	c.start()
	return len(p), nil
}

// take keeps bytes until they are sent. The lock is held.
func (c *Conn) take(p []byte) {
	if len(p) >= least && c.opts.Stays != nil && c.opts.Stays(p) {
		c.next.refer(p)
	} else {
		c.next.copy(p, c.chunk, c.opts.Took)
	}
}

// After releases r when all that was written so far has been sent, or never will be.
func (c *Conn) After(r Releaser) {
	c.mu.Lock()
	if c.sending {
		c.next.after = append(c.next.after, r)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	r.Release()
}

// start has what waits sent. The lock is held.
func (c *Conn) start() {
	if !c.sending {
		c.sending = true
		senders.Add(1)
		go c.send()
	}
}

// senders is how many connections of the process are sending.
var senders atomic.Int64

// send sends until nothing waits.
func (c *Conn) send() {
	c.mu.Lock()
	for c.next.bytes > 0 || len(c.next.after) > 0 {
		l, failed := c.next, c.err != nil
		c.next, c.spare = c.spare, load{}
		c.room.Broadcast()
		c.mu.Unlock()

		var err error
		if !failed && l.bytes > 0 {
			if err = write(c.Conn, l.pieces); err != nil {
				_ = c.Conn.Close() // its reader is to know
			}
		}
		for _, r := range l.after {
			r.Release()
		}
		l.reset(c.opts.Took)
		if senders.Load() > 1 {
			// A fast reader could have a processor for as long as there is something to send. Others are to have their turn.
			runtime.Gosched()
		}

		c.mu.Lock()
		c.spare = l
		if err != nil {
			c.err = err
			c.room.Broadcast()
		}
	}
	c.sending = false
	c.next, c.spare = c.spare.small(), load{}
	closed := c.closed
	c.mu.Unlock()
	senders.Add(-1)
	if closed {
		_ = c.Conn.Close()
		close(c.ended)
	}
}

// Close ends the connection, after what was written has been sent, if that takes no more than half a second. It does not wait
// for it. The error is that of the connection.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	c.room.Broadcast()
	sending := c.sending
	c.mu.Unlock()
	if sending {
		_ = c.SetReadDeadline(time.Now())
		return c.SetWriteDeadline(time.Now().Add(closing))
	}
	close(c.ended)
	return c.Conn.Close()
}

// Ended is closed when a connection that was closed sends nothing any more, and all that it was to release is released.
func (c *Conn) Ended() <-chan struct{} { return c.ended }
