package catalog

import (
	"context"
	"fmt"
	"slices"
)

// Crowd is how many small batches have to come to a dataset before it is Crowded.
const Crowd = 64

// Crowded tells whether so many small batches have come to a dataset since somebody last looked for some to join that it
// is worth looking again. It costs little: nothing but two numbers is compared.
func (c *Catalog) Crowded(name string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	g := c.live(name)
	return g != nil && g.small-g.lineage.settled >= Crowd
}

// Settle notes that nobody need look for batches to join in a generation's dataset until others have come.
func (c *Catalog) Settle(g *Generation) {
	c.mu.Lock()
	g.lineage.settled = max(g.lineage.settled, g.small)
	c.mu.Unlock()
}

// Change is a run of a generation's batches, the last excluded, and the batches that hold its rows instead.
type Change struct {
	First, Last int
	Batches     []Batch
}

// Compact publishes another layout of a dataset's newest generation: of g, which the caller holds, or of one that appends
// have made of it since. The changes are in order and apart. The generation keeps its id, its rows and their statistics;
// its sizes are those of the new batches. Who holds the old layout, readers and leases, goes on with it.
//
// The layout of a durable dataset is kept before it is published. The result is acquired: the caller releases it, and g as
// before. On success the catalogue owns the caller's reference to every batch of the changes; on an error the caller keeps
// them. ErrConflict where the dataset was replaced or dropped, or has another layout by now; the Keeper's errors. The
// context is for the wait for another change of the dataset that is being kept.
func (c *Catalog) Compact(ctx context.Context, g *Generation, changes []Change) (*Generation, error) {
	return c.relay(ctx, g, changes, false)
}

// Recode is Compact where each batch of the changes takes the place of one batch and has its rows: they differ in bytes only. So
// the layout keeps its number, what was counted in it stays right, and leases on g's layout go over to the new one.
func (c *Catalog) Recode(ctx context.Context, g *Generation, changes []Change) (*Generation, error) {
	for _, x := range changes {
		if len(x.Batches) != x.Last-x.First {
			return nil, fmt.Errorf("catalog: %d batches of %q were to be recoded as %d", x.Last-x.First, g.Dataset, len(x.Batches))
		}
		for i, b := range x.Batches {
			if old := g.Batches[x.First+i]; b.Rows() != old.Rows() {
				return nil, fmt.Errorf("catalog: batch %d of %q has %d rows and was to have %d", x.First+i, g.Dataset, old.Rows(), b.Rows())
			}
		}
	}
	return c.relay(ctx, g, changes, true)
}

// Newest tells whether a generation, or one that appends have made of it, is its dataset's newest, under the same list of
// batches.
func (c *Catalog) Newest(g *Generation) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	now := c.live(g.Dataset)
	return now != nil && now.lineage == g.lineage
}

