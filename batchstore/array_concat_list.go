package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// lists plans lists and maps: offsets, and the child's slots between the first and the last.
func (p *concatPlan) lists(c *arrowipc.Column, pieces []piece, n int64) error {
	if _, err := p.offsets(c, pieces, n); err != nil {
		return err
	}
	width := offsetWidth(c.Kind)
	children := make([]piece, len(pieces))
	for i, q := range pieces {
		lo, hi := offsetRange(q.s.buf(c, 1), width, q.from, q.n)
		children[i] = piece{q.s, lo, hi - lo}
	}
	return p.column(c.Children[0], children)
}

// fixedLists plans the child of lists of one size.
func (p *concatPlan) fixedLists(c *arrowipc.Column, pieces []piece) error {
	size := int64(c.ListSize)
	children := make([]piece, len(pieces))
	for i, q := range pieces {
		children[i] = piece{q.s, q.from * size, q.n * size}
	}
	return p.column(c.Children[0], children)
}

// eachList calls f with row and range of every list of a piece that is neither null nor empty.
func eachList(c *arrowipc.Column, q piece, f func(row, lo, hi int64)) {
	width := offsetWidth(c.Kind)
	bitmap, offsets, sizes := q.s.validity(c), q.s.buf(c, 1), q.s.buf(c, 2)
	for row := q.from; row < q.from+q.n; row++ {
		if size := intAt(sizes, width, row); size > 0 && valid(bitmap, row) {
			lo := intAt(offsets, width, row)
			f(row, lo, lo+size)
		}
	}
}

// listViews plans list views. Lists may lie in any order and overlap: what they refer to is kept once for each group of
// pieces, in the order in which it lies there.
func (p *concatPlan) listViews(c *arrowipc.Column, pieces []piece, n int64) error {
	width := offsetWidth(c.Kind)
	places := placer{limit: maxItems(width)}
	var children []piece
	groups := grouped(pieces)
	kept := make([][]span, len(groups))
	for i, group := range groups {
		kept[i] = listSpans(c, group)
		if !places.place(kept[i]) {
			return fmt.Errorf("%w: offsets over %d", errTooBig, places.limit)
		}
		children = appendSpans(children, group[0].s, kept[i])
	}
	err := p.add(func(bufs [][]byte) {
		offsets, sizes := bufs[0], bufs[1]
		clear(offsets)
		clear(sizes)
		var at int64
		for i, group := range groups {
			for _, q := range group {
				eachList(c, q, func(row, lo, hi int64) {
					x := find(kept[i], lo)
					putInt(offsets, width, at+row-q.from, x.at+lo-x.lo)
					putInt(sizes, width, at+row-q.from, hi-lo)
				})
				at += q.n
			}
		}
	}, n*width, n*width)
	if err != nil {
		return err
	}
	return p.column(c.Children[0], children)
}

// listSpans gives the ranges of the child that the list views of one group refer to.
func listSpans(c *arrowipc.Column, pieces []piece) []span {
	var e extent
	for _, q := range pieces {
		eachList(c, q, func(_, lo, hi int64) { e.add(lo, hi) })
	}
	switch {
	case e.sum == 0:
		return nil
	case e.dense():
		return []span{{lo: e.lo, hi: e.hi}}
	}
	var spans []span
	for _, q := range pieces {
		eachList(c, q, func(_, lo, hi int64) { spans = append(spans, span{lo: lo, hi: hi}) })
	}
	return merge(spans)
}

// appendSpans appends spans of a source as pieces.
func appendSpans(pieces []piece, s *source, spans []span) []piece {
	for _, x := range spans {
		pieces = append(pieces, piece{s, x.lo, x.hi - x.lo})
	}
	return pieces
}
