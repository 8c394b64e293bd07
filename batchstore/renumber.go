package batchstore

import (
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// renumbering is one index column of a batch whose dictionary was compacted.
type renumbering struct {
	column *arrowipc.Column
	number *ranks
}

// renumber rewrites the put's batches for dictionaries of which only the used values are kept.
func (d *dictionaries) renumber(in *Ingest, numbers map[*chain]*ranks) error {
	if len(numbers) == 0 {
		return nil
	}
	in.staging.restart()
	for _, g := range in.groups {
		var columns []renumbering
		for _, x := range d.leaves {
			if n := numbers[g.chains[x.dictionary]]; n != nil {
				columns = append(columns, renumbering{x.column, n})
			}
		}
		if len(columns) == 0 {
			continue
		}
		for i, b := range g.batches {
			renumbered, err := d.store.renumber(in.memory(false), in.layout, b, columns, in.opts.Level)
			if err != nil {
				return err
			}
			g.batches[i] = renumbered
			b.Release()
			in.staging.add(renumbered)
		}
	}
	return nil
}

// renumber makes a batch that differs from b in the indices of some columns. All other buffers are copied as stored.
func (s *Store) renumber(m lender, l *arrowipc.Layout, b *Batch, columns []renumbering, level int) (*Batch, error) {
	h := b.header
	h.Buffers = append([]arrowipc.Buffer(nil), h.Buffers...)
	stored, err := s.openWhole(m, b)
	if err != nil {
		return nil, err
	}
	defer stored.release()
	parts := stored.slices(h.Buffers)
	var scratch []arena.Block
	defer func() {
		for i := range scratch {
			Free(&scratch[i])
		}
	}()
	for _, x := range columns {
		at := x.column.Buf0 + int(sum(h.Variadic[:x.column.View0])) // of the bitmap; the indices follow
		one := &plainBatch{}
		block, err := s.decodePlain(m, one, stored.slices(b.header.Buffers[at:at+2]), b.codec)
		if err != nil {
			return nil, err
		}
		scratch = append(scratch, block)
		indices := one.bufs[1]
		x.write(indices, one.bufs[0], h.Nodes[x.column.Node0].Length)
		if b.codec != compress.None {
			if indices, err = s.codecs.Append(nil, indices, b.codec, level); err != nil {
				return nil, err
			}
		}
		parts[at+1] = indices
	}
	layOut(&h, parts)
	body, err := m.alloc(paddedSize(parts))
	if err != nil {
		return nil, err
	}
	for i, x := range h.Buffers {
		end := x.Offset + int64(copy(body.B[x.Offset:], parts[i]))
		clear(body.B[end:pad8(end)])
	}
	renumbered, err := s.newBatch(m, l, h, b.codec, b.decoded, b.measured, body)
	if err != nil {
		return nil, err
	}
	if err := renumbered.describe(m, b.metadata); err != nil {
		renumbered.Release()
		return nil, err
	}
	renumbered.level, renumbered.apart = b.level, b.apart
	renumbered.postpone(b.wanted)
	return renumbered, nil
}

// write replaces n indices by the new ones, in null slots by 0. The bitmap may be absent where none is null.
func (x renumbering) write(indices, bitmap []byte, n int64) {
	if len(bitmap) == 0 {
		bitmap = nil
	}
	for i := range n {
		k := int64(0)
		if valid(bitmap, i) {
			k = x.number.of(indexAt(indices, x.column, i))
		}
		putIndex(indices, x.column, i, k)
	}
}
