package catalog

import (
	"context"
	"time"
)

// What a Keeper does takes the time of a disk, so no lock is held meanwhile. The dataset's name is reserved in its place:
// whoever would change that dataset waits, or passes it over; readers and other datasets go on.

// retryExpiry is when a dataset is dropped that could not be when its time was over.
const retryExpiry = time.Second

// enter takes the lock when nobody has the name reserved. The error is the context's; the lock is not held then.
func (c *Catalog) enter(ctx context.Context, name string) error {
	for {
		c.mu.Lock()
		reserved := c.reserved[name]
		if reserved == nil {
			return nil
		}
		c.mu.Unlock()
		select {
		case <-reserved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// keep calls f, which takes its time, with the name reserved and the lock not held. The lock is held before and after, so that
// what follows from f's success is done before anybody else can change the dataset.
func (c *Catalog) keep(name string, f func() error) error {
	c.reserve(name)
	c.mu.Unlock()
	returned := false
	defer func() {
		c.mu.Lock()
		c.unreserve(name)
		if !returned {
			c.mu.Unlock() // f panicked, and so does this
		}
	}()
	err := f()
	returned = true
	return err
}

// reserve has everyone else wait for the name. The lock is held.
func (c *Catalog) reserve(name string) { c.reserved[name] = make(chan struct{}) }

// unreserve ends it. If the dataset's time came meanwhile, it was passed over. The lock is held.
func (c *Catalog) unreserve(name string) {
	close(c.reserved[name])
	delete(c.reserved, name)
	if g := c.datasets[name]; g != nil && !g.Expires.IsZero() {
		at := g.Expires
		if g.over(c.now) {
			at = c.now().Add(retryExpiry)
		}
		c.deadlines.set(&g.state.expiry, at)
	}
}

// settle waits until no name is reserved. The lock is held before and after.
func (c *Catalog) settle() {
	for len(c.reserved) > 0 {
		for _, reserved := range c.reserved {
			c.mu.Unlock()
			<-reserved
			c.mu.Lock()
			break
		}
	}
}
