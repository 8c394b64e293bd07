package batchstore

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// chain is one dictionary of a put as it grows. A delta, and a replacement that begins with all that was there, extend
// the chain: indices of earlier batches mean the same in the longer dictionary, so one stored dictionary serves them
// all. Any other replacement begins a new chain.
//
// The put's goroutine extends it; workers read what they took of it when their group was made, and call note.
type chain struct {
	layout  *arrowipc.DictionaryLayout
	ordinal int               // its
	came    bool              // a dictionary batch has come; without one it is empty, which serves columns of nulls
	values  *dictionaryValues // replaced by a longer one, never modified
	blocks  []arena.Block     // what the values lie in
	// How many parts of the values, and blocks, consolidate has dealt with.
	settledParts, settledBlocks int

	rows  int64
	bytes int64
	needs []int64 // by nested leaf of the layout: how many values its indices ask for
	// kept is how many values there were when the last batch came. Those that came later are not stored: nothing refers
	// to them, and what they refer to may never have come.
	kept int64

	// origin is the chain that this one took its values over from; it owns the blocks of those.
	origin *chain

	noting atomic.Bool // what rows refer to is noted: the dictionary may turn out worth compacting
	mu     sync.Mutex  // guards used
	used   []uint64    // bits: values that some row refers to

	dict  *Dictionary // once it is stored
	whole bool        // with all of its values
}

// newChain is a dictionary without values. What rows refer to is noted if it may be compacted.
func newChain(l *arrowipc.DictionaryLayout, ordinal, nested int, compact bool) *chain {
	c := &chain{layout: l, ordinal: ordinal, values: newDictionaryValues(l.Values), needs: make([]int64, nested)}
	c.noting.Store(compact && !l.Ordered && !l.Nested)
	return c
}

// fork is a chain of the same values that goes its own way from here: c must not be extended any more.
func (c *chain) fork() *chain {
	n := &chain{
		layout: c.layout, ordinal: c.ordinal, came: c.came, values: c.values, rows: c.rows, bytes: c.bytes, needs: slices.Clone(c.needs), origin: c,
		settledParts: c.settledParts, // what comes after them may be put together again; the blocks stay c's
	}
	n.noting.Store(c.noting.Load())
	return n
}

// append takes values over, and the block that they lie in.
func (c *chain) append(values *plainBatch, block *arena.Block) {
	if values.rows > 0 {
		c.values = c.values.with(values)
	}
	if block.B != nil {
		c.blocks = append(c.blocks, *block)
		*block = arena.Block{}
	}
	c.rows += values.rows
	c.bytes += values.bytes()
	if c.rows > 8*c.bytes {
		// Values can be many without having bytes (of type null, or in long runs). The bits would be larger than what
		// they could save. This is for good: the notes would have gaps.
		c.noting.Store(false)
	}
}

// replace takes the values of a replacement, of which what the chain has already is not kept twice. It reports false,
// and takes nothing, if they do not begin with the chain's.
func (c *chain) replace(s *Store, m lender, values *plainBatch) (bool, error) {
	if values.rows < c.rows {
		return false, nil
	}
	if same, err := c.begins(m, values); !same || err != nil {
		return false, err
	}
	if values.rows == c.rows {
		return true, nil
	}
	block, tail, err := s.flatten(m, c.layout.Values.Columns, []run{{b: values, from: c.rows, n: values.rows - c.rows}})
	if err != nil {
		return false, err
	}
	c.append(tail, &block)
	return true, nil
}

// begins reports whether the chain's values are the first of these, compared in canonical form, byte by byte.
func (c *chain) begins(m lender, values *plainBatch) (bool, error) {
	if c.rows == 0 {
		return true, nil
	}
	columns := c.layout.Values.Columns
	old, err := concatSize(columns, c.values.runs())
	if err != nil {
		return false, err
	}
	first, err := concatSize(columns, []run{{b: values, n: c.rows}})
	if err != nil {
		return false, err
	}
	if !slices.Equal(old.nodes, first.nodes) || !slices.Equal(old.variadic, first.variadic) || !slices.Equal(old.buffers, first.buffers) {
		return false, nil // most that differ do so in a length
	}
	a, err := m.alloc(old.bodyLen)
	if err != nil {
		return false, err
	}
	defer Free(&a)
	b, err := m.alloc(first.bodyLen)
	if err != nil {
		return false, err
	}
	defer Free(&b)
	old.write(a.B)
	first.write(b.B)
	return bytes.Equal(a.B, b.B), nil
}

// flatten writes runs as one canonical batch into a block, which the caller frees.
func (s *Store) flatten(m lender, columns []*arrowipc.Column, runs []run) (arena.Block, *plainBatch, error) {
	plan, err := concatSize(columns, runs)
	if err != nil {
		return arena.Block{}, nil, err
	}
	if plan.bodyLen > s.opts.MaxDecoded {
		return arena.Block{}, nil, fmt.Errorf("%w: it takes %d plain bytes, at most %d are taken", ErrTooLarge, plan.bodyLen, s.opts.MaxDecoded)
	}
	block, err := m.alloc(plan.bodyLen)
	if err != nil {
		return arena.Block{}, nil, err
	}
	b, _ := plan.write(block.B)
	return block, &b, nil
}

// keptRuns are the values that there were when the last batch came.
func (c *chain) keptRuns() []run {
	var out []run
	left := c.kept
	for _, r := range c.values.runs() {
		if left == 0 {
			break
		}
		r.n = min(r.n, left)
		left -= r.n
		out = append(out, r)
	}
	return out
}

// store keeps the chain's values as a dictionary: all, or only those that are noted as used.
func (c *chain) store(s *Store, m lender, codec compress.Codec, level int, onlyUsed bool) error {
	if o := c.origin; o != nil && !onlyUsed && o.whole && o.kept == c.kept {
		o.dict.Retain()
		c.dict, c.whole = o.dict, true
		return nil
	}
	runs := c.keptRuns()
	if onlyUsed {
		runs = c.usedRuns()
	}
	l := c.layout.Values
	plan, err := concatSize(l.Columns, runs)
	if err != nil {
		return fmt.Errorf("%w: dictionary %d: %w", ErrTooLarge, c.layout.ID, err)
	}
	if plan.bodyLen > s.opts.MaxDecoded {
		return fmt.Errorf("%w: dictionary %d takes %d bytes, at most %d are taken", ErrTooLarge, c.layout.ID, plan.bodyLen, s.opts.MaxDecoded)
	}
	block, err := m.alloc(plan.bodyLen)
	if err != nil {
		return err
	}
	plain, buffers := plan.write(block.B)
	header := arrowipc.RecordBatch{Rows: plan.rows, Nodes: plain.nodes, Buffers: buffers, Variadic: plain.variadic}
	decoded := decodedByNode(l, &plain)
	if codec != compress.None {
		body, err := s.encodeBody(m, &header, plain.bufs, codec, level)
		Free(&block)
		if err != nil {
			return err
		}
		block = body
	}
	values, err := s.newBatch(m, l, header, codec, decoded, nil, block)
	if err != nil {
		return err
	}
	values.mem.Load().block.Move(nil) // another put may come to share it
	c.dict = s.dictionaries.intern(c.ordinal, values)
	c.whole = !onlyUsed
	return nil
}

func (c *chain) free() {
	for i := range c.blocks {
		Free(&c.blocks[i])
	}
	c.blocks, c.values = nil, nil
	if c.dict != nil {
		c.dict.Release()
		c.dict = nil
	}
}
