package catalog

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// evictions is what eviction knows: the order of use, and what was taken.
type evictions struct {
	count   atomic.Int64 // datasets evicted so far
	asked   atomic.Int64 // of them, those that were asked for by name
	expired atomic.Int64 // datasets whose time was over so far
	leaving atomic.Int64 // stored bytes of generations that were replaced or dropped and are still held by somebody
	// Of these, the bytes that eviction let go of.
	evicted atomic.Int64

	mu    sync.Mutex // innermost: nothing is locked under it
	order *simplelru.LRU[string, struct{}]

	graves *simplelru.LRU[string, grave] // guarded by Catalog.mu
}

// grave is what is remembered of a dataset that was evicted.
type grave struct {
	at  time.Time
	why string
}

// maxGraves bounds how many evicted datasets are remembered; the oldest are forgotten first.
const maxGraves = 1000

func (e *evictions) init() {
	// The sizes are valid, which is all that these could fail for.
	e.order, _ = simplelru.NewLRU[string, struct{}](math.MaxInt, nil)
	e.graves, _ = simplelru.NewLRU[string, grave](maxGraves, nil)
}

// Use makes a dataset the one that was used last. Commits do so themselves.
func (c *Catalog) Use(name string) {
	c.evictions.mu.Lock()
	c.evictions.order.Get(name)
	c.evictions.mu.Unlock()
}

// arrive notes that a dataset has a new generation. The catalogue's lock is held.
func (e *evictions) arrive(name string) {
	e.graves.Remove(name)
	e.mu.Lock()
	e.order.Add(name, struct{}{})
	e.mu.Unlock()
}

// gone is bytes of a generation that are counted until its last reference goes.
type gone struct {
	in    *atomic.Int64
	bytes int64
}

// leave notes that a generation is its dataset's no more, and that so many of its stored bytes are in no newer one. These
// are on their way until its last reference is gone; the catalogue's own has not been released.
func (e *evictions) leave(g *Generation, bytes int64) {
	g.gone = append(g.gone, gone{&e.leaving, bytes})
	e.leaving.Add(bytes)
}

// remove forgets a dataset's place in the order.
func (e *evictions) remove(name string) {
	e.mu.Lock()
	e.order.Remove(name)
	e.mu.Unlock()
}

// names are those of all datasets, the one that was used least recently first.
func (e *evictions) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.order.Keys()
}

// leased tells whether a lease runs on any generation of g's dataset.
func (c *Catalog) leased(g *Generation) bool {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	return g.state.leases > 0
}

// Evict drops whole datasets, the least recently used first, until they come to n stored bytes, and gives their names. One
// that is pinned, leased, served in place, durable or on its way to be, or that keep holds, stays. Those that somebody is reading go only where the others do not
// suffice, and only as many as are needed with those that are on their way already: their memory comes free when their
// readers are done. Why is remembered, for whoever asks for one of them later.
func (c *Catalog) Evict(n int64, keep func(dataset string) bool, why string) (names []string) {
	var out []*Generation
	c.mu.Lock()
	order := c.evictions.names()
	for _, idle := range []bool{true, false} {
		if !idle {
			n -= c.evictions.evicted.Load()
		}
		for _, name := range order {
			if n <= 0 {
				break
			}
			g := c.datasets[name]
			if g == nil || idle && g.refs.Load() > 1 || g.Pinned() || g.Durable || g.InPlace || c.reserved[name] != nil || c.leased(g) || keep(name) {
				continue
			}
			out = append(out, c.evict(name, why))
			names = append(names, name)
			n -= g.Stored
		}
	}
	c.mu.Unlock()
	for _, g := range out {
		g.Release()
	}
	return names
}

// evict takes a dataset out and remembers it. The lock is held; the caller then releases the generation without it.
func (c *Catalog) evict(name, why string) *Generation {
	g := c.remove(name)
	g.gone = append(g.gone, gone{&c.evictions.evicted, g.Stored})
	c.evictions.evicted.Add(g.Stored)
	c.evictions.graves.Add(name, grave{c.now(), why})
	c.evictions.count.Add(1)
	return g
}

// EvictDataset evicts one dataset, leased or not: leases keep what they hold. It gives the stored bytes that the dataset
// had. ErrNotFound, ErrPinned, ErrDurable. The context is for the wait for a change of the dataset that is being kept.
func (c *Catalog) EvictDataset(ctx context.Context, name, why string) (stored int64, err error) {
	if err := c.enter(ctx, name); err != nil {
		return 0, err
	}
	g := c.live(name)
	switch {
	case g == nil:
		err = fmt.Errorf("%w; nothing was evicted", c.notFound(name))
	case g.Pinned():
		err = fmt.Errorf("%w: %q; unpin it first, or drop it", ErrPinned, name)
	case g.Durable:
		err = fmt.Errorf("%w: %q; drop it", ErrDurable, name)
	default:
		g = c.evict(name, why)
		c.evictions.asked.Add(1)
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	stored = g.Stored
	g.Release()
	return stored, nil
}

// notFound is the error for a dataset that is not there. The lock is held, if only for reading.
func (c *Catalog) notFound(name string) error {
	if g, ok := c.evictions.graves.Peek(name); ok {
		return fmt.Errorf("%w: %q was evicted at %s, %s; put it again", ErrNotFound, name, g.at.UTC().Format(time.RFC3339), g.why)
	}
	return fmt.Errorf("%w: %q", ErrNotFound, name)
}

// Evictions is the number of datasets evicted so far.
func (c *Catalog) Evictions() int64 { return c.evictions.count.Load() }

// Departures are how many datasets have gone otherwise than by a drop or a replacement.
type Departures struct {
	Evicted int64 // by Evict, for room
	Asked   int64 // by EvictDataset
	Expired int64 // because their time was over
}

// Departures tells how many datasets have gone so far, and why.
func (c *Catalog) Departures() Departures {
	e := &c.evictions
	asked := e.asked.Load() // before the sum that it is part of
	return Departures{Evicted: e.count.Load() - asked, Asked: asked, Expired: e.expired.Load()}
}

// Held gives the stored bytes of datasets that Evict leaves alone, pinned or leased, and of generations that are no
// dataset's any more but still held by readers or leases. Batches that appends share with what came before count once.
func (c *Catalog) Held() (pinned, leaving int64) {
	c.mu.RLock()
	for _, g := range c.datasets {
		if g.Pinned() || c.leased(g) {
			pinned += g.Stored
		}
	}
	c.mu.RUnlock()
	return pinned, c.evictions.leaving.Load()
}
