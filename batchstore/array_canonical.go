package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// maxPadding is the most bytes after a buffer's content that are taken for padding: producers pad to 8 or to 64.
const maxPadding = 63

// canonical reports whether a batch that has passed checkPlain need not be rewritten: its body lies as concatSize's plan
// would lay it out, and its values are as the plan would write them. Allowed beyond that: buffers may be padded, and
// their lengths may include it; a bitmap may be there without nulls and have ones after its last bit; an offsets buffer
// may be absent where there are no rows. So what common producers send is kept as it came, and slices that carry more
// than their rows are not.
//
// The buffers and the body's length are those of the body as it arrived, which may be compressed; b is decoded.
func canonical(l *arrowipc.Layout, b *plainBatch, buffers []arrowipc.Buffer, bodyLen int64) bool {
	if !canonicalBody(buffers, bodyLen) {
		return false
	}
	s := newSource(b)
	for _, c := range l.Columns {
		if !s.canonical(c) {
			return false
		}
	}
	return true
}

// canonicalBody reports whether buffers lie in order and apart, each at a multiple of eight, with no more between and
// after them than padding.
func canonicalBody(buffers []arrowipc.Buffer, bodyLen int64) bool {
	end := int64(0)
	for _, b := range buffers {
		if b.Length < 0 || b.Offset < end || b.Offset-end > maxPadding || b.Offset%8 != 0 ||
			b.Length > bodyLen-b.Offset {
			return false
		}
		end = b.Offset + b.Length
	}
	return bodyLen >= end && bodyLen-end <= maxPadding
}

// canonical looks at a column and its descendants.
func (s *source) canonical(c *arrowipc.Column) bool {
	node := s.node(c)
	if node.Nulls != trueNulls(c, node) {
		return false
	}
	for i := range c.OwnBuffers() {
		if int64(len(s.buf(c, i)))-s.need(c, i) > maxPadding {
			return false
		}
	}
	if !s.canonicalOwn(c, node.Length) {
		return false
	}
	for _, child := range c.Children {
		if !s.canonical(child) {
			return false
		}
	}
	return true
}

// canonicalOwn looks at what a column refers to: all of its children and data, from the beginning, and little else.
func (s *source) canonicalOwn(c *arrowipc.Column, n int64) bool {
	width := offsetWidth(c.Kind)
	switch c.Kind {
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		lo, _ := offsetRange(s.buf(c, 1), width, 0, n)
		return lo == 0
	case arrowipc.KindList, arrowipc.KindLargeList:
		lo, hi := offsetRange(s.buf(c, 1), width, 0, n)
		return lo == 0 && s.childrenAre(c, hi)
	case arrowipc.KindView:
		return s.canonicalViews(c, n)
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		return covers(listSpans(c, []piece{{s, 0, n}}), s.node(c.Children[0]).Length)
	case arrowipc.KindFixedSizeList:
		return s.childrenAre(c, n*int64(c.ListSize))
	case arrowipc.KindStruct, arrowipc.KindSparseUnion:
		return s.childrenAre(c, n)
	case arrowipc.KindDenseUnion:
		for i, spans := range unionSpans(c, unionChildren(c), []piece{{s, 0, n}}) {
			if !covers(spans, s.node(c.Children[i]).Length) {
				return false
			}
		}
	case arrowipc.KindRunEnd:
		ends := s.node(c.Children[0]).Length
		width := int64(c.Children[0].Width)
		last := int64(0)
		if ends > 0 {
			last = intAt(s.buf(c.Children[0], 1), width, ends-1)
		}
		return last == n && s.node(c.Children[1]).Length == ends
	}
	return true
}

// canonicalViews reports whether the data buffers hold little but what views refer to, and whether the views of null
// slots are such as readers accept that look at all of them.
func (s *source) canonicalViews(c *arrowipc.Column, n int64) bool {
	data := s.viewData(c)
	for i, e := range s.viewExtents(c) {
		if e.lo != 0 || int64(len(data[i]))-e.hi > maxPadding || !e.dense() {
			return false
		}
	}
	bitmap, views := s.validity(c), s.buf(c, 1)
	if bitmap == nil {
		return true
	}
	for i := range n {
		if !bitSet(bitmap, i) && !viewFits(views[i*viewBytes:(i+1)*viewBytes], data) {
			return false
		}
	}
	return true
}

// childrenAre reports whether every child has just n values.
func (s *source) childrenAre(c *arrowipc.Column, n int64) bool {
	for _, child := range c.Children {
		if s.node(child).Length != n {
			return false
		}
	}
	return true
}

// covers reports whether spans are all of a child.
func covers(spans []span, length int64) bool {
	if len(spans) == 0 {
		return length == 0
	}
	return len(spans) == 1 && spans[0].lo == 0 && spans[0].hi == length
}
