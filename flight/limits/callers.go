package limits

import (
	"math"
	"sync"

	"golang.org/x/time/rate"
)

// Kind is what a call does that may take long; all others are only counted by their rate.
type Kind int

// The kinds of calls.
const (
	Other Kind = iota
	Get
	Put
)

// CallerOptions are the limits of one caller. 0 is none.
type CallerOptions struct {
	Gets, Puts int     // at once
	Rate       float64 // calls a second; as many may come at once
}

// Callers counts what callers do.
type Callers struct {
	opts CallerOptions

	mu    sync.Mutex
	known map[string]*caller
	sweep int // how many may be known before those that are idle are forgotten
}

// caller is one, by name or by address.
type caller struct {
	running [Put + 1]int
	rate    *rate.Limiter // nil: none
}

// leastSweep is how many callers are remembered without looking whom to forget.
const leastSweep = 1024

// NewCallers counts under these limits.
func NewCallers(o CallerOptions) *Callers {
	return &Callers{opts: o, known: map[string]*caller{}, sweep: leastSweep}
}

// Begin counts a call. The caller leaves when the call has ended, which may be said more than once. The error is ErrLimit.
func (c *Callers) Begin(who string, kind Kind) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.known[who]
	if x == nil {
		c.forgetSome()
		x = &caller{}
		if c.opts.Rate > 0 {
			x.rate = rate.NewLimiter(rate.Limit(c.opts.Rate), max(1, int(math.Ceil(c.opts.Rate))))
		}
		c.known[who] = x
	}
	if x.rate != nil && !x.rate.Allow() {
		return nil, over("max-rate", "%s makes more than %g calls a second; call less often", who, c.opts.Rate)
	}
	switch {
	case kind == Get && c.opts.Gets > 0 && x.running[Get] >= c.opts.Gets:
		return nil, over("max-gets", "%s has %d gets running, the most that one caller may have; let some end first", who, c.opts.Gets)
	case kind == Put && c.opts.Puts > 0 && x.running[Put] >= c.opts.Puts:
		return nil, over("max-puts", "%s has %d puts running, the most that one caller may have; let some end first", who, c.opts.Puts)
	}
	x.running[kind]++
	once := sync.Once{}
	return func() {
		once.Do(func() {
			c.mu.Lock()
			x.running[kind]--
			if x.rate == nil && x.idle() {
				delete(c.known, who)
			}
			c.mu.Unlock()
		})
	}, nil
}

// idle tells whether nothing would change if the caller were forgotten.
func (x *caller) idle() bool {
	return x.running == [Put + 1]int{} && (x.rate == nil || x.rate.Tokens() >= float64(x.rate.Burst()))
}

// forgetSome forgets those that are idle, if many are known. The lock is held.
func (c *Callers) forgetSome() {
	if len(c.known) < c.sweep {
		return
	}
	for who, x := range c.known {
		if x.idle() {
			delete(c.known, who)
		}
	}
	c.sweep = max(leastSweep, 2*len(c.known))
}
