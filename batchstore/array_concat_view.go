package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// eachLongView calls f with row, data buffer and range of every view of a piece that is not null and too long to hold
// its value itself.
func eachLongView(c *arrowipc.Column, q piece, f func(row, buf, lo, hi int64)) {
	bitmap, views := q.s.validity(c), q.s.buf(c, 1)
	for row := q.from; row < q.from+q.n; row++ {
		size, buf, offset := parseView(views[row*viewBytes : (row+1)*viewBytes])
		if size > inlineBytes && valid(bitmap, row) {
			f(row, buf, offset, offset+size)
		}
	}
}

// views plans a view column: the views, and data buffers with what they refer to, once for each group of pieces.
func (p *concatPlan) views(c *arrowipc.Column, pieces []piece, n int64) error {
	var places bufferPlacer
	groups := grouped(pieces)
	kept := make([][][]span, len(groups)) // of each group and data buffer
	for i, group := range groups {
		kept[i] = viewSpans(c, group)
		for _, spans := range kept[i] {
			places.place(spans)
		}
	}
	p.variadic = append(p.variadic, int64(len(places.sizes)))
	return p.add(func(bufs [][]byte) {
		var at int64
		for i, group := range groups {
			for _, q := range group {
				writeViews(bufs[0][at*viewBytes:(at+q.n)*viewBytes], c, q, kept[i])
				at += q.n
			}
			for k, data := range group[0].s.viewData(c) {
				for _, x := range kept[i][k] {
					copy(bufs[1+x.buf][x.at:], data[x.lo:x.hi])
				}
			}
		}
	}, append([]int64{n * viewBytes}, places.sizes...)...)
}

// writeViews writes the views of a piece: inline ones as they are, zeros for nulls, the others moved.
func writeViews(dst []byte, c *arrowipc.Column, q piece, spans [][]span) {
	copy(dst, q.s.buf(c, 1)[q.from*viewBytes:(q.from+q.n)*viewBytes])
	if bitmap := q.s.validity(c); bitmap != nil {
		for i := range q.n {
			if !bitSet(bitmap, q.from+i) {
				clear(dst[i*viewBytes : (i+1)*viewBytes])
			}
		}
	}
	eachLongView(c, q, func(row, buf, lo, _ int64) {
		x := find(spans[buf], lo)
		moveView(dst[(row-q.from)*viewBytes:], x.buf, x.at+lo-x.lo)
	})
}

// viewSpans gives, for each data buffer of a group's source, the ranges that the group's views refer to.
func viewSpans(c *arrowipc.Column, pieces []piece) [][]span {
	extents := make([]extent, len(pieces[0].s.viewData(c)))
	for _, q := range pieces {
		eachLongView(c, q, func(_, buf, lo, hi int64) { extents[buf].add(lo, hi) })
	}
	spans := make([][]span, len(extents))
	sparse := false
	for i := range extents {
		switch e := &extents[i]; {
		case e.sum == 0:
		case e.dense():
			spans[i] = []span{{lo: e.lo, hi: e.hi}}
		default:
			sparse = true
		}
	}
	if !sparse {
		return spans
	}
	for _, q := range pieces {
		eachLongView(c, q, func(_, buf, lo, hi int64) {
			if !extents[buf].dense() {
				spans[buf] = append(spans[buf], span{lo: lo, hi: hi})
			}
		})
	}
	for i := range spans {
		if !extents[i].dense() {
			spans[i] = merge(spans[i])
		}
	}
	return spans
}
