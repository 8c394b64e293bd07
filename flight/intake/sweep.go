package intake

import (
	"fmt"
	"time"
)

// ticks are how many sweeps there are in Options.Stall.
const ticks = 60

// pressedTicks are those in which something must come of a message whose grant others wait for.
const pressedTicks = ticks / 15

// watch has unfinished messages looked at from now on. It may be called with a connection's lock held.
func (m *Meter) watch() {
	if !m.watched.Load() && m.watched.CompareAndSwap(false, true) {
		time.AfterFunc(m.opts.Stall/ticks, m.sweep)
	}
}

// sweep gives up the streams whose messages stand still, and comes again while there are unfinished messages.
func (m *Meter) sweep() {
	now := m.tick.Add(1)
	unfinished := false
	type stalled struct {
		s   *Stream
		why error
	}
	var still []stalled
	tick := m.opts.Stall / ticks
	m.each(func(s *Stream) {
		// Where a message is complete, the handler is behind and not the client.
		if !s.coming.begun() || s.complete > 0 {
			return
		}
		unfinished = true
		if s.grant == 0 && s.bytes >= m.alone() {
			return // the client has sent what it may
		}
		if s.failed || s.fail == nil {
			return
		}
		least := 0.0
		if s.grant > 0 {
			least = m.least(s.holder, s.grant)
		}
		most := int64(ticks)
		if least > 0 {
			most = pressedTicks
		}
		switch {
		case now-s.moved > most:
			still = append(still, stalled{s, fmt.Errorf("%w for %s; send it again", ErrStalled, time.Duration(most)*tick)})
		case least > 0 && s.bytes-s.had < int64(float64(now-s.granted-pressedTicks)*tick.Seconds()*least):
			still = append(still, stalled{s, fmt.Errorf("%w fast enough while others wait: %d bytes in %s; send it again, or in smaller messages",
				ErrStalled, s.bytes-s.had, time.Duration(now-s.granted)*tick)})
		}
	})
	for _, x := range still {
		x.s.giveUp(x.why)
	}
	m.watched.Store(false)
	if unfinished {
		m.watch()
	}
}
