package intake

import (
	"net"
	"sync"
	"sync/atomic"
)

// Conn is a connection whose frames are counted. It is a net.Conn for an HTTP/2 server that reads from it without a buffer of
// its own: then what has passed is what the server has seen.
type Conn struct {
	net.Conn
	meter *Meter
	in    *source

	reading frames  // of the reader
	data    *Stream // that the frame being read belongs to; nil where nothing is counted
	pad     int     // bytes at the end of that frame that are padding
	padded  bool    // the length of the padding is still to come
	last    bool    // the frame ends the stream's data

	writing frames       // of the writer
	sent    atomic.Int64 // data frames that were written

	settings settings

	mu      sync.Mutex // before Meter.mu
	streams map[uint32]*Stream
	newest  *Stream // the one whose headers came last
	highest uint32
	closed  bool
}

// Conn makes a counted connection that reads from one and does all else by another, which may be the same, or write to the first.
// It takes over the latter.
func (m *Meter) Conn(from, c net.Conn) *Conn {
	k := &Conn{Conn: c, meter: m, in: newSource(from, m), streams: map[uint32]*Stream{}}
	k.reading.skip = preface
	return k
}

// Read reads what the client has sent, and counts it.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	c.received(p[:n])
	return n, err
}

// received counts bytes that the server has got.
func (c *Conn) received(p []byte) {
	over := false
	for len(p) > 0 {
		var payload []byte
		var began bool
		p, payload, began = c.reading.next(p)
		if began {
			over = c.begin() || over
		}
		switch {
		case len(payload) == 0 && !(began && c.reading.left == 0):
		case c.data != nil:
			c.feed(payload)
		case c.settings.frame:
			c.settle(payload)
		}
	}
	if over {
		c.meter.relieve()
	}
}

// begin looks at a frame of which the head has come, and tells whether streams now hold too much.
func (c *Conn) begin() (over bool) {
	f := &c.reading
	c.data, c.settings.frame = nil, false
	var tooMuch error
	switch f.kind {
	case frameSettings:
		c.settings.frame = f.flags&flagAck == 0
	case frameHeaders:
		c.mu.Lock()
		if f.stream > c.highest && !c.closed { // those of a stream that is there already end the connection
			if c.highest == 0 {
				c.meter.know(c, true)
			}
			c.highest = f.stream
			c.newest = c.meter.newStream(c)
			c.streams[f.stream] = c.newest
		}
		s := c.streams[f.stream]
		if s != nil && f.flags&flagEndStream != 0 {
			s.half = true
			s.signal()
		}
		c.mu.Unlock()
	case frameRSTStream:
		c.end(f.stream)
	case frameData:
		c.mu.Lock()
		s := c.streams[f.stream]
		if s != nil {
			tooMuch = s.hold(footprint(f.left))
			over = c.meter.over()
		}
		c.mu.Unlock()
		if tooMuch != nil {
			s.giveUp(tooMuch)
		}
		c.data, c.pad, c.padded, c.last = s, 0, f.flags&flagPadded != 0, f.flags&flagEndStream != 0
	}
	return over
}

// feed passes a piece of a data frame's payload to its stream.
func (c *Conn) feed(p []byte) {
	if c.padded && len(p) > 0 {
		c.pad, c.padded = int(p[0]), false
		p = p[1:]
	}
	// What is left of the frame, behind this piece, is padding at its end at least as far as the padding reaches.
	padding := min(max(c.pad-c.reading.left, 0), len(p))
	s := c.data
	c.mu.Lock()
	tooLarge := s.feed(p[:len(p)-padding])
	if c.reading.left == 0 && c.last {
		s.half = true
		s.signal()
	}
	c.mu.Unlock()
	if tooLarge != nil {
		s.giveUp(tooLarge)
	}
}

// Write sends what the server has written, and sees which streams it has ended, and which settings it has agreed to.
func (c *Conn) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		var began bool
		rest, _, began = c.writing.next(rest)
		if began && c.writing.kind == frameData {
			c.sent.Add(1)
		}
		switch f := &c.writing; {
		case !began:
		case f.kind == frameRSTStream || f.kind <= frameHeaders && f.flags&flagEndStream != 0:
			c.end(f.stream)
		case f.kind == frameSettings && f.flags&flagAck != 0:
			c.acknowledge()
		}
	}
	return c.Conn.Write(p)
}

// Sent is how many frames of data the server has written.
func (c *Conn) Sent() int64 { return c.sent.Load() }

// end forgets a stream that one side has ended: the server keeps nothing of it any more.
func (c *Conn) end(id uint32) {
	c.mu.Lock()
	if s := c.streams[id]; s != nil {
		delete(c.streams, id)
		s.end()
	}
	c.mu.Unlock()
}

// Close closes the connection and forgets its streams.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	c.closed = true
	for _, s := range c.streams {
		s.end()
	}
	clear(c.streams)
	c.meter.know(c, false)
	c.mu.Unlock()
	c.in.uncount()
	return err
}

// Opened is the stream whose headers the server has read last; nil before the first. It is for the server's reader, which
// handles headers before it reads on.
func (c *Conn) Opened() *Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}
