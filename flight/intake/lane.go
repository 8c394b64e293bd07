package intake

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lane grants messages as many as fit together: of each caller in the order of its asking, of the callers in turn. A caller that has
// grants gets a further one only while at least as much stays free as it has then. So one alone has up to a half of the lane, two a third
// each, and there is always room for one more.
type lane struct {
	most, used int64
	holders    map[string]*holder
	turns      []*holder // those that wait; the first is served next
	stuck      bool      // the first has no grant, and no room for one
}

// holder is a caller that has grants of a lane, or waits for some.
type holder struct {
	who   string
	used  int64
	queue []*waiter
}

type waiter struct {
	n     int64
	ready chan struct{} // closed with the grant
}

// fits tells whether a message may be granted: with the others, or because there is no other.
func (l *lane) fits(n int64) bool { return l.used == 0 || l.used+n <= l.most }

// shares tells whether a message leaves the other callers their share.
func (l *lane) shares(h *holder, n int64) bool { return h.used == 0 || h.used+n <= l.most-l.used-n }

func (l *lane) holder(who string) *holder {
	h := l.holders[who]
	if h == nil {
		h = &holder{who: who}
		l.holders[who] = h
	}
	return h
}

func (l *lane) take(h *holder, n int64) {
	l.used += n
	h.used += n
}

// give takes a grant back.
func (l *lane) give(h *holder, n int64) {
	l.used -= n
	h.used -= n
	l.serve()
	l.forget(h)
}

// forget forgets a caller that has nothing and wants nothing.
func (l *lane) forget(h *holder) {
	if h.used == 0 && len(h.queue) == 0 {
		delete(l.holders, h.who)
	}
}

// enqueue has a message wait.
func (l *lane) enqueue(h *holder, w *waiter) {
	if h.queue = append(h.queue, w); len(h.queue) == 1 {
		l.turns = append(l.turns, h)
	}
	l.serve()
}

// leave takes a message out of the queue. It tells whether it was there.
func (l *lane) leave(h *holder, w *waiter) bool {
	i := slices.Index(h.queue, w)
	if i < 0 {
		return false
	}
	if h.queue = slices.Delete(h.queue, i, i+1); len(h.queue) == 0 {
		l.turns = slices.DeleteFunc(l.turns, func(x *holder) bool { return x == h })
	}
	l.serve() // one behind it may fit
	l.forget(h)
	return true
}

// serve gives what can be given. Callers that have their share are passed over; one that has nothing is waited for, or smaller messages
// would for ever pass a larger one.
func (l *lane) serve() {
	l.stuck = false
	for passed := 0; passed < len(l.turns); passed++ {
		h := l.turns[0]
		n := h.queue[0].n
		if l.shares(h, n) {
			if !l.fits(n) {
				l.stuck = true
				return
			}
			l.take(h, n)
			close(h.queue[0].ready)
			h.queue = h.queue[1:]
			passed = -1
		}
		l.turns = l.turns[1:]
		if len(h.queue) > 0 {
			l.turns = append(l.turns, h)
		}
	}
}

func (m *Meter) lane(n int64) *lane {
	if n <= SmallMessage {
		return &m.small
	}
	return &m.large
}

// acquireAtOnce takes a grant of n bytes for a caller if nobody waits for one and it fits; else it gives nil.
func (m *Meter) acquireAtOnce(who string, n int64) *holder {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(n)
	h := l.holder(who)
	if len(l.turns) > 0 || !l.shares(h, n) || !l.fits(n) {
		l.forget(h)
		return nil
	}
	l.take(h, n)
	return h
}

// acquire takes a grant of n bytes for a caller.
func (m *Meter) acquire(ctx context.Context, who string, n int64) (*holder, error) {
	m.mu.Lock()
	l := m.lane(n)
	h := l.holder(who)
	if len(l.turns) == 0 && l.shares(h, n) && l.fits(n) {
		l.take(h, n)
		m.mu.Unlock()
		return h, nil
	}
	w := &waiter{n, make(chan struct{})}
	l.enqueue(h, w)
	m.mu.Unlock()
	m.watch()
	timer := time.NewTimer(max(m.opts.Wait, 0))
	defer timer.Stop()
	var err error
	select {
	case <-w.ready:
		return h, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !l.leave(h, w) { // it has come meanwhile
		if err == nil {
			return h, nil
		}
		l.give(h, n)
	}
	if err == nil {
		err = fmt.Errorf("%w: a message of %d bytes waited %s, others hold %d bytes; send again, or in smaller messages",
			ErrFull, n, m.opts.Wait, l.used)
		if h.used > 0 {
			err = fmt.Errorf("%w: a message of %d bytes waited %s, others of the same caller hold %d bytes, its share; send again, fewer at once, or in smaller messages",
				ErrFull, n, m.opts.Wait, h.used)
		}
	}
	return nil, err
}

// release gives a grant of n bytes back.
func (m *Meter) release(h *holder, n int64) {
	m.mu.Lock()
	m.lane(n).give(h, n)
	m.mu.Unlock()
}

// least is how much must come in a second of a message of n bytes that a caller has a grant for, in bytes; 0: nobody waits for it. One
// that leaves others less than a half of the lane must come within Options.Stall.
func (m *Meter) least(h *holder, n int64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(n)
	switch {
	case l.stuck && n > l.most/2:
		return max(LeastRate, float64(n)/m.opts.Stall.Seconds())
	case l.stuck || len(h.queue) > 0:
		return LeastRate
	}
	return 0
}
