package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// plainBatch is one decoded record batch: what its header says, and its buffers as byte slices.
//
// Nodes and buffers stand in the positions of the schema's [arrowipc.Layout], variadic buffers counted in, also where
// only some columns are looked at; the buffers of other columns may then be nil. Buffers may be longer than needed and
// need not be aligned in memory. They belong to whoever made the batch and are only read here.
type plainBatch struct {
	rows     int64
	nodes    []arrowipc.FieldNode
	bufs     [][]byte
	variadic []int64 // data buffers of each view column, in preorder
}

// source is a plainBatch in which columns can be looked up.
type source struct {
	*plainBatch
	viewSums []int // variadic buffers before view column i; one more than there are view columns
}

func newSource(b *plainBatch) *source {
	s := &source{plainBatch: b, viewSums: make([]int, len(b.variadic)+1)}
	for i, v := range b.variadic {
		s.viewSums[i+1] = s.viewSums[i] + int(v)
	}
	return s
}

// node is the field node of a column.
func (s *source) node(c *arrowipc.Column) arrowipc.FieldNode { return s.nodes[c.Node0] }

// buf is the i-th of a column's own buffers, in the order given at the kinds of arrowipc.
func (s *source) buf(c *arrowipc.Column, i int) []byte {
	return s.bufs[c.Buf0+s.viewSums[c.View0]+i]
}

// viewData gives the data buffers of a view column.
func (s *source) viewData(c *arrowipc.Column) [][]byte {
	first := c.Buf0 + c.OwnBuffers()
	return s.bufs[first+s.viewSums[c.View0] : first+s.viewSums[c.View0+1]]
}

// validity is a column's bitmap, nil where every slot is valid.
func (s *source) validity(c *arrowipc.Column) []byte {
	if !c.HasValidity() || s.node(c).Nulls == 0 {
		return nil
	}
	return s.buf(c, 0)
}

// eachBuffer calls f with every buffer of the columns, children's and variadic ones included.
func (s *source) eachBuffer(cols []*arrowipc.Column, f func([]byte)) {
	for _, c := range cols {
		for i := range c.OwnBuffers() {
			f(s.buf(c, i))
		}
		if c.Kind == arrowipc.KindView {
			for _, b := range s.viewData(c) {
				f(b)
			}
		}
		s.eachBuffer(c.Children, f)
	}
}

// plainSize is the bytes of the columns' buffers, what their lengths include of padding counted in. A joined batch
// hardly needs more than the sum of its sources (a bitmap may be added where only some have one).
func plainSize(cols []*arrowipc.Column, b *plainBatch) int64 {
	var sum int64
	newSource(b).eachBuffer(cols, func(buf []byte) { sum += int64(len(buf)) })
	return sum
}

// nullCounts gives the null count of each of the columns, from the field nodes. A column of type null is all null;
// unions and run-end encoded columns have no nulls of their own.
func nullCounts(cols []*arrowipc.Column, b *plainBatch) []int64 {
	counts := make([]int64, len(cols))
	for i, c := range cols {
		counts[i] = trueNulls(c, b.nodes[c.Node0])
	}
	return counts
}

// trueNulls is the null count that a column's node should have. Kinds without a bitmap have a fixed one, and
// producers differ in what they write there.
func trueNulls(c *arrowipc.Column, n arrowipc.FieldNode) int64 {
	switch {
	case c.Kind == arrowipc.KindNull:
		return n.Length
	case !c.HasValidity():
		return 0
	}
	return n.Nulls
}
