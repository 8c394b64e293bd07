package intake

// defaultFrame is the most bytes of payload that a frame may have to a client that has not said otherwise, which is also the
// least that it may say (RFC 9113, section 6.5.2).
const defaultFrame = 16 << 10

// settings follows how large a client takes frames to be. What it says holds from the acknowledgement on: a client may refuse
// larger frames that come before (RFC 9113, section 6.5.3).
type settings struct {
	// Of the reader.
	frame bool // settings are being read
	entry [settingBytes]byte
	got   int
	most  int // that the settings being read say; 0 if they do not

	// Both, under the connection's lock.
	said []int // by the settings that are not acknowledged, in order

	// Of the writer.
	now int
}

const settingBytes = 6

// maxSaid is how many settings may wait for their acknowledgement. gRPC reads no further long before; a client that brings it about
// that some are forgotten gets frames that it refuses, and nobody else does.
const maxSaid = 1000

// feed takes a piece of the settings' payload.
func (s *settings) feed(p []byte) {
	for len(p) > 0 {
		n := copy(s.entry[s.got:], p)
		s.got += n
		p = p[n:]
		if s.got < settingBytes {
			return
		}
		s.got = 0
		if e := &s.entry; e[0] == 0 && e[1] == settingMaxFrame {
			s.most = int(e[2])<<24 | int(e[3])<<16 | int(e[4])<<8 | int(e[5])
		}
	}
}

// settle looks at a frame of settings of which a piece has come: the last one, if none of it is left.
func (c *Conn) settle(p []byte) {
	s := &c.settings
	s.feed(p)
	if c.reading.left > 0 {
		return
	}
	c.mu.Lock()
	if len(s.said) < maxSaid {
		s.said = append(s.said, s.most)
	}
	c.mu.Unlock()
	s.frame, s.most, s.got = false, 0, 0
}

// acknowledge has the oldest settings hold that do not yet.
func (c *Conn) acknowledge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.settings
	if len(s.said) == 0 {
		return
	}
	if most := s.said[0]; most != 0 {
		s.now = most
	}
	s.said = s.said[:copy(s.said, s.said[1:])]
}

// FrameLimit is how many bytes of payload a frame to the client may have now. It is for who writes.
func (c *Conn) FrameLimit() int { return max(c.settings.now, defaultFrame) }
