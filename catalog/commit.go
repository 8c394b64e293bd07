package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// Durable sets whether the dataset outlives the process; nil is what Options say. What is appended to a durable dataset is
	// durable.
	Durable *bool
	// InPlace says that the put's batches lie elsewhere and are only read from there.
	InPlace bool
	// Ordered says that the put declares the order of its rows. One that appends and does not keep the dataset's is then
	// refused.
	Ordered bool
	// Claim is on the put's id, which its commit, or the end of its staging, fulfils; nil for none. It stays the caller's, who
	// aborts it where that fails.
	Claim *PutClaim
	// Held is what keeps the put's schema, which the generation holds as well; nil for nothing. Charge counts n bytes of the
	// generation's own to a budget, waiting for room; nil is what Options say. The put's caller may let go of both after the
	// commit.
	Held   Holder
	Charge func(n int64) (Charge, error)
	// Share is what the put counts in the ledger: its commit, or the end of its staging, takes it over. Nil for none.
	Share Share

	c      *Catalog
	name   string
	mode   Mode
	schema *arrowipc.Schema
	sorted []string

	// Of one that is made of a transaction's puts: whether some of them declare an order, and what its commit is known as.
	declared bool
	what     string
	shares   []Share // Share, or those of its parts

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
	if old == nil {
		if err := c.mayMake(name); err != nil {
			return nil, err
		}
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
// then nothing of the put is visible, after it all of it is. A durable generation is kept before it is published. On success
// the catalogue owns the caller's reference to every batch, though not the list; on an error the caller keeps them, and may
// commit again. ErrExists, or ErrConflict when the dataset's schema has changed since Begin; ErrOrder; ErrNotKept; the
// Keeper's errors. The context is for the wait for another change of the dataset that is being kept.
//
// The order is that of the put's rows, nil for none. An append keeps the dataset's order only if it stays true; the
// generation says if it was lost.
func (p *Put) Commit(ctx context.Context, batches []Batch, codec string, order *Order) (*Generation, error) {
	columns := arrowipc.RowColumns(p.schema.Layout.Columns)
	totals := addUp(batches, p.schema.Layout, columns) // before the lock: it takes its time for many wide batches
	charge, err := p.charge(bytesOf(p.name, columns, len(totals.nodes), totals.statistics, len(totals.dictionaries)))
	if err != nil {
		return nil, err
	}
	g, err := p.commit(ctx, batches, codec, order, columns, totals, charge)
	if err != nil {
		charge.Release()
	}
	return g, err
}

// commit is Commit, with the generation's memory charged: that is the generation's on success.
func (p *Put) commit(ctx context.Context, batches []Batch, codec string, order *Order, columns []arrowipc.RowColumn, totals totals, charge Charge) (*Generation, error) {
	c := p.c
	if err := c.enter(ctx, p.name); err != nil {
		return nil, err
	}
	old, was := c.live(p.name), c.datasets[p.name] // the second may be one whose time is over, and whose timer is late
	durable := p.durable(old)
	err := p.check(old, ErrConflict)
	if err == nil {
		err = p.follows(old, order)
	}
	if err == nil && durable && c.keeper == nil {
		err = fmt.Errorf("%w: %q cannot be durable", ErrNotKept, p.name)
	}
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	if p.Claim != nil {
		p.Claim.is(cmp.Or(p.what, sentText(p.mode, totals.rows, p.schema)))
	}
	if p.Share != nil {
		p.shares = []Share{p.Share}
	}
	m := p.make(old, batches, codec, order, columns, totals)
	g := m.g
	err = m.fits()
	had := p.Ordered || p.declared || p.mode == Append && old != nil && old.Order != nil
	g.OrderDropped = had && g.Order == nil
	switch g.Durable = durable; {
	case err != nil:
	case durable:
		err = c.keep(p.name, func() error { return c.keeper.Keep(Kept{g, m.pinned, p.Claim.kept(g, c.now)}) })
	case was != nil && was.Durable:
		err = c.keep(p.name, func() error { return c.keeper.Forget(p.name) })
	}
	if err != nil {
		m.undo()
		c.mu.Unlock()
		for _, b := range m.shared {
			b.Release()
		}
		let(g.held)
		return nil, err
	}
	g.charge = charge
	m.publish()
	c.mu.Unlock()
	if was != nil {
		was.Release() // may free a whole generation: never under the lock
	}
	p.Claim.Done(g.FactsJSON(), g.BriefJSON)
	return g, nil
}

// follows judges an append that declares the order which its dataset has.
func (p *Put) follows(old *Generation, order *Order) error {
	if !p.Ordered || p.mode != Append || old == nil || old.Order == nil || order == nil ||
		!slices.Equal(old.Order.SortedBy, order.SortedBy) || old.Order.then(order) != nil {
		return nil
	}
	return fmt.Errorf("%w: %q is sorted by %s, and the first row of the append belongs before its last one; append rows that follow, or leave out sorted_by",
		ErrOrder, p.name, strings.Join(order.SortedBy, ", "))
}

// durable tells whether the put's generation is to be durable.
func (p *Put) durable(old *Generation) bool {
	switch {
	case p.mode == Append && old != nil:
		return old.Durable || p.Durable != nil && *p.Durable
	case p.Durable != nil:
		return *p.Durable
	}
	return p.c.durable
}

// making is a generation between its making and its publishing. The catalogue's lock is held by all of its methods; while it
// is not in between, the name is reserved.
type making struct {
	put     *Put
	g, old  *Generation // old is the dataset's newest, nil for none
	pinned  bool
	shared  []Batch // of old; g has retained them
	counted []any   // keys of dictionaries that old had not
}

// make makes a put's generation. Nothing of the dataset changes.
func (p *Put) make(old *Generation, batches []Batch, codec string, order *Order, columns []arrowipc.RowColumn, t totals) *making {
	c := p.c
	g := c.newGeneration(p.name, p.schema, columns, codec)
	g.InPlace = p.InPlace
	m := &making{put: p, g: g, old: old}
	if p.TTL > 0 {
		g.Expires = g.Created.Add(p.TTL)
	}
	if old != nil {
		g.state = old.state
	} else {
		g.state = c.newState(p.name)
	}
	if m.pinned = g.state.pinned.Load(); p.Pin != nil {
		m.pinned = *p.Pin
	}
	if old == nil || p.mode != Append {
		g.held = held(p.Held)
		g.lineage = &lineage{family: &family{}}
		g.Order = order
		g.Batches = slices.Clone(batches) // the caller's list may have room behind it, into which an append would write
		m.counted = g.add(t)
		return m
	}
	g.lineage = old.lineage
	if p.TTL == 0 {
		g.Expires = old.Expires
	}
	g.Schema, g.held = old.Schema, held(old.held) // the first metadata stays
	m.shared = old.Batches
	for _, b := range m.shared {
		b.Retain()
	}
	// Appending may write behind the old list's end, where no other generation looks: commits serialise, and only
	// the newest list is ever appended to.
	g.Batches = append(old.Batches, batches...)
	g.RowColumns = old.RowColumns
	g.Order = old.Order.then(order)
	copy(g.Nodes, old.Nodes)
	if g.InPlace = g.InPlace || old.InPlace; old.Statistics == nil {
		g.Statistics = nil
	}
	copy(g.Statistics, old.Statistics)
	g.Rows, g.Decoded, g.Stored, g.small = old.Rows, old.Decoded, old.Stored, old.small
	g.Dictionaries, g.known = maps.Clone(old.Dictionaries), old.known // nobody asks the old one again, if this is published
	m.counted = g.add(t)
	return m
}

// undo leaves the dataset as if the generation had not been made. The caller then releases what is shared without the lock.
func (m *making) undo() {
	for _, key := range m.counted {
		delete(m.g.known, key)
	}
	clear(m.g.Batches[len(m.shared):])
}

// publish makes the generation the dataset's newest. The catalogue's reference to what was there is the caller's then.
func (m *making) publish() {
	c, g := m.put.c, m.g
	switch {
	case m.old == nil:
		c.remove(g.Dataset)
	case m.put.mode != Append:
		c.leases.supersede(m.old)
		c.evictions.leave(m.old, m.old.Stored)
		m.old.unpin()
	}
	switch was := g.state.pinned.Swap(m.pinned); {
	case was == m.pinned && m.shared != nil:
		pin(g.Batches[len(m.shared):], m.pinned)
	case was || m.pinned:
		pin(g.Batches, m.pinned)
	}
	c.install(g)
	c.sized(g.Dataset, g.Stored, m.put.shares)
}

// install makes a generation its dataset's. The lock is held.
func (c *Catalog) install(g *Generation) {
	if g.Expires.IsZero() {
		c.deadlines.remove(&g.state.expiry)
	} else {
		c.deadlines.set(&g.state.expiry, g.Expires)
	}
	c.datasets[g.Dataset] = g
	c.evictions.arrive(g.Dataset)
}
