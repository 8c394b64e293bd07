package batchstore

import (
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/statistics"
)

// Filter tells which rows of a batch are wanted.
type Filter interface {
	// Columns are those that Select looks at, at their places in the stored layout.
	Columns() []arrowipc.RowColumn
	// Select sets the bit of each wanted row and clears the others. There is a vector for each column, valid until Select
	// returns.
	Select(vectors []*statistics.Vector, rows int64, selected []byte) error
}

// ReadFiltered is Read of the rows that the reader's filter wants, at most limit of them: it gives how many there were.
// The filter's columns are decoded; where all rows are wanted the stored bytes are sent untouched, and where none are,
// nothing is.
func (r *Reader) ReadFiltered(b *Batch, f *Selector, limit int64, send func(*Message) error) (int64, error) {
	selected, decoded, err := f.rows(b)
	if err != nil {
		return 0, err
	}
	first := true
	emit := func(m *Message) error {
		if first {
			m.Decoded += decoded
			first = false
		}
		return send(m)
	}
	ranges, n := rowRanges(selected, b.Rows(), limit)
	switch n {
	case 0:
		f.wasted += decoded
		return 0, nil
	case b.Rows():
		return n, r.Read(b, n, emit)
	}
	if err := r.dicts.prepare(r, b, emit); err != nil {
		return 0, err
	}
	r.gather(b)
	stored, err := r.store.open(r.memory, b, r.columns)
	if err != nil {
		return 0, err
	}
	defer stored.release()
	return n, r.sendDecoded(b, stored, ranges, emit)
}

// Selector runs a filter over batches of one layout. It belongs to one goroutine, which closes it.
type Selector struct {
	store   *Store
	memory  lender // of what is decoded
	filter  Filter
	columns []filterColumn
	within  []interval // of the stored layout: what the columns lie in

	selected []byte
	wasted   int64
}

// filterColumn is one of a filter's columns, with the values of its dictionary, if it has one, as of the last batch.
type filterColumn struct {
	arrowipc.RowColumn
	ordinal int // of its dictionary; -1 for none
	now     *Dictionary
	values  *statistics.Vector
	block   arena.Block // that the values lie in
}

// Selector prepares a filter for batches of a layout. What it decodes is charged to the claim; nil: nobody's, and it never
// waits for room.
func (s *Store) Selector(l *arrowipc.Layout, f Filter, c *Claim) *Selector {
	x := &Selector{store: s, memory: s.reading(c), filter: f}
	var spans []arrowipc.Span
	for _, column := range f.Columns() {
		spans = append(spans, column.Column.Span)
		fl := filterColumn{RowColumn: column, ordinal: -1}
		if d := column.Column.Field.Dictionary; d != nil {
			for i, layout := range l.Dictionaries {
				if layout.ID == d.ID {
					fl.ordinal = i
				}
			}
		}
		x.columns = append(x.columns, fl)
	}
	x.within = touched(l, spans)
	return x
}

// Close gives back what the selector kept between batches.
func (f *Selector) Close() {
	for i := range f.columns {
		Free(&f.columns[i].block)
	}
}

// Wasted is the plain bytes that were decoded of batches of which no row was wanted.
func (f *Selector) Wasted() int64 { return f.wasted }

// Count gives how many rows of a batch are wanted, and the plain bytes that had to be decoded to know.
func (f *Selector) Count(b *Batch) (rows, decoded int64, err error) {
	selected, decoded, err := f.rows(b)
	if err != nil {
		return 0, decoded, err
	}
	return countBits(selected, 0, b.Rows()), decoded, nil
}

