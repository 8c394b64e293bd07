package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// ownBytes is the bytes that a column's own buffers need: bitmap, values, offsets and data without the padding that
// producers count into buffer lengths, so that the same rows measure the same whoever sent them. A bitmap counts if the
// batch has one. The batch has passed checkPlain.
func ownBytes(s *source, c *arrowipc.Column) int64 {
	var sum int64
	for i := range c.OwnBuffers() {
		sum += s.need(c, i)
	}
	if c.Kind == arrowipc.KindView {
		for _, e := range s.viewExtents(c) {
			sum += e.hi
		}
	}
	return sum
}

// need is the least length of the i-th of a column's own buffers.
func (s *source) need(c *arrowipc.Column, i int) int64 {
	n := s.node(c).Length
	if i == 0 && c.HasValidity() {
		if len(s.buf(c, 0)) == 0 {
			return 0
		}
		return bitBytes(n)
	}
	width := offsetWidth(c.Kind)
	switch c.Kind {
	case arrowipc.KindBool:
		return bitBytes(n)
	case arrowipc.KindFixed:
		return n * int64(c.Width)
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		if i == 2 {
			lo, hi := offsetRange(s.buf(c, 1), width, 0, n)
			return hi - lo
		}
		return s.needOffsets(c, n, width)
	case arrowipc.KindList, arrowipc.KindLargeList:
		return s.needOffsets(c, n, width)
	case arrowipc.KindView:
		return n * viewBytes
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		return n * width
	case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
		if i == 1 {
			return n * 4
		}
		return n
	}
	return 0
}

// needOffsets is the length of an offsets buffer, which may be absent where there are no rows.
func (s *source) needOffsets(c *arrowipc.Column, n, width int64) int64 {
	if n == 0 && int64(len(s.buf(c, 1))) < width {
		return 0
	}
	return (n + 1) * width
}

// viewExtents gives, for each data buffer of a view column, what all its rows refer to.
func (s *source) viewExtents(c *arrowipc.Column) []extent {
	extents := make([]extent, len(s.viewData(c)))
	eachLongView(c, piece{s, 0, s.node(c).Length}, func(_, buf, lo, hi int64) { extents[buf].add(lo, hi) })
	return extents
}
