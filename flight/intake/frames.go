package intake

// HTTP/2's types of frames and their flags, as far as they matter here (RFC 9113, section 6).
const (
	frameData      = 0x0
	frameHeaders   = 0x1
	frameRSTStream = 0x3
	frameSettings  = 0x4

	flagEndStream = 0x1
	flagAck       = 0x1
	flagPadded    = 0x8

	settingMaxFrame = 0x5

	frameHead = 9
	// preface is how many bytes a client sends before its first frame.
	preface = 24
)

// frames follows the frames of one direction of a connection, however they are cut into pieces.
type frames struct {
	skip int // bytes before the first frame
	head [frameHead]byte
	got  int // of the head

	kind, flags byte
	stream      uint32
	left        int // of the payload, what has not passed yet
}

// next takes bytes off the front of p: it gives those of the payload that lie there, none while a frame's head is incomplete,
// and tells whether a head was completed by this step. A payload may be empty.
func (f *frames) next(p []byte) (rest, payload []byte, began bool) {
	if f.skip > 0 {
		n := min(f.skip, len(p))
		f.skip -= n
		return p[n:], nil, false
	}
	if f.left > 0 {
		n := min(f.left, len(p))
		f.left -= n
		return p[n:], p[:n], false
	}
	n := copy(f.head[f.got:], p)
	f.got += n
	if f.got < frameHead {
		return p[n:], nil, false
	}
	h := &f.head
	f.got = 0
	f.left = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	f.kind, f.flags = h[3], h[4]
	f.stream = (uint32(h[5])<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8])) &^ (1 << 31)
	return p[n:], nil, true
}

// message follows the messages within a stream's data: a flag and a length of four bytes before each.
type message struct {
	prefix [prefixBytes]byte
	got    int   // of the prefix
	length int64 // of the message, once the prefix is complete
	left   int64 // of it, what has not come yet
}

// prefixBytes is what gRPC puts before a message.
const prefixBytes = 5

// begun tells whether a part of a message has come, and not all of it.
func (m *message) begun() bool { return m.got > 0 }

// sized tells whether the length of the message that is coming is known.
func (m *message) sized() bool { return m.got == prefixBytes }

// feed takes a stream's data and gives how many messages it completed.
func (m *message) feed(p []byte) (complete int) {
	for len(p) > 0 {
		if m.got < prefixBytes {
			n := copy(m.prefix[m.got:], p)
			m.got += n
			p = p[n:]
			if m.got < prefixBytes {
				return complete
			}
			b := m.prefix[1:]
			m.length = int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3])
			m.left = m.length
		}
		n := min(m.left, int64(len(p)))
		m.left -= n
		p = p[n:]
		if m.left == 0 {
			m.got = 0
			complete++
		}
	}
	return complete
}
