package batchstore

import (
	"fmt"
	"math"

	"github.com/flightcache/flightcache/arrowipc"
)

// bools plans the bits of a boolean column.
func (p *concatPlan) bools(c *arrowipc.Column, pieces []piece, n int64) error {
	return p.add(func(bufs [][]byte) {
		w := bitWriter{dst: bufs[0]}
		for _, q := range pieces {
			w.copyBits(q.s.buf(c, 1), q.from, q.n)
		}
		w.flush()
	}, bitBytes(n))
}

// fixed plans the values of a column of fixed width.
func (p *concatPlan) fixed(c *arrowipc.Column, pieces []piece, n int64) error {
	width := int64(c.Width)
	return p.add(func(bufs [][]byte) {
		dst := bufs[0]
		for _, q := range pieces {
			dst = dst[copy(dst, q.s.buf(c, 1)[q.from*width:(q.from+q.n)*width]):]
		}
	}, n*width)
}

// binary plans offsets and data of a column of strings.
func (p *concatPlan) binary(c *arrowipc.Column, pieces []piece, n int64) error {
	size, err := p.offsets(c, pieces, n)
	if err != nil {
		return err
	}
	width := offsetWidth(c.Kind)
	return p.add(func(bufs [][]byte) {
		dst := bufs[0]
		for _, q := range pieces {
			lo, hi := offsetRange(q.s.buf(c, 1), width, q.from, q.n)
			dst = dst[copy(dst, q.s.buf(c, 2)[lo:hi]):]
		}
	}, size)
}

// offsets plans an offsets buffer and gives the number of items that it spans.
func (p *concatPlan) offsets(c *arrowipc.Column, pieces []piece, n int64) (int64, error) {
	width := offsetWidth(c.Kind)
	var items int64
	for _, q := range pieces {
		lo, hi := offsetRange(q.s.buf(c, 1), width, q.from, q.n)
		if hi-lo > maxItems(width)-items {
			return 0, fmt.Errorf("%w: offsets over %d", errTooBig, maxItems(width))
		}
		items += hi - lo
	}
	return items, p.add(func(bufs [][]byte) {
		putInt(bufs[0], width, 0, 0)
		var at, base int64
		for _, q := range pieces {
			if q.n == 0 {
				continue
			}
			offsets := q.s.buf(c, 1)
			lo, hi := offsetRange(offsets, width, q.from, q.n)
			rebase(bufs[0], at, offsets, width, q.from, q.n, base-lo)
			at, base = at+q.n, base+hi-lo
		}
	}, (n+1)*width)
}

// maxItems is how many items offsets of a width can number.
func maxItems(width int64) int64 {
	if width == 4 {
		return math.MaxInt32
	}
	return maxBody
}
