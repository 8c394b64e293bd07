package catalog

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// Mode says what a put does to a dataset that exists.
type Mode int

// The modes of a put.
const (
	Replace Mode = iota // the put's batches become the dataset
	Append              // they follow the dataset's own; a dataset that is absent is created
	Create              // the dataset must not exist
)

// Put is a put on its way from its first message to its commit.
type Put struct {
	// TTL is how long after the commit the dataset is dropped. At 0 a put that replaces has no such time, and one that
	// appends leaves the dataset's as it is.
	TTL time.Duration
	// Pin sets whether eviction leaves the dataset alone; nil leaves that as it is.
	Pin *bool

	c      *Catalog
	name   string
	mode   Mode
	schema *arrowipc.Schema
	sorted []string

	transaction *Transaction // nil: the put is committed by itself
}

// SortedBy is the order of the dataset that the put appends to, as it was when the put began; nil for none.
func (p *Put) SortedBy() []string { return p.sorted }

// Begin checks what can be known before any batch has come, so that a put that must fail does so before its client
// has sent the data: ErrExists for Create, ErrSchemaMismatch for Append. Both are checked again by Commit.
func (c *Catalog) Begin(name string, mode Mode, schema *arrowipc.Schema) (*Put, error) {
	p := &Put{c: c, name: name, mode: mode, schema: schema}
	c.mu.RLock()
	defer c.mu.RUnlock()
	old := c.live(name)
	if err := p.check(old, ErrSchemaMismatch); err != nil {
		return nil, err
	}
	if mode == Append && old != nil && old.Order != nil {
		p.sorted = old.Order.SortedBy
	}
	return p, nil
}

// check judges the put against the dataset's newest generation, nil for none.
func (p *Put) check(old *Generation, mismatch error) error {
	switch {
	case old == nil:
		return nil
	case p.mode == Create:
		return fmt.Errorf("%w: %q has %d rows; put with mode replace or append, or drop it first",
			ErrExists, p.name, old.Rows)
	case p.mode == Append:
		if d := old.Schema.Diff(p.schema); d != "" {
			return fmt.Errorf("%w: append to %q: %s; put with the dataset's schema, or with mode replace",
				mismatch, p.name, d)
		}
	}
	return nil
}

// Commit publishes batches as the dataset's new generation and returns it acquired: the caller releases it. Until
// then nothing of the put is visible, after it all of it is. On success the catalogue owns the caller's reference to
// every batch, though not the list; on an error the caller keeps them, and may commit again. ErrExists, or ErrConflict
// when the dataset's schema has changed since Begin.
//
// The order is that of the put's rows, nil for none. An append keeps the dataset's order only if it stays true.
func (p *Put) Commit(batches []Batch, codec string, order *Order) (*Generation, error) {
	c := p.c
	columns := arrowipc.RowColumns(p.schema.Layout.Columns)
	totals := addUp(batches, p.schema.Layout, columns) // before the lock: it takes its time for many wide batches
	c.mu.Lock()
	old, over := c.live(p.name), (*Generation)(nil)
	if err := p.check(old, ErrConflict); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	if old == nil {
		over = c.remove(p.name) // one whose time is over, and whose timer is late
	}
	g := c.newGeneration(p.name, p.schema, columns, codec)
	p.inherit(g, old)
	if p.mode == Append && old != nil {
		g.Schema = old.Schema // the first metadata stays
		for _, b := range old.Batches {
			b.Retain()
		}
		// Appending may write behind the old list's end, where no other generation looks: commits serialise, and only
		// the newest list is ever appended to.
		g.Batches = append(old.Batches, batches...)
		g.RowColumns = old.RowColumns
		g.Order = old.Order.then(order)
		copy(g.Nodes, old.Nodes)
		copy(g.Statistics, old.Statistics)
		g.Rows, g.Decoded, g.Stored = old.Rows, old.Decoded, old.Stored
		g.Dictionaries, g.known = maps.Clone(old.Dictionaries), old.known // nobody asks the old one again
	} else {
		g.Order = order
		g.Batches = slices.Clone(batches) // the caller's list may have room behind it, into which an append would write
	}
	g.add(totals)
	c.datasets[p.name] = g
	c.evictions.arrive(p.name)
	c.mu.Unlock()
	for _, gone := range []*Generation{old, over} {
		if gone != nil {
			gone.Release() // may free a whole generation: never under the lock
		}
	}
	return g, nil
}

// inherit gives a new generation what its dataset has beside the rows. The catalogue's lock is held.
func (p *Put) inherit(g, old *Generation) {
	c := p.c
	if p.TTL > 0 {
		g.Expires = g.Created.Add(p.TTL)
	}
	if old == nil {
		g.state = &state{}
		s := g.state // the closure keeps neither the put nor the generation
		name := p.name
		s.expiry.lapse = func() { c.expire(name, s) }
	} else {
		g.state = old.state
	}
	if old != nil && p.mode == Append {
		g.lineage = old.lineage
		if p.TTL == 0 {
			g.Expires = old.Expires
		}
	} else {
		g.lineage = &lineage{}
		if old != nil {
			c.leases.supersede(old)
			c.evictions.leave(old)
		}
	}
	if p.Pin != nil {
		g.state.pinned.Store(*p.Pin)
	}
	if g.Expires.IsZero() {
		c.deadlines.remove(&g.state.expiry)
	} else {
		c.deadlines.set(&g.state.expiry, g.Expires)
	}
}
