package gather

// A frame of HTTP/2 begins with the length of its payload, its kind, its flags and its stream (RFC 9113, section 4.1).
const (
	headBytes = 9
	kindData  = 0
	endStream = 1
	maxFrame  = 1<<24 - 1
)

// frame is one of data that waits to be sent, and can still become longer.
type frame struct {
	head   []byte // where it waits; nil where there is no such frame
	stream [4]byte
	length int // of the payload
}

// framed looks at what is written. If that is the head of a frame of data it keeps it, or makes the payload part of the frame
// before, and tells so. gRPC makes frames of no more than 16 KiB, of which each costs its client some time; Arrow C++ takes larger
// ones. The lock is held.
func (c *Conn) framed(p []byte) bool {
	if c.opts.FrameLimit == nil || len(p) == 0 {
		return false
	}
	if c.left > 0 {
		if c.left -= len(p); c.left < 0 {
			c.opts.FrameLimit = nil // these are no frames, or not written as we know it: nothing is changed any more
		}
		return false
	}
	last := c.next.frame
	c.next.frame = frame{}
	if len(p) < headBytes {
		c.opts.FrameLimit = nil
		return false
	}
	length := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
	if c.left = length - (len(p) - headBytes); c.left < 0 {
		c.opts.FrameLimit = nil
		return false
	}
	if p[3] != kindData || p[4]&^endStream != 0 || len(p) > headBytes {
		return false
	}
	stream := [4]byte(p[5:headBytes])
	join := last.head != nil && last.stream == stream && last.length+length <= min(c.opts.FrameLimit(), maxFrame)
	switch ends := p[4]&endStream != 0; {
	case join:
		last.length += length
		last.head[0], last.head[1], last.head[2] = byte(last.length>>16), byte(last.length>>8), byte(last.length)
		last.head[4] |= p[4]
		if !ends {
			c.next.frame = last
		}
	case !ends:
		c.next.frame = frame{head: c.next.place(headBytes, c.chunk, c.opts.Took), stream: stream, length: length}
		copy(c.next.frame.head, p)
	default:
		return false
	}
	return true
}

// place adds n bytes, which lie in one piece, to be filled in while the load waits.
func (l *load) place(n, size int, took func(int)) []byte {
	if len(l.chunks) > 0 && size-l.used < n {
		l.used = size
	}
	var empty [headBytes]byte
	l.copy(empty[:n], size, took)
	chunk := *l.chunks[len(l.chunks)-1]
	return chunk[l.used-n : l.used]
}
