package batchstore

import (
	"encoding/binary"

	"github.com/flightcache/flightcache/arrowipc"
)

// dictionaryValues are the plain values of one dictionary, in one or more parts that follow each other.
type dictionaryValues struct {
	column *arrowipc.Column // the one column of the parts' layout
	parts  []*source
	starts []int64 // index of each part's first value
	null   *source // one row, null
}

func newDictionaryValues(l *arrowipc.Layout, parts []*plainBatch) *dictionaryValues {
	v := &dictionaryValues{column: l.Columns[0], null: newSource(nullRow(l))}
	at := int64(0)
	for _, p := range parts {
		v.parts = append(v.parts, newSource(p))
		v.starts = append(v.starts, at)
		at += p.rows
	}
	return v
}

// decoded plans a dictionary-encoded column as its values: each index becomes a piece of one value, and indices that
// count up become one piece. Whatever type the values have, cutting and joining pieces knows how to write it.
func (p *concatPlan) decoded(c *arrowipc.Column, v *dictionaryValues, pieces []piece) error {
	var out []piece
	for _, q := range pieces {
		bitmap, indices := q.s.validity(c), q.s.buf(c, 1)
		for i := q.from; i < q.from+q.n; i++ {
			if !valid(bitmap, i) {
				out = append(out, piece{v.null, 0, 1})
				continue
			}
			part, at := v.find(indexAt(indices, c, i))
			if k := len(out) - 1; k >= 0 && out[k].s == part && out[k].from+out[k].n == at {
				out[k].n++
				continue
			}
			out = append(out, piece{part, at, 1})
		}
	}
	return p.column(v.column, out)
}

// find gives the part that holds a value, and the value's place in it. The index is known to be in range.
func (v *dictionaryValues) find(index int64) (*source, int64) {
	k := len(v.parts) - 1
	for v.starts[k] > index {
		k--
	}
	return v.parts[k], index - v.starts[k]
}

// indexAt is the i-th index of a dictionary-encoded column. An unsigned one of 64 bits may come out negative: it is then
// out of any dictionary's range.
func indexAt(b []byte, c *arrowipc.Column, i int64) int64 {
	if c.Width == 1 {
		if c.Field.Dictionary.Signed {
			return int64(int8(b[i]))
		}
		return int64(b[i])
	}
	if c.Field.Dictionary.Signed {
		return intAt(b, int64(c.Width), i)
	}
	switch c.Width {
	case 2:
		return int64(binary.LittleEndian.Uint16(b[i*2:]))
	case 4:
		return int64(binary.LittleEndian.Uint32(b[i*4:]))
	}
	return intAt(b, 8, i)
}

// putIndex writes the i-th index of a dictionary-encoded column.
func putIndex(b []byte, c *arrowipc.Column, i, v int64) {
	if c.Width == 1 {
		b[i] = byte(v)
		return
	}
	putInt(b, int64(c.Width), i, v)
}

// nullRow is a batch of one row in which every column, and every child as far as its parent needs it, is null.
func nullRow(l *arrowipc.Layout) *plainBatch {
	b := &plainBatch{rows: 1}
	var fill func(c *arrowipc.Column, n int64)
	fill = func(c *arrowipc.Column, n int64) {
		node := arrowipc.FieldNode{Length: n}
		if c.HasValidity() {
			node.Nulls = n
			b.bufs = append(b.bufs, make([]byte, bitBytes(n)))
		}
		b.nodes = append(b.nodes, node)
		buffer := func(n int64) { b.bufs = append(b.bufs, make([]byte, n)) }
		width := offsetWidth(c.Kind)
		children := n
		switch c.Kind {
		case arrowipc.KindBool:
			buffer(bitBytes(n))
		case arrowipc.KindFixed:
			buffer(n * int64(c.Width))
		case arrowipc.KindBinary, arrowipc.KindLargeBinary:
			buffer((n + 1) * width)
			buffer(0)
		case arrowipc.KindView:
			buffer(n * viewBytes)
			b.variadic = append(b.variadic, 0)
		case arrowipc.KindList, arrowipc.KindLargeList:
			buffer((n + 1) * width)
			children = 0
		case arrowipc.KindListView, arrowipc.KindLargeListView:
			buffer(n * width)
			buffer(n * width)
			children = 0
		case arrowipc.KindFixedSizeList:
			children = n * int64(c.ListSize)
		case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
			codes := make([]byte, n)
			if len(c.Field.Type.TypeCodes) > 0 {
				for i := range codes {
					codes[i] = byte(c.Field.Type.TypeCodes[0])
				}
			}
			b.bufs = append(b.bufs, codes)
			if c.Kind == arrowipc.KindDenseUnion { // all slots are the first child's, one after the other
				offsets := make([]byte, 4*n)
				for i := range n {
					putInt(offsets, 4, i, i)
				}
				b.bufs = append(b.bufs, offsets)
				for i, child := range c.Children {
					if i == 0 {
						fill(child, n)
					} else {
						fill(child, 0)
					}
				}
				return
			}
		case arrowipc.KindRunEnd:
			ends, values := c.Children[0], c.Children[1]
			runs := min(n, 1)
			b.nodes = append(b.nodes, arrowipc.FieldNode{Length: runs})
			end := make([]byte, runs*int64(ends.Width))
			if runs > 0 {
				putInt(end, int64(ends.Width), 0, n)
			}
			b.bufs = append(b.bufs, nil, end)
			fill(values, runs)
			return
		}
		for _, child := range c.Children {
			fill(child, children)
		}
	}
	fill(l.Columns[0], 1)
	return b
}
