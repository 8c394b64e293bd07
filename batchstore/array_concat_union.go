package batchstore

import (
	"fmt"
	"math"

	"github.com/flightcache/flightcache/arrowipc"
)

// typeCodes writes the type codes of a union.
func typeCodes(c *arrowipc.Column, pieces []piece) func(bufs [][]byte) {
	return func(bufs [][]byte) {
		dst := bufs[0]
		for _, q := range pieces {
			dst = dst[copy(dst, q.s.buf(c, 0)[q.from:q.from+q.n]):]
		}
	}
}

// denseUnion plans a dense union. What rows refer to is kept once for each group of pieces and child.
func (p *concatPlan) denseUnion(c *arrowipc.Column, pieces []piece, n int64) error {
	childOf := unionChildren(c)
	places := make([]placer, len(c.Children))
	children := make([][]piece, len(c.Children))
	groups := grouped(pieces)
	kept := make([][][]span, len(groups)) // of each group and child
	for i, group := range groups {
		kept[i] = unionSpans(c, childOf, group)
		for k, spans := range kept[i] {
			places[k].limit = math.MaxInt32
			if !places[k].place(spans) {
				return fmt.Errorf("%w: union offsets over %d", errTooBig, math.MaxInt32)
			}
			children[k] = appendSpans(children[k], group[0].s, spans)
		}
	}
	codes := typeCodes(c, pieces)
	err := p.add(func(bufs [][]byte) {
		codes(bufs)
		var at int64
		for i, group := range groups {
			for _, q := range group {
				from, offsets := q.s.buf(c, 0), q.s.buf(c, 1)
				for row := q.from; row < q.from+q.n; row++ {
					offset := intAt(offsets, 4, row)
					x := find(kept[i][childOf[from[row]]], offset)
					putInt(bufs[1], 4, at, x.at+offset-x.lo)
					at++
				}
			}
		}
	}, n, n*4)
	if err != nil {
		return err
	}
	for i, child := range c.Children {
		if err := p.column(child, children[i]); err != nil {
			return err
		}
	}
	return nil
}

// unionSpans gives, for each child, the ranges that the rows of one group refer to.
func unionSpans(c *arrowipc.Column, childOf *[256]int16, pieces []piece) [][]span {
	extents := make([]extent, len(c.Children))
	for _, q := range pieces {
		codes, offsets := q.s.buf(c, 0), q.s.buf(c, 1)
		for row := q.from; row < q.from+q.n; row++ {
			offset := intAt(offsets, 4, row)
			extents[childOf[codes[row]]].add(offset, offset+1)
		}
	}
	spans := make([][]span, len(extents))
	for i := range extents {
		switch e := &extents[i]; {
		case e.sum == 0:
		case e.dense():
			spans[i] = []span{{lo: e.lo, hi: e.hi}}
		default:
			spans[i] = sparseUnionSpans(c, childOf, pieces, int16(i))
		}
	}
	return spans
}

// sparseUnionSpans gathers the references to one child that most of is not referred to.
func sparseUnionSpans(c *arrowipc.Column, childOf *[256]int16, pieces []piece, child int16) []span {
	var spans []span
	for _, q := range pieces {
		codes, offsets := q.s.buf(c, 0), q.s.buf(c, 1)
		for row := q.from; row < q.from+q.n; row++ {
			if childOf[codes[row]] == child {
				offset := intAt(offsets, 4, row)
				spans = append(spans, span{lo: offset, hi: offset + 1})
			}
		}
	}
	return merge(spans)
}
