package catalog

import (
	"fmt"
	"slices"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// Restored is what a Keeper has of a dataset beside its batches.
type Restored struct {
	Dataset, ID string // the generation's, as they were
	Schema      *arrowipc.Schema
	Codec       string
	Created     time.Time
	Expires     time.Time // zero: never
	Pinned      bool

	Order        *Order // nil: none is known
	OrderDropped bool   // as of Generation

	Held Holder // as of Put
}

// Restore publishes a durable generation that was kept by an earlier run, as it was then: its totals are added up from the
// batches. On success the catalogue owns the caller's reference to every batch, though not the list. ErrExists.
func (c *Catalog) Restore(r Restored, batches []Batch) error {
	columns := arrowipc.RowColumns(r.Schema.Layout.Columns)
	totals := addUp(batches, r.Schema.Layout, columns)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.datasets[r.Dataset] != nil {
		return fmt.Errorf("%w: %q is restored once only", ErrExists, r.Dataset)
	}
	p := &Put{c: c, name: r.Dataset, schema: r.Schema, Held: r.Held}
	m := p.make(nil, batches, r.Codec, r.Order, columns, totals)
	m.g.ID, m.g.Created, m.g.Expires, m.g.Durable = r.ID, r.Created, r.Expires, true
	m.g.OrderDropped = r.OrderDropped
	m.pinned = r.Pinned
	m.g.refs.Store(1) // nobody is handed it
	m.publish()
	return nil
}

// RestorePuts makes puts known again that an earlier run kept, in the order of their commits. Of two of one id the later counts.
// It comes before any other put.
func (c *Catalog) RestorePuts(puts []KeptPut) {
	s := c.puts
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Backward(puts) {
		if s.byID[p.Name] != nil {
			continue
		}
		named := &namedPut{id: p.Name, over: make(chan struct{}), at: p.At, facts: p.Facts, what: p.What}
		close(named.over)
		s.byID[p.Name] = named
		s.done.PushFront(named)
		s.bytes += int64(len(p.Facts))
	}
	s.forget()
}
