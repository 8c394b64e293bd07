package batchstore

import (
	"context"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// dictionaries are those of one put. A nil one, of a schema without dictionaries, has none; its methods then do nothing.
// All methods but check run on the put's goroutine.
type dictionaries struct {
	store   *Store
	layouts []*arrowipc.DictionaryLayout
	leaves  []leaf   // of the put's batches
	nested  [][]leaf // by dictionary: of its values
	current []*chain // by dictionary; nil until it has come
	all     []*chain // that were ever current
}

func newDictionaries(s *Store, l *arrowipc.Layout) *dictionaries {
	if len(l.Dictionaries) == 0 {
		return nil
	}
	d := &dictionaries{
		store: s, layouts: l.Dictionaries, leaves: leaves(l.Columns, l.Dictionaries), current: make([]*chain, len(l.Dictionaries)),
	}
	for _, x := range l.Dictionaries {
		d.nested = append(d.nested, leaves(x.Values.Columns, l.Dictionaries))
	}
	return d
}

// AddDictionary takes one dictionary batch, header and body; the body is the ingest's from here on, whatever is
// returned. Batches that come after it see it. Errors are those of Add.
func (in *Ingest) AddDictionary(ctx context.Context, m *arrowipc.Message, body arena.Block) error {
	src := &arrival{header: m.Batch, body: body}
	err := in.addDictionary(ctx, m, src)
	src.free()
	if err != nil {
		err = fmt.Errorf("dictionary batch of id %d: %w", m.Dictionary, err)
	}
	return err
}

func (in *Ingest) addDictionary(ctx context.Context, m *arrowipc.Message, src *arrival) error {
	d := in.dicts
	ordinal, ok := d.ordinal(m.Dictionary)
	if !ok {
		return fmt.Errorf("%w: no column of the schema has this dictionary", ErrInvalidBatch)
	}
	l := d.layouts[ordinal].Values
	if err := in.store.admit(l, src, m.BodyLength); err != nil {
		return err
	}
	values := &plainBatch{rows: m.Batch.Rows, nodes: m.Batch.Nodes, variadic: m.Batch.Variadic}
	if m.Batch.Compression == arrowipc.Uncompressed {
		values.bufs = sliceBuffers(src.body.B, m.Batch.Buffers)
	} else {
		block, err := in.store.decodePlain(values, m.Batch.Buffers, src.body.B, compress.Codec(m.Batch.Compression))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidBatch, err)
		}
		src.free()
		src.body = block
		in.decoded.Add(src.decoded)
	}
	if err := checkPlain(l, values); err != nil {
		return err
	}
	for _, x := range d.nested[ordinal] {
		inner := d.current[x.dictionary]
		if inner == nil {
			return fmt.Errorf("%w: dictionary %d, which its values need, has not come", ErrInvalidBatch, d.layouts[x.dictionary].ID)
		}
		if _, err := checkIndices(newSource(values), x.column, inner.rows, false); err != nil {
			return err
		}
	}
	c := d.current[ordinal]
	switch {
	case c == nil && m.Delta:
		return fmt.Errorf("%w: a delta to a dictionary that has not come", ErrInvalidBatch)
	case c != nil && c.bytes.Load()+values.bytes() > in.store.opts.MaxDecoded && m.Delta:
		return fmt.Errorf("%w: it would grow over %d bytes", ErrTooLarge, in.store.opts.MaxDecoded)
	case c != nil:
		extended, err := c.add(values, m.Delta)
		if err != nil {
			return err
		}
		if extended {
			c.blocks = append(c.blocks, src.body)
			src.body = arena.Block{}
			return nil
		}
	}
	// What waits to be joined means the old dictionary.
	if err := in.flush(ctx); err != nil {
		return err
	}
	c = &chain{
		layout: d.layouts[ordinal], parts: []*plainBatch{values}, blocks: []arena.Block{src.body},
		rows: values.rows,
	}
	c.bytes.Store(values.bytes())
	src.body = arena.Block{}
	d.current[ordinal] = c
	d.all = append(d.all, c)
	return nil
}

func (d *dictionaries) ordinal(id int64) (int, bool) {
	if d != nil {
		for i, l := range d.layouts {
			if l.ID == id {
				return i, true
			}
		}
	}
	return 0, false
}

// limits are the numbers of values as of now, by dictionary. All dictionaries must have come.
func (d *dictionaries) limits() ([]int64, error) {
	if d == nil {
		return nil, nil
	}
	out := make([]int64, len(d.current))
	for i, c := range d.current {
		if c == nil {
			return nil, fmt.Errorf("%w: dictionary %d has not come before it", ErrInvalidBatch, d.layouts[i].ID)
		}
		out[i] = c.rows
	}
	return out, nil
}

// snapshot is the dictionaries as of now.
func (d *dictionaries) snapshot() []*chain {
	if d == nil {
		return nil
	}
	return append([]*chain(nil), d.current...)
}

