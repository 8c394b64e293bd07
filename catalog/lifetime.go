package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// state is what a dataset has beside its generations, from its first put until it is dropped.
type state struct {
	pinned atomic.Bool
	expiry deadline // of its newest generation

	leases      int   // guarded by leases.mu
	leasedBytes int64 // guarded by leases.mu
}

// Pinned tells whether eviction leaves the generation's dataset alone.
func (g *Generation) Pinned() bool { return g.state.pinned.Load() }

// newState makes the state of a dataset's first generation.
func (c *Catalog) newState(name string) *state {
	s := &state{}
	s.expiry.lapse = func() { c.expire(name, s) } // the closure keeps neither a put nor a generation
	return s
}

// SetPinned sets whether eviction leaves a dataset alone, through all later puts that do not say otherwise. Of a durable
// dataset that is kept. ErrNotFound, or the Keeper's errors; the context is for the wait for another change of the dataset
// that is being kept.
func (c *Catalog) SetPinned(ctx context.Context, name string, pinned bool) error {
	if err := c.enter(ctx, name); err != nil {
		return err
	}
	g, err := c.live(name), error(nil)
	switch {
	case g == nil:
		err = fmt.Errorf("%w; ListFlights shows what is there", c.notFound(name))
	case g.Durable && g.Pinned() != pinned:
		err = c.keep(name, func() error { return c.keeper.Keep(Kept{Generation: g, Pinned: pinned}) })
	}
	if err == nil {
		if g.state.pinned.Swap(pinned) != pinned {
			pin(g.Batches, pinned)
		}
	}
	c.mu.Unlock()
	return err
}

// live gives a dataset's newest generation, nil where there is none or its time is over. The lock is held.
func (c *Catalog) live(name string) *Generation {
	g := c.datasets[name]
	if g == nil || g.over(c.now) {
		return nil
	}
	return g
}

// over tells whether the generation's time is over: the timer may come a little later.
func (g *Generation) over(now func() time.Time) bool {
	return !g.Expires.IsZero() && !g.Expires.After(now())
}

// remove takes a dataset out and gives the reference of the catalogue, which the caller releases without the lock; nil
// where there is none. The lock is held.
func (c *Catalog) remove(name string) *Generation {
	g := c.datasets[name]
	if g != nil {
		delete(c.datasets, name)
		c.deadlines.remove(&g.state.expiry)
		c.leases.supersede(g)
		c.evictions.remove(name)
		c.evictions.leave(g, g.Stored)
		g.unpin()
		c.sized(name, 0, nil)
	}
	return g
}

// expire drops a dataset if it is still the one that had this state and its time has come. One that is being kept is passed
// over: what follows sets its deadline anew.
func (c *Catalog) expire(name string, s *state) {
	c.mu.Lock()
	g := c.datasets[name]
	due, tell := g != nil && g.state == s && g.over(c.now) && c.reserved[name] == nil, c.expired
	switch {
	case due && g.Durable:
		c.reserve(name)
		go c.expireKept(name, tell) // the timer has others to end, and this takes its time
		due = false
	case due:
		c.remove(name)
		c.evictions.expired.Add(1)
	}
	c.mu.Unlock()
	if due {
		g.Release()
		if tell != nil {
			tell(name)
		}
	}
}

// expireKept drops a durable dataset whose time is over and whose name is reserved. Where that fails, it is tried again: nobody
// sees the dataset meanwhile.
func (c *Catalog) expireKept(name string, tell func(dataset string)) {
	err := c.keeper.Forget(name)
	c.mu.Lock()
	var g *Generation
	if err == nil {
		if g = c.remove(name); g != nil {
			c.evictions.expired.Add(1)
		}
	}
	c.unreserve(name)
	c.mu.Unlock()
	if g != nil {
		g.Release()
		if tell != nil {
			tell(name)
		}
	}
}

// Description is what describe tells: the facts of the newest generation, and what the dataset has beside them.
type Description struct {
	Facts
	Pinned      bool   `json:"pinned"`
	Expires     string `json:"expires,omitempty"` // RFC 3339, in UTC
	Leases      int    `json:"leases"`            // that run, on any of its generations
	LeasedBytes int64  `json:"leased_bytes"`      // stored bytes of generations that only leases keep
	PlainBytes  int64  `json:"plain_bytes"`       // of its stored bytes, those of plain batches that wait to be encoded

	// Of its stored bytes, those that lie in memory and those that lie in files. A durable batch that is read often, or is
	// pinned, lies in both.
	MemoryBytes int64 `json:"memory_bytes"`
	FileBytes   int64 `json:"file_bytes"`
}

// place adds what a batch's or a dictionary's bytes lie in: in memory, where the store does not tell.
func (d *Description) place(what any, stored int64) {
	x, can := what.(interface {
		Resident() bool
		Filed() bool
	})
	if !can || x.Resident() {
		d.MemoryBytes += stored
	}
	if can && x.Filed() {
		d.FileBytes += stored
	}
}

// Describe gives the description of a generation's dataset as JSON.
func (c *Catalog) Describe(g *Generation) ([]byte, error) {
	d := Description{Facts: g.Facts(), Pinned: g.Pinned()}
	if !g.Expires.IsZero() {
		d.Expires = g.Expires.UTC().Format(time.RFC3339Nano)
	}
	d.Leases, d.LeasedBytes = c.LeasesOf(g)
	seen := map[any]bool{}
	for _, b := range g.Batches {
		d.place(b, b.StoredBytes())
		b.EachDictionary(func(key any, _, _, stored int64) {
			if !seen[key] {
				seen[key] = true
				d.place(key, stored)
			}
		})
		if x, can := b.(interface{ Deferred() bool }); can && x.Deferred() {
			d.PlainBytes += b.StoredBytes()
		}
	}
	return json.Marshal(d)
}
