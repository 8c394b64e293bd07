package intake

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lane grants messages in the order of their asking, as many as fit together.
type lane struct {
	most, used int64
	queue      []*waiter
}

type waiter struct {
	n     int64
	ready chan struct{} // closed with the grant
}

// fits tells whether a message may be granted: with the others, or because there is no other.
func (l *lane) fits(n int64) bool { return l.used == 0 || l.used+n <= l.most }

func (l *lane) serve() {
	for len(l.queue) > 0 && l.fits(l.queue[0].n) {
		l.used += l.queue[0].n
		close(l.queue[0].ready)
		l.queue = l.queue[1:]
	}
}

func (m *Meter) lane(n int64) *lane {
	if n <= SmallMessage {
		return &m.small
	}
	return &m.large
}

// acquireAtOnce takes a grant of n bytes if nobody waits for one and it fits.
func (m *Meter) acquireAtOnce(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(n)
	if len(l.queue) > 0 || !l.fits(n) {
		return false
	}
	l.used += n
	return true
}

// acquire takes a grant of n bytes.
func (m *Meter) acquire(ctx context.Context, n int64) error {
	m.mu.Lock()
	l := m.lane(n)
	if len(l.queue) == 0 && l.fits(n) {
		l.used += n
		m.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	l.queue = append(l.queue, w)
	m.mu.Unlock()
	m.watch()
	timer := time.NewTimer(max(m.opts.Wait, 0))
	defer timer.Stop()
	var err error
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		l.serve() // one behind it may fit
	} else if err == nil {
		return nil // it has come meanwhile
	} else {
		l.used -= n
		l.serve()
	}
	if err == nil {
		err = fmt.Errorf("%w: a message of %d bytes waited %s, others hold %d bytes; send again, or in smaller messages",
			ErrFull, n, m.opts.Wait, l.used)
	}
	return err
}

// release gives a grant of n bytes back.
func (m *Meter) release(n int64) {
	m.mu.Lock()
	l := m.lane(n)
	l.used -= n
	l.serve()
	m.mu.Unlock()
}

// pressed tells whether messages wait for grants in the lane of a message of n bytes.
func (m *Meter) pressed(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n > 0 && len(m.lane(n).queue) > 0
}