// values are the values of the dictionaries as of now, to be written in place of indices.
func (d *dictionaries) values() map[int64]*dictionaryValues {
	if d == nil {
		return nil
	}
	out := map[int64]*dictionaryValues{}
	for _, c := range d.current {
		if c == nil {
			continue // no batch can be in need of it yet
		}
		out[c.layout.ID] = newDictionaryValues(c.layout.Values, c.parts)
	}
	return out
}

// check checks a batch's indices against what there was when it came, and notes what is used. It runs on workers.
func (d *dictionaries) check(b *plainBatch, limits []int64, chains []*chain) error {
	if d == nil {
		return nil
	}
	s := newSource(b)
	for _, x := range d.leaves {
		c := chains[x.dictionary]
		used, err := checkIndices(s, x.column, limits[x.dictionary], c.compactable())
		if err != nil {
			return err
		}
		if used != nil {
			c.mark(used)
		}
	}
	return nil
}

// checkIndices checks that every valid index of a column has a value, and notes which values have one if asked.
func checkIndices(s *source, c *arrowipc.Column, limit int64, note bool) (used []uint64, err error) {
	if note {
		used = make([]uint64, (limit+63)/64)
	}
	bitmap, indices := s.validity(c), s.buf(c, 1)
	for i := range s.node(c).Length {
		if !valid(bitmap, i) {
			continue
		}
		k := indexAt(indices, c, i)
		if k < 0 || k >= limit {
			return nil, fmt.Errorf("%w: column %q: index %d at row %d, the dictionary has %d values", ErrInvalidBatch, c.Field.Name, k, i, limit)
		}
		if used != nil {
			used[k>>6] |= 1 << (k & 63)
		}
	}
	return used, nil
}

// close stores the dictionaries that batches use, compacted where that is worth it, and gives each batch its own. It
// runs when all groups are done.
func (d *dictionaries) close(in *Ingest) error {
	if d == nil {
		return nil
	}
	used := map[*chain]bool{}
	for _, g := range in.groups {
		for _, c := range g.chains {
			used[c] = true
		}
	}
	for _, c := range d.all {
		if !used[c] {
			continue
		}
		sparse := !in.opts.KeepBatches && c.sparse()
		if sparse {
			if err := d.renumber(in, c); err != nil {
				return err
			}
		}
		if err := c.store(d.store, in.opts.Codec, in.opts.Level, sparse); err != nil {
			return err
		}
	}
	for _, g := range in.groups {
		for _, b := range g.batches {
			for _, c := range g.chains {
				c.dict.retain()
				b.dicts = append(b.dicts, c.dict)
			}
		}
	}
	return nil
}

// renumber rewrites the batches that use a chain for its used values only.
func (d *dictionaries) renumber(in *Ingest, c *chain) error {
	number := make([]int64, c.rows)
	next := int64(0)
	for i := range number {
		if c.isUsed(int64(i)) {
			number[i] = next
			next++
		}
	}
	for _, g := range in.groups {
		for i, b := range g.batches {
			for _, x := range d.leaves {
				if g.chains[x.dictionary] != c {
					continue
				}
				renumbered, err := d.store.renumber(in.layout, b, x.column, number, in.opts.Level)
				if err != nil {
					return err
				}
				b.Release()
				b = renumbered
				g.batches[i] = b
			}
		}
	}
	return nil
}

// renumber makes a batch that differs from b in one column's indices. All other buffers are copied as stored.
func (s *Store) renumber(l *arrowipc.Layout, b *Batch, c *arrowipc.Column, number []int64, level int) (*Batch, error) {
	at := c.Buf0 + int(sum(b.header.Variadic[:c.View0])) // of the bitmap; the indices follow
	one := &plainBatch{}
	scratch, err := s.decodePlain(one, b.header.Buffers[at:at+2], b.body.B, b.codec)
	if err != nil {
		return nil, err
	}
	defer Free(&scratch)
	bitmap, indices := one.bufs[0], one.bufs[1]
	if len(bitmap) == 0 {
		bitmap = nil
	}
	n := b.header.Nodes[c.Node0].Length
	for i := range n {
		if k := indexAt(indices, c, i); valid(bitmap, i) {
			putIndex(indices, c, i, number[k])
		} else {
			putIndex(indices, c, i, 0)
		}
	}
	h := b.header
	h.Buffers = append([]arrowipc.Buffer(nil), h.Buffers...)
	parts := sliceBuffers(b.body.B, h.Buffers)
	if b.codec == compress.None {
		parts[at+1] = indices
	} else if parts[at+1], err = s.codecs.Append(nil, indices, b.codec, level); err != nil {
		return nil, err
	}
	layOut(&h, parts)
	body, err := s.Alloc(int(paddedSize(parts)))
	if err != nil {
		return nil, err
	}
	for i, x := range h.Buffers {
		end := x.Offset + int64(copy(body.B[x.Offset:], parts[i]))
		clear(body.B[end:pad8(end)])
	}
	renumbered := s.newBatch(l, h, b.codec, b.decoded, body)
	renumbered.metadata = b.metadata
	return renumbered, nil
}

func (d *dictionaries) free() {
	if d == nil {
		return
	}
	for _, c := range d.all {
		c.free()
	}
	d.all, d.current = nil, nil
}
