package compress

import "sync"

// contexts bounds and keeps the contexts of one kind.
//
// A sync.Pool would do neither: it bounds nothing, and empties itself at every second collection, so that a put that
// allocates much makes its encoders again and again.
type contexts[T any] struct {
	slots   chan struct{} // one token for each context that is in use
	make    func() (T, error)
	destroy func(T)
	keep    bool // whether such a context fits the retain cap

	mu     sync.Mutex // guards the fields below; held for a few instructions only
	idle   []T        // last in, first out: the warm one goes first, and cold ones need never be made
	closed bool
}

func newContexts[T any](n int, keep bool, create func() (T, error), destroy func(T)) *contexts[T] {
	return &contexts[T]{slots: make(chan struct{}, n), make: create, destroy: destroy, keep: keep && keepingContexts}
}

// get waits for a slot and returns an idle context, or a new one. On success the caller owes one put.
func (c *contexts[T]) get() (T, error) {
	c.slots <- struct{}{}
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		v := c.idle[n-1]
		clear(c.idle[n-1:])
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return v, nil
	}
	c.mu.Unlock()
	v, err := c.make()
	if err != nil {
		<-c.slots
	}
	return v, err
}

// put takes back a context from get.
func (c *contexts[T]) put(v T) {
	c.mu.Lock()
	keep := c.keep && !c.closed
	if keep {
		c.idle = append(c.idle, v)
	}
	c.mu.Unlock()
	if !keep {
		c.destroy(v)
	}
	<-c.slots
}

// close destroys the idle contexts, and makes put destroy those that are out.
func (c *contexts[T]) close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.closed = nil, true
	c.mu.Unlock()
	for _, v := range idle {
		c.destroy(v)
	}
}
