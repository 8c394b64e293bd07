package catalog

import (
	"encoding/json"
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

// SetPinned sets whether eviction leaves a dataset alone, through all later puts that do not say otherwise. ErrNotFound.
func (c *Catalog) SetPinned(name string, pinned bool) error {
	g, err := c.Current(name)
	if err != nil {
		return err
	}
	defer g.Release()
	g.state.pinned.Store(pinned)
	return nil
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
		c.evictions.leave(g)
	}
	return g
}

// expire drops a dataset if it is still the one that had this state and its time has come.
func (c *Catalog) expire(name string, s *state) {
	c.mu.Lock()
	g := c.datasets[name]
	due, tell := g != nil && g.state == s && g.over(c.now), c.expired
	if due {
		c.remove(name)
	}
	c.mu.Unlock()
	if !due {
		return
	}
	g.Release()
	if tell != nil {
		tell(name)
	}
}

// Description is what describe tells: the facts of the newest generation, and what the dataset has beside them.
type Description struct {
	Facts
	Pinned      bool   `json:"pinned"`
	Expires     string `json:"expires,omitempty"` // RFC 3339, in UTC
	Leases      int    `json:"leases"`            // that run, on any of its generations
	LeasedBytes int64  `json:"leased_bytes"`      // stored bytes of generations that only leases keep
}

// Describe gives the description of a generation's dataset as JSON.
func (c *Catalog) Describe(g *Generation) ([]byte, error) {
	d := Description{Facts: g.Facts(), Pinned: g.Pinned()}
	if !g.Expires.IsZero() {
		d.Expires = g.Expires.UTC().Format(time.RFC3339Nano)
	}
	d.Leases, d.LeasedBytes = c.LeasesOf(g)
	return json.Marshal(d)
}
