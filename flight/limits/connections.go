package limits

import (
	"net"
	"sync"
	"time"
)

// reserve is how many connections there may be beyond the limit, for a moment, so that their clients are told why nothing is
// done for them.
const reserve = 100

// reserveTime is how long such a connection lives.
const reserveTime = 5 * time.Second

// Connections counts connections, and knows those whose handshakes are under way.
type Connections struct {
	most int // 0: any number

	mu      sync.Mutex
	open    int
	pending map[*Place]net.Conn // whose handshakes are under way
	hurried bool
}

// NewConnections lets so many connections be open at once; 0: any number.
func NewConnections(most int) *Connections {
	return &Connections{most: most, pending: map[*Place]net.Conn{}}
}

// Place is that of one connection. Its owner leaves it when the connection is closed.
type Place struct {
	of    *Connections
	timer *time.Timer // of one beyond the limit; nil: it is within
	once  sync.Once
}

// Enter gives a connection a place, until Leave. One beyond the limit may be let in for a few seconds, to be told so (see
// [Place.Over]), and is closed then. The error is ErrLimit; the connection is the caller's to close.
func (c *Connections) Enter(conn net.Conn) (*Place, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &Place{of: c}
	if c.most > 0 && c.open >= c.most {
		if c.open >= c.most+reserve {
			return nil, c.full()
		}
		p.timer = time.AfterFunc(reserveTime, func() { _ = conn.Close() })
	}
	c.open++
	c.pending[p] = conn
	if c.hurried {
		time.AfterFunc(hurry, func() { c.closeLate(p) })
	}
	return p, nil
}

func (c *Connections) full() error {
	return over("max-connections", "%d connections are open, the most that there may be; close some, or come again later", c.most)
}

// Over is the error for all calls of a connection beyond the limit; nil for others.
func (p *Place) Over() error {
	if p == nil || p.timer == nil {
		return nil
	}
	return p.of.full()
}

// Ready tells that the connection's handshake is over.
func (p *Place) Ready() {
	p.of.mu.Lock()
	delete(p.of.pending, p)
	p.of.mu.Unlock()
}

// Leave gives the place back. Further calls do nothing.
func (p *Place) Leave() {
	p.once.Do(func() {
		if p.timer != nil {
			p.timer.Stop()
		}
		p.of.mu.Lock()
		delete(p.of.pending, p)
		p.of.open--
		p.of.mu.Unlock()
	})
}

// Open is how many connections there are.
func (c *Connections) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// hurry is how long a handshake may take after Hurry.
const hurry = time.Second

// Hurry gives handshakes, those that are under way and those to come, a second more: a server that drains would wait for those
// of clients that never send a byte.
func (c *Connections) Hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hurried = true
	for p := range c.pending {
		time.AfterFunc(hurry, func() { c.closeLate(p) })
	}
}

// closeLate closes a connection whose handshake is not over yet.
func (c *Connections) closeLate(p *Place) {
	c.mu.Lock()
	conn := c.pending[p]
	c.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}
