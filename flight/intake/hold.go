package intake

import (
	"sync"
	"time"
)

// Hold is a message that was taken from its stream with the transport's memory. It stays counted, and keeps its grant, until it is
// released; the stream can receive the next one meanwhile. Where that takes long, as its owner waits for memory or for others' work, it
// gives its grant back before: who waits for one is not to wait for that. It is safe for concurrent use.
type Hold struct {
	meter *Meter

	mu     sync.Mutex // after Conn.mu, before Meter.mu
	memory int64
	loose  int64   // of it, what no grant covers
	holder *holder // who has the grant
	grant  int64
	timer  *time.Timer
}

// holdTime is how long a message keeps its grant: more than it takes to copy one.
const holdTime = 50 * time.Millisecond

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
	h.mu.Lock()
	defer h.mu.Unlock()
	h.memory, h.holder, h.grant = memory, by, grant
	h.meter.held.Add(memory)
	if grant > 0 {
		h.timer = time.AfterFunc(holdTime, h.loosen)
	}
}

// loosen gives the grant back and counts the memory among that of no grant, of which it may be a half; else it comes again.
func (h *Hold) loosen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.grant == 0:
	case h.meter.loosen(h.memory):
		h.loose = h.memory
		h.meter.release(h.holder, h.grant)
		h.grant = 0
	default:
		h.timer.Reset(holdTime)
	}
}

// loosen counts n bytes as held without a grant, if that makes no more than a half of what may be.
func (m *Meter) loosen(n int64) bool {
	for {
		now := m.loose.Load()
		if now+n > m.opts.Bytes/2 {
			return false
		}
		if m.loose.CompareAndSwap(now, now+n) {
			return true
		}
	}
}

// Release gives the memory and the grant back. It may be called more than once.
func (h *Hold) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.meter.held.Add(-h.memory)
	h.meter.loose.Add(-h.loose)
	if h.grant > 0 {
		h.meter.release(h.holder, h.grant)
	}
	h.memory, h.loose, h.grant = 0, 0, 0
}
