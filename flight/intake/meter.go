package intake

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Errors of this package. They are wrapped with figures and with what to do; match them with errors.Is.
var (
	// ErrTooLarge: a message that is larger than its stream takes.
	ErrTooLarge = errors.New("message too large")
	// ErrFull: unfinished messages hold all of the memory that they may hold together.
	ErrFull = errors.New("too much is being received at once")
	// ErrStalled: nothing more came of a message that had begun, or too little where others wait.
	ErrStalled = errors.New("the rest of a message did not come")
)

// Options are the bounds of a [Meter]. A zero field means its default.
type Options struct {
	// Bytes is the most that may be received without a grant and not taken, over all streams. Each of the two lanes grants a
	// quarter of it, and at least one message. Default 64 MiB.
	Bytes int64
	// Message is the largest message, in bytes: it is granted where it is alone. Default 256 MiB.
	Message int64
	// Window is what a client may send on a stream without being asked, in bytes, as the transport has told it. Default 64 KiB.
	Window int64
	// Wait is the longest that a message waits for its grant; default 10 s, negative: it never waits.
	Wait time.Duration
	// Stall is how long nothing may come of a message that has begun; default 30 s. Where other messages wait for the grant
	// that it has, it is a fifteenth of that, and from then on [LeastRate] must have come of it, or all of it within this time where
	// it takes more than a half of its lane.
	Stall time.Duration
}

// SmallMessage is the largest message that is granted in the lane of small ones, in bytes: what stock clients take, and a
// little more.
const SmallMessage = 5 << 20

// LeastRate is how much must come of a granted message in a second, in bytes, since its grant, where others wait for one. Else a few
// clients that send a byte a second would keep all grants.
const LeastRate = 256 << 10

func (o Options) withDefaults() Options {
	o.Bytes = cmp.Or(o.Bytes, 64<<20)
	o.Message = cmp.Or(o.Message, 256<<20)
	o.Window = cmp.Or(o.Window, 64<<10)
	o.Wait = cmp.Or(o.Wait, 10*time.Second)
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	return o
}

// Meter knows what all connections of a server hold.
type Meter struct {
	opts Options

	held    atomic.Int64 // memory of all streams
	loose   atomic.Int64 // of it, what no grant covers
	buffers atomic.Int64 // of connections
	given   atomic.Int64 // streams that were given up
	ages    atomic.Uint64
	tick    atomic.Int64 // counts sweeps
	watched atomic.Bool  // a sweep is due

	relieving sync.Mutex // no other lock is taken under it but those of each
	relieved  time.Time

	mu    sync.Mutex         // after Conn.mu
	conns map[*Conn]struct{} // that have, or had, streams
	small lane
	large lane
}

// New makes a meter without connections.
func New(o Options) *Meter {
	o = o.withDefaults()
	m := &Meter{opts: o, conns: map[*Conn]struct{}{}}
	for _, l := range []*lane{&m.small, &m.large} {
		l.most, l.holders = o.Bytes/4, map[string]*holder{}
	}
	return m
}

// alone is the largest message that comes without a grant, in bytes: when all before it was taken, a transport has opened at
// least three quarters of the window again.
func (m *Meter) alone() int64 { return m.opts.Window*3/4 - prefixBytes }

// Stats are the figures of a [Meter], in bytes but for GivenUp.
type Stats struct {
	Received int64 // what streams hold that was not taken
	Buffers  int64 // of connections that are being read or written
	Limit    int64 // the most that Received comes to
	GivenUp  int64 // streams that were ended for the sake of the bound so far
}

// Stats reads the figures.
func (m *Meter) Stats() Stats {
	return Stats{Received: m.held.Load(), Buffers: m.buffers.Load(), Limit: m.limit(), GivenUp: m.given.Load()}
}

// limit is the most that streams hold: what no grant covers, and the messages of each lane.
func (m *Meter) limit() int64 {
	return m.opts.Bytes + most(max(m.small.most, SmallMessage)) + most(max(m.large.most, m.opts.Message))
}

// Took counts n bytes of memory, or fewer of it, that a connection has for its writes.
func (m *Meter) Took(n int) { m.buffers.Add(int64(n)) }

// over tells whether too much is held that no grant covers.
func (m *Meter) over() bool { return m.loose.Load() > m.opts.Bytes }

// reliefPause is how long streams that were given up have to end before others follow.
const reliefPause = 5 * time.Millisecond

// relieve gives streams up until what is held without a grant is well below its bound: first those of which nothing has come
// for a while, the longest first, then the youngest. No lock is held.
func (m *Meter) relieve() {
	if !m.relieving.TryLock() {
		return
	}
	defer m.relieving.Unlock()
	if time.Since(m.relieved) < reliefPause {
		return
	}
	m.relieved = time.Now()
	type candidate struct {
		s     *Stream
		loose int64
		idle  int64 // ticks since something came of a message that has begun
	}
	var all []candidate
	excess, now := m.loose.Load()-m.opts.Bytes*7/8, m.tick.Load()
	m.each(func(s *Stream) {
		switch {
		case s.failed:
			excess -= s.loose
		case s.loose > 0 && s.fail != nil:
			c := candidate{s, s.loose, 0}
			if s.coming.begun() && s.complete == 0 {
				c.idle = now - s.moved
			}
			all = append(all, c)
		}
	})
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.idle, a.idle), cmp.Compare(b.s.age, a.s.age))
	})
	for _, c := range all {
		if excess <= 0 {
			return
		}
		excess -= c.loose
		c.s.giveUp(fmt.Errorf("%w: unfinished messages hold %d bytes; send again, from fewer clients at once", ErrFull, m.held.Load()))
	}
}

// know notes a connection that has streams, or forgets it. The connection's lock is held.
func (m *Meter) know(c *Conn, has bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if has {
		m.conns[c] = struct{}{}
	} else {
		delete(m.conns, c)
	}
}

// each calls f with every stream, under its connection's lock.
func (m *Meter) each(f func(*Stream)) {
	m.mu.Lock()
	conns := make([]*Conn, 0, len(m.conns))
	for c := range m.conns {
		conns = append(conns, c)
	}
	m.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		for _, s := range c.streams {
			f(s)
		}
		c.mu.Unlock()
	}
}