func (c *Catalog) relay(ctx context.Context, g *Generation, changes []Change, recoded bool) (*Generation, error) {
	made := make([]replaced, len(changes))
	var out, in []Batch
	for i, x := range changes {
		out, in = append(out, g.Batches[x.First:x.Last]...), append(in, x.Batches...)
		made[i] = replaced{x.First, x.Last, len(x.Batches)}
	}
	// Before the lock: it takes its time for many wide batches.
	before, after := addUp(out, g.Schema.Layout, g.RowColumns), addUp(in, g.Schema.Layout, g.RowColumns)
	if before.rows != after.rows {
		return nil, fmt.Errorf("catalog: %d rows of %q were to become %d in another layout", before.rows, g.Dataset, after.rows)
	}
	charge, err := c.charge(bytesOf(g.Dataset, g.RowColumns, len(g.Nodes), g.Statistics, len(g.Dictionaries)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if charge != nil {
			charge.Release()
		}
	}()
	if err := c.enter(ctx, g.Dataset); err != nil {
		return nil, err
	}
	old := c.live(g.Dataset)
	if old == nil || old.lineage != g.lineage {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %q was replaced, dropped or compacted while it was being compacted; do it again", ErrConflict, g.Dataset)
	}
	now, shared := old.relaid(changes)
	if recoded {
		now.Layout = old.Layout
	}
	lost := now.resize(old, before, after)
	if now.Durable {
		if err := c.keep(g.Dataset, func() error { return c.keeper.Keep(Kept{Generation: now, Pinned: now.Pinned()}) }); err != nil {
			c.mu.Unlock()
			for _, b := range shared {
				b.Release()
			}
			let(now.held)
			return nil, err
		}
	}
	now.charge, charge = charge, nil
	moved := c.leases.relay(old, now, made, lost, recoded)
	now.lineage.settled = old.lineage.settled
	if !recoded {
		now.lineage.settled = now.small - (old.small - g.small) // at what was appended meanwhile nobody has looked
	}
	gone := before.stored
	for _, d := range before.dictionaries {
		if lost[d.key] {
			gone += d.stored
		}
	}
	c.evictions.leave(old, gone)
	if now.Pinned() {
		pin(out, false) // readers and leases do not need them in memory
		pin(in, true)
	}
	c.datasets[g.Dataset] = now
	c.sized(g.Dataset, now.Stored, nil)
	c.mu.Unlock()
	for range moved {
		old.Release()
	}
	old.Release()
	return now, nil
}

// relaid is another layout of the generation, with two references: the catalogue's and the caller's. It has everything but
// a lineage, and the sizes of the old layout. What it shares with that it has retained.
func (g *Generation) relaid(changes []Change) (now *Generation, shared []Batch) {
	now = &Generation{
		held: held(g.held), chargesFacts: g.chargesFacts,
		Dataset: g.Dataset, ID: g.ID, Layout: g.Layout + 1, Schema: g.Schema, Codec: g.Codec, Created: g.Created, Expires: g.Expires,
		Order: g.Order, OrderDropped: g.OrderDropped, Durable: g.Durable, InPlace: g.InPlace, Rows: g.Rows, Decoded: g.Decoded, Stored: g.Stored, Nodes: slices.Clone(g.Nodes),
		RowColumns: g.RowColumns, Statistics: g.Statistics, Dictionaries: g.Dictionaries, known: g.known,
		state: g.state, number: g.number, small: g.small,
	}
	now.refs.Store(2)
	now.Batches = make([]Batch, 0, len(g.Batches))
	next := 0
	keep := func(upTo int) {
		for _, b := range g.Batches[next:upTo] {
			b.Retain()
		}
		shared = append(shared, g.Batches[next:upTo]...)
		now.Batches = append(now.Batches, g.Batches[next:upTo]...)
	}
	for _, x := range changes {
		keep(x.First)
		now.Batches = append(now.Batches, x.Batches...)
		next = x.Last
	}
	keep(len(g.Batches))
	return now, shared
}

// resize makes the sizes of a new layout right, of which batches of these totals were replaced by others, and gives the
// keys of dictionaries that it does not need any more. Statistics are those of the rows, which are the same.
func (g *Generation) resize(old *Generation, before, after totals) (lost map[any]bool) {
	g.Decoded += after.decoded - before.decoded
	g.Stored += after.stored - before.stored
	g.small += after.small - before.small
	for i := range g.Nodes {
		g.Nodes[i].Decoded += after.nodes[i].Decoded - before.nodes[i].Decoded
		g.Nodes[i].Stored += after.nodes[i].Stored - before.nodes[i].Stored
		g.Nodes[i].Nulls += after.nodes[i].Nulls - before.nodes[i].Nulls
	}
	if sameKeys(before.dictionaries, after.dictionaries) {
		return nil // what those need that stay, they need still
	}
	for _, d := range old.Dictionaries {
		g.Decoded, g.Stored = g.Decoded-d.Decoded, g.Stored-d.Stored
	}
	g.Dictionaries, g.known = map[int64]DictionaryFacts{}, map[any]bool{}
	for _, b := range g.Batches {
		b.EachDictionary(func(key any, ordinal, decoded, stored int64) { g.count(dictionary{key, ordinal, decoded, stored}) })
	}
	lost = map[any]bool{}
	for _, d := range before.dictionaries {
		if !g.known[d.key] {
			lost[d.key] = true
		}
	}
	return lost
}

// sameKeys tells whether two lists, each without repetition, are of the same dictionaries.
func sameKeys(a, b []dictionary) bool {
	known := make(map[any]bool, len(a))
	for _, d := range a {
		known[d.key] = true
	}
	for _, d := range b {
		if !known[d.key] {
			return false
		}
	}
	return len(a) == len(b)
}