// rows runs the filter over a batch. The bits are valid until the next call.
func (f *Selector) rows(b *Batch) (selected []byte, decoded int64, err error) {
	s := f.store
	n := bitBytes(b.Rows())
	if int64(cap(f.selected)) < n {
		f.selected = make([]byte, n)
	}
	f.selected = f.selected[:n]

	plain := b.plain()
	plain.bufs = make([][]byte, len(b.header.Buffers))
	src := newSource(plain)
	var wanted []int
	for _, column := range f.columns {
		for _, p := range column.Parents {
			wanted = append(wanted, p.Buf0+src.viewSums[p.View0])
		}
		c := column.Column
		first := c.Buf0 + src.viewSums[c.View0]
		own := c.OwnBuffers()
		if c.Kind == arrowipc.KindView {
			own += src.viewSums[c.View1] - src.viewSums[c.View0]
		}
		for i := first; i < first+own; i++ { // not its children's
			wanted = append(wanted, i)
		}
	}
	stored, err := s.open(f.memory, b, f.within)
	if err != nil {
		return nil, 0, err
	}
	defer stored.release()
	block, decoded, err := s.decodeSome(f.memory, plain.bufs, b, stored, wanted)
	if err != nil {
		return nil, decoded, err
	}
	defer Free(&block)
	vectors := make([]*statistics.Vector, len(f.columns))
	for i := range f.columns {
		column := &f.columns[i]
		if err := column.prepare(f.memory, s, b, &decoded); err != nil {
			return nil, decoded, err
		}
		vectors[i] = src.vector(column.RowColumn, column.values)
	}
	return f.selected, decoded, f.filter.Select(vectors, b.Rows(), f.selected)
}

// prepare sets the values of the column's dictionary to those of a batch.
func (c *filterColumn) prepare(m lender, s *Store, b *Batch, decoded *int64) error {
	if c.ordinal < 0 || b.dicts[c.ordinal] == c.now {
		return nil
	}
	d := b.dicts[c.ordinal]
	plain, block, err := s.decodeDictionary(m, d)
	if err != nil {
		return err
	}
	Free(&c.block)
	*decoded += plain.bytes()
	c.now, c.block = d, block
	c.values = dictionaryVector(b.layout.Dictionaries[c.ordinal].Values.Columns[0], plain)
	return nil
}

// dictionaryVector is a dictionary's values as a vector.
func dictionaryVector(c *arrowipc.Column, plain *plainBatch) *statistics.Vector {
	return newSource(plain).vector(arrowipc.RowColumn{Column: c}, nil)
}

// decodeSome decodes chosen buffers of a batch into bufs at their positions. The bytes lie in the block, which the caller
// frees, or, of a plain batch, in its stored bytes.
func (s *Store) decodeSome(m lender, bufs [][]byte, b *Batch, stored view, chosen []int) (arena.Block, int64, error) {
	ranges := make([]arrowipc.Buffer, len(chosen))
	for i, k := range chosen {
		ranges[i] = b.header.Buffers[k]
	}
	if b.codec == compress.None {
		for i, x := range stored.slices(ranges) {
			bufs[chosen[i]] = x
		}
		return arena.Block{}, 0, nil
	}
	some := &plainBatch{}
	block, err := s.decodePlain(m, some, stored.slices(ranges), b.codec)
	if err != nil {
		return arena.Block{}, 0, err
	}
	for i, x := range some.bufs {
		bufs[chosen[i]] = x
	}
	return block, some.bytes(), nil
}

// rowRanges gives the runs of set bits among the first rows bits, at most limit of them in all, and their sum.
func rowRanges(set []byte, rows, limit int64) (out []rowRange, n int64) {
	for i := int64(0); i < rows && n < limit; {
		w := loadBits(set, i, min(64, rows-i))
		skip := int64(bits.TrailingZeros64(w))
		if skip >= min(64, rows-i) {
			i += 64
			continue
		}
		i += skip
		length := int64(bits.TrailingZeros64(^(w >> skip)))
		length = min(length, 64-skip, limit-n)
		if k := len(out) - 1; k >= 0 && out[k].from+out[k].n == i {
			out[k].n += length
		} else {
			out = append(out, rowRange{i, length})
		}
		i += length
		n += length
	}
	return out, n
}
