package batchstore

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// Joiner makes new batches out of runs of stored ones of one schema. It works on its caller's goroutine and not on the
// workers, so that puts have these to themselves. It belongs to one goroutine.
type Joiner struct {
	store    *Store
	schema   *arrowipc.Schema
	layout   *arrowipc.Layout // its own
	memory   lender
	measurer *measurer
	leaves   []leaf // of the layout's dictionaries

	dicts *joinDictionaries // of the run before: runs that follow each other mostly have the same

	made    []*Batch // without references
	written int64    // plain bytes of them
}

// Joiner prepares to join batches of this schema; what is made is charged to the claim (nil: to nobody, and it never
// waits for room). The caller closes it.
func (s *Store) Joiner(schema *arrowipc.Schema, c *Claim) *Joiner {
	m := s.unclaimed()
	if c != nil {
		m = c.memory(c.class, false)
	}
	l := schema.Layout
	return &Joiner{
		store: s, schema: schema, layout: l, memory: m, measurer: newMeasurer(l), leaves: leaves(l.Columns, l.Dictionaries),
	}
}

// Close gives back what the joiner kept between runs. The batches made may be moved to files from here on.
func (j *Joiner) Close() {
	j.dicts.free()
	j.store.files.joined(j.schema, j.made)
	j.dicts, j.made = nil, nil
}

// Written is the plain bytes of all batches made so far.
func (j *Joiner) Written() int64 { return j.written }

// Join makes one batch out of a run that [Store.Joins] found, or the fewest that the limits of a batch, and of what an index
// can tell apart, allow. They have the same rows in the same order, under the codec of the run, measured anew. Where the run
// has several dictionaries of one column, the new batch has one with the values of all of them.
//
// The run stays the caller's, who keeps it retained; the caller owns one reference to each of the new batches. Errors are
// ErrMemory, those of reading a file, compress.ErrCorrupt for a damaged body, which names its place in the run, and the
// context's.
func (j *Joiner) Join(ctx context.Context, run []*Batch) (out []*Batch, err error) {
	defer func() {
		if p := recover(); p != nil { // a fault of ours: it must not end the process
			err = fmt.Errorf("%w: %v", errPanic, p)
			j.store.opts.Panic(p, debug.Stack())
		}
		if err != nil {
			for _, b := range out {
				b.Release()
			}
			out = nil
		}
	}()
	for first := 0; first < len(run); {
		n, err := j.dictionaries(run[first:])
		if err != nil {
			return out, err
		}
		made, err := j.one(ctx, run[first:first+n])
		if err != nil {
			return out, fmt.Errorf("stored batches %d to %d of %d: %w", first, first+n-1, len(run), err)
		}
		out = append(out, made...)
		first += n
	}
	return out, nil
}

// one joins a run of which the joiner has the dictionaries.
func (j *Joiner) one(ctx context.Context, run []*Batch) (out []*Batch, err error) {
	var held []arena.Block
	var bodies []*resident
	e := &builder{
		store: j.store, memory: j.memory, columns: j.layout.Columns, dictionaries: j.dicts.values, measurer: j.measurer, stored: j.layout,
		message: j.store.storedLimit(j.layout), codec: run[0].goal(), encoded: new(atomic.Int64),
	}
	over := false
	defer func() {
		for i := range held {
			Free(&held[i])
		}
		for _, x := range bodies {
			x.Release()
		}
		if !over {
			for _, b := range e.out {
				b.Release()
			}
		}
	}()
	runs := j.runs(run)
	for i, b := range run {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		stored, err := j.store.peek(j.memory, b)
		if err == nil {
			bodies = append(bodies, stored)
			var block arena.Block
			block, err = j.decode(b, runs[i].b, stored.block.B)
			held = append(held, block)
		}
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
		if b.codec != compress.None { // it has been decoded
			bodies[len(bodies)-1].Release()
			bodies = bodies[:len(bodies)-1]
		}
		j.dicts.renumber(j.leaves, b, runs[i].b)
		e.level = max(e.level, b.level)
	}
	if err := j.dicts.store(j, run[0].goal(), e.level); err != nil {
		return nil, err
	}
	if err := e.add(runs); err != nil {
		return nil, err
	}
	over = true
	for _, b := range e.out {
		j.written += b.total
		for _, d := range j.dicts.dicts {
			d.Retain()
			b.dicts = append(b.dicts, d)
		}
		b.mem.Load().block.Move(nil) // it is not the claim's any more
	}
	j.made = append(j.made, e.out...)
	return e.out, nil
}

// runs are all rows of the batches, of which the buffers are still to be decoded.
func (j *Joiner) runs(batches []*Batch) []run {
	out := make([]run, len(batches))
	for i, b := range batches {
		out[i] = run{b: b.plain(), n: b.header.Rows}
	}
	return out
}

// decode gives a batch's plain buffers, and checks them as it does those that arrive: what is made of them is stored. They
// lie in the block, which the caller frees, or, of a plain batch, in the body.
func (j *Joiner) decode(b *Batch, plain *plainBatch, body []byte) (block arena.Block, err error) {
	plain.bufs = sliceBuffers(body, b.header.Buffers)
	if b.codec != compress.None {
		if block, err = j.store.decodePlain(j.memory, plain, plain.bufs, b.codec); err != nil {
			return block, err
		}
	}
	if err := checkPlain(j.layout, plain); err != nil {
		return block, fmt.Errorf("%w: %s", compress.ErrCorrupt, err.Error())
	}
	s := newSource(plain)
	for _, x := range j.leaves {
		if _, err := checkIndices(s, x, b.dicts[x.dictionary].values.header.Rows); err != nil {
			return block, fmt.Errorf("%w: %s", compress.ErrCorrupt, err.Error())
		}
	}
	return block, nil
}

// joined lets the batches that a joiner has made move to files. Of those that are gone already nothing is needed.
func (f *files) joined(schema *arrowipc.Schema, batches []*Batch) {
	if !f.hasFolder() || len(batches) == 0 {
		return
	}
	var there []*Batch
	for _, b := range batches {
		if b.hold() {
			there = append(there, b)
		}
	}
	number := 0
	f.lots(f.nextPut(), &number, schema, there)
	for _, b := range there {
		if f.spill {
			f.came(b)
		}
		b.Release()
	}
}
