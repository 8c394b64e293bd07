package intake

// Hold is a message that was taken from its stream with the transport's memory. It stays counted, and keeps its grant, until it is
// released; the stream can receive the next one meanwhile. It belongs to one goroutine at a time.
type Hold struct {
	meter  *Meter
	memory int64
	holder *holder // who has the grant
	grant  int64
}

// Lend has the message that is taken next given to the Hold, if one is. It must have been granted, so that what is held is bounded by
// the grants. The caller releases the Hold when the transport's memory is free.
func (s *Stream) Lend() *Hold {
	h := &Hold{meter: s.conn.meter}
	s.conn.mu.Lock()
	s.lent = h
	s.conn.mu.Unlock()
	return h
}

// take takes over memory that was counted, and a grant.
func (h *Hold) take(memory int64, by *holder, grant int64) {
	h.memory, h.holder, h.grant = memory, by, grant
	h.meter.held.Add(memory)
}

// Release gives the memory and the grant back. It may be called more than once.
func (h *Hold) Release() {
	h.meter.held.Add(-h.memory)
	if h.grant > 0 {
		h.meter.release(h.holder, h.grant)
	}
	h.memory, h.grant = 0, 0
}
