package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// run is a range of rows of a batch that checkPlain has accepted.
type run struct {
	b       *plainBatch
	from, n int64
}

// concatPlan is a batch that has been measured but not written yet. Cutting a batch (one run), joining batches (a run
// for each) and bringing one into canonical form (a run that is all of it) are this one operation.
//
// What it writes is canonical: offsets begin at zero; children, data and data buffers of views hold nothing that is
// not referred to, give or take holes where at least half is; no bitmap where nothing is null, and zeros after the last
// bit of the others; zero views and empty list views in null slots, the bytes of other null slots as they came; null
// counts as in trueNulls; buffer lengths without padding. Where runs take each source once, or its rows in ascending
// order, no column, child or data becomes longer than in the sources together, whatever overlaps in them.
//
// A plan reads the buffers of its runs when it writes, so they must live until then.
type concatPlan struct {
	rows     int64
	nodes    []arrowipc.FieldNode
	variadic []int64
	buffers  []arrowipc.Buffer // where each buffer will lie in the body
	bodyLen  int64             // bytes of the body, a multiple of eight
	fills    []fill
	values   map[int64]*dictionaryValues // by id: dictionaries whose values are written in place of indices
}

// fill writes the buffers from first on; it gets just as many as it asked for when it was added.
type fill struct {
	first, count int
	write        func(bufs [][]byte)
}

// maxBody is far above any body that could be allocated and low enough for sums not to overflow.
const maxBody = 1 << 60

// piece is a range of a column's, or a child's, slots in one source.
type piece struct {
	s       *source
	from, n int64
}

// concatSize measures the columns of consecutive runs as one batch, in the order in which they are given and densely:
// columns that are not asked for, or children of structs that are not among Column.Children, leave no gap.
//
// It fails with errTooBig if the runs cannot become one batch. Whether the result fits the caller's limits is for the
// caller to see from bodyLen before it provides the body. A small part of a batch may need as much as the whole batch
// does, where its rows refer to the same list or string; cutting on does not always make smaller.
func concatSize(cols []*arrowipc.Column, runs []run) (*concatPlan, error) {
	return concatDecoded(cols, runs, nil)
}

// concatDecoded is concatSize, with the values of the given dictionaries in place of indices into them. The indices are
// known to be in range.
func concatDecoded(cols []*arrowipc.Column, runs []run, values map[int64]*dictionaryValues) (*concatPlan, error) {
	p := &concatPlan{values: values}
	sources := make(map[*plainBatch]*source, len(runs))
	pieces := make([]piece, 0, len(runs))
	for _, r := range runs {
		if r.from < 0 || r.n < 0 || r.from > r.b.rows || r.n > r.b.rows-r.from {
			return nil, fmt.Errorf("%w: %d rows from %d on of a batch of %d", ErrInvalidBatch, r.n, r.from, r.b.rows)
		}
		s := sources[r.b]
		if s == nil {
			s = newSource(r.b)
			sources[r.b] = s
		}
		pieces = append(pieces, piece{s, r.from, r.n})
	}
	var err error
	if p.rows, err = total(pieces); err != nil {
		return nil, err
	}
	for _, c := range cols {
		if err := p.column(c, pieces); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Field.Name, err)
		}
	}
	return p, nil
}

// write writes the batch into dst[:bodyLen], each buffer aligned to eight bytes within it, with zeros between. It
// returns the batch, whose buffers are slices of dst, and where they lie. dst need not be zeroed.
func (p *concatPlan) write(dst []byte) (plainBatch, []arrowipc.Buffer) {
	bufs := make([][]byte, len(p.buffers))
	for i, b := range p.buffers {
		end := b.Offset + b.Length
		bufs[i] = dst[b.Offset:end:end]
		clear(dst[end:padded(end)])
	}
	for _, f := range p.fills {
		f.write(bufs[f.first : f.first+f.count])
	}
	return plainBatch{rows: p.rows, nodes: p.nodes, bufs: bufs, variadic: p.variadic}, p.buffers
}

// padded is n rounded up to a multiple of eight.
func padded(n int64) int64 { return (n + 7) &^ 7 }

// total is the slots of all pieces.
func total(pieces []piece) (int64, error) {
	var n int64
	for _, p := range pieces {
		if p.n > maxBody-n {
			return 0, fmt.Errorf("%w: over %d slots", errTooBig, int64(maxBody))
		}
		n += p.n
	}
	return n, nil
}

// add places buffers of the given lengths in the body; write fills them all.
func (p *concatPlan) add(write func(bufs [][]byte), lengths ...int64) error {
	p.fills = append(p.fills, fill{len(p.buffers), len(lengths), write})
	for _, n := range lengths {
		if n > maxBody-p.bodyLen {
			return fmt.Errorf("%w: over %d bytes", errTooBig, int64(maxBody))
		}
		p.buffers = append(p.buffers, arrowipc.Buffer{Offset: p.bodyLen, Length: n})
		p.bodyLen = padded(p.bodyLen + n)
	}
	return nil
}

// column plans a column and its descendants.
func (p *concatPlan) column(c *arrowipc.Column, pieces []piece) error {
	if d := c.Field.Dictionary; d != nil && p.values[d.ID] != nil {
		return p.decoded(c, p.values[d.ID], pieces)
	}
	n, err := total(pieces)
	if err != nil {
		return err
	}
	if err := p.validity(c, pieces, n); err != nil {
		return err
	}
	switch c.Kind {
	case arrowipc.KindBool:
		return p.bools(c, pieces, n)
	case arrowipc.KindFixed:
		return p.fixed(c, pieces, n)
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		return p.binary(c, pieces, n)
	case arrowipc.KindView:
		return p.views(c, pieces, n)
	case arrowipc.KindList, arrowipc.KindLargeList:
		return p.lists(c, pieces, n)
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		return p.listViews(c, pieces, n)
	case arrowipc.KindFixedSizeList:
		return p.fixedLists(c, pieces)
	case arrowipc.KindStruct:
		return p.children(c, pieces)
	case arrowipc.KindSparseUnion:
		if err := p.add(typeCodes(c, pieces), n); err != nil {
			return err
		}
		return p.children(c, pieces)
	case arrowipc.KindDenseUnion:
		return p.denseUnion(c, pieces, n)
	case arrowipc.KindRunEnd:
		return p.runEnds(c, pieces, n)
	}
	return nil // of type null
}

// children plans every child with the slots of its parent.
func (p *concatPlan) children(c *arrowipc.Column, pieces []piece) error {
	for _, child := range c.Children {
		if err := p.column(child, pieces); err != nil {
			return err
		}
	}
	return nil
}

// validity plans a column's node and, if it is of a kind that has one, its bitmap.
func (p *concatPlan) validity(c *arrowipc.Column, pieces []piece, n int64) error {
	node := arrowipc.FieldNode{Length: n}
	if !c.HasValidity() {
		node.Nulls = trueNulls(c, node)
		p.nodes = append(p.nodes, node)
		return nil
	}
	for _, q := range pieces {
		if bitmap := q.s.validity(c); bitmap != nil {
			node.Nulls += q.n - countBits(bitmap, q.from, q.n)
		}
	}
	p.nodes = append(p.nodes, node)
	if node.Nulls == 0 {
		return p.add(func([][]byte) {}, 0)
	}
	return p.add(func(bufs [][]byte) {
		w := bitWriter{dst: bufs[0]}
		for _, q := range pieces {
			if bitmap := q.s.validity(c); bitmap != nil {
				w.copyBits(bitmap, q.from, q.n)
			} else {
				w.ones(q.n)
			}
		}
		w.flush()
	}, bitBytes(n))
}
