package batchstore

import (
	"bytes"
	"fmt"
	"math/bits"
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
type chain struct {
	layout *arrowipc.DictionaryLayout
	parts  []*plainBatch // the values, in order; never modified, only replaced by longer ones
	blocks []arena.Block // what the parts, and parts that were replaced, lie in
	rows   int64
	bytes  atomic.Int64 // of the parts' buffers; workers ask for it

	mu   sync.Mutex // guards used
	used []uint64   // bits: values that some row refers to
	dict *Dictionary
}

// add takes a dictionary batch's values. It reports false, and takes nothing, if they are a replacement that does not
// extend the chain.
func (c *chain) add(values *plainBatch, delta bool) (bool, error) {
	if !delta {
		extends, err := c.begins(values)
		if !extends || err != nil {
			return false, err
		}
		c.parts, c.rows = nil, 0
		c.bytes.Store(0)
	}
	c.parts = append(slices.Clip(c.parts), values) // batches under way hold the old list
	c.rows += values.rows
	c.bytes.Add(values.bytes())
	return true, nil
}

// begins reports whether the chain's values are the first of these, compared in canonical form, byte by byte.
func (c *chain) begins(values *plainBatch) (bool, error) {
	if values.rows < c.rows {
		return false, nil
	}
	var old []run
	for _, p := range c.parts {
		old = append(old, run{b: p, n: p.rows})
	}
	a, err := flatten(c.layout.Values.Columns, old)
	if err != nil {
		return false, err
	}
	b, err := flatten(c.layout.Values.Columns, []run{{b: values, n: c.rows}})
	if err != nil {
		return false, err
	}
	same := slices.Equal(a.nodes, b.nodes) && slices.Equal(a.variadic, b.variadic) && slices.EqualFunc(a.bufs, b.bufs, bytes.Equal)
	return same, nil
}

// flatten writes runs as one canonical batch on Go's heap.
func flatten(columns []*arrowipc.Column, runs []run) (*plainBatch, error) {
	plan, err := concatSize(columns, runs)
	if err != nil {
		return nil, err
	}
	b, _ := plan.write(make([]byte, plan.bodyLen))
	return &b, nil
}

// mark notes which values rows refer to.
func (c *chain) mark(used []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.used) < len(used) {
		c.used = append(c.used, make([]uint64, len(used)-len(c.used))...)
	}
	for i, w := range used {
		c.used[i] |= w
	}
}

// Bounds of compaction: a dictionary of at most compactBytes is not worth it, nor is one of which an eighth is used.
const (
	compactBytes = 64 << 10
	compactShare = 8
)

// compactable reports whether the dictionary is such that its values may be renumbered, and large enough to ask.
func (c *chain) compactable() bool {
	return !c.layout.Ordered && !c.layout.Nested && c.bytes.Load() > compactBytes
}

// sparse reports whether so little of the dictionary is used that the rest should not be kept. It is asked when all
// rows have been seen.
func (c *chain) sparse() bool {
	if !c.compactable() {
		return false
	}
	n := 0
	for _, w := range c.used {
		n += bits.OnesCount64(w)
	}
	return int64(n) < c.rows/compactShare
}

// runs are the values to keep: all, or those in use.
func (c *chain) runs(onlyUsed bool) []run {
	var out []run
	at := int64(0)
	for _, p := range c.parts {
		if !onlyUsed {
			out = append(out, run{b: p, n: p.rows})
			continue
		}
		for i := range p.rows {
			if !c.isUsed(at + i) {
				continue
			}
			if k := len(out) - 1; k >= 0 && out[k].b == p && out[k].from+out[k].n == i {
				out[k].n++
			} else {
				out = append(out, run{b: p, from: i, n: 1})
			}
		}
		at += p.rows
	}
	return out
}

func (c *chain) isUsed(i int64) bool {
	return i>>6 < int64(len(c.used)) && c.used[i>>6]>>(i&63)&1 != 0
}

// store keeps the chain's values as a dictionary.
func (c *chain) store(s *Store, codec compress.Codec, level int, onlyUsed bool) error {
	l := c.layout.Values
	plan, err := concatSize(l.Columns, c.runs(onlyUsed))
	if err != nil {
		return fmt.Errorf("dictionary %d: %w", c.layout.ID, err)
	}
	if plan.bodyLen > s.opts.MaxDecoded {
		return fmt.Errorf("%w: dictionary %d takes %d bytes, at most %d are taken", ErrTooLarge, c.layout.ID, plan.bodyLen, s.opts.MaxDecoded)
	}
	block, err := s.Alloc(int(plan.bodyLen))
	if err != nil {
		return err
	}
	plain, buffers := plan.write(block.B)
	header := arrowipc.RecordBatch{Rows: plan.rows, Nodes: plain.nodes, Buffers: buffers, Variadic: plain.variadic}
	decoded := decodedByNode(l, &plain)
	if codec != compress.None {
		body, err := s.encodeBody(&header, plain.bufs, codec, level)
		Free(&block)
		if err != nil {
			return err
		}
		block = body
	}
	c.dict = s.dictionaries.intern(c.layout.ID, s.newBatch(l, header, codec, decoded, block))
	return nil
}

func (c *chain) free() {
	for i := range c.blocks {
		Free(&c.blocks[i])
	}
	c.blocks, c.parts = nil, nil
	if c.dict != nil {
		c.dict.release()
		c.dict = nil
	}
}
