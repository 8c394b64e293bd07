package identity

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// gates let one guess of each address through at a time.
type gates struct {
	mu   sync.Mutex
	open map[string]*gate
}

// gate is that of one address, while somebody is in it or waits for it.
type gate struct {
	in    chan struct{} // has room for one
	users int           // under gates.mu
}

// maxWaiting is how many guesses of one address may wait.
const maxWaiting = 100

// enter waits until no other guess of the address is in. It returns how to leave.
func (g *gates) enter(ctx context.Context, address string) (leave func(), err error) {
	g.mu.Lock()
	if g.open == nil {
		g.open = map[string]*gate{}
	}
	x := g.open[address]
	if x == nil {
		x = &gate{in: make(chan struct{}, 1)}
		g.open[address] = x
	}
	if x.users > maxWaiting {
		g.mu.Unlock()
		return nil, refuse("too many guesses of one address at once")
	}
	x.users++
	g.mu.Unlock()
	done := func() {
		g.mu.Lock()
		if x.users--; x.users == 0 {
			delete(g.open, address)
		}
		g.mu.Unlock()
	}
	select {
	case x.in <- struct{}{}:
		return func() { <-x.in; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

// slow makes failures take their time.
type slow struct {
	delay   time.Duration
	waiting atomic.Int64
}

// maxSlow is how many failures may wait at once that are no guesses of passwords. Beyond it they do not: their memory would be what an
// attacker is after, and a token is not to be guessed in any time.
const maxSlow = 1000

func (s *slow) waitBounded(ctx context.Context) {
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) <= maxSlow {
		s.wait(ctx)
	}
}

// wait is for guesses that a gate lets through one by one: there are no more of them than addresses.
func (s *slow) wait(ctx context.Context) {
	if s.delay <= 0 {
		return
	}
	t := time.NewTimer(s.delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
