package main

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// compare reports the first difference: schema with all metadata, number of rows, values. The batches of the two tables
// may be cut at other rows.
func compare(written, read *table) error {
	if !sameSchema(written.schema, read.schema) {
		return failure{"schema", fmt.Errorf("wrote %v, read %v", written.schema, read.schema)}
	}
	if w, r := written.rows(), read.rows(); w != r {
		return failure{"values", fmt.Errorf("wrote %d rows, read %d", w, r)}
	}
	ours, theirs := walk{batches: written.batches}, walk{batches: read.batches}
	for row, rows := int64(0), written.rows(); row < rows; {
		step := min(ours.left(), theirs.left())
		a, b := ours.take(step), theirs.take(step)
		for i, f := range written.schema.Fields() {
			if !sameBits(a.Column(i), b.Column(i)) {
				return failure{"values", fmt.Errorf("column %q differs in the %d rows from row %d", f.Name, step, row)}
			}
		}
		a.Release()
		b.Release()
		row += step
	}
	return nil
}

// sameBits compares floats as the integers of their bits, so that a NaN equals itself and zeros differ by their sign.
func sameBits(a, b arrow.Array) bool {
	var kind arrow.DataType
	switch a.DataType().ID() {
	case arrow.FLOAT16:
		kind = arrow.PrimitiveTypes.Uint16
	case arrow.FLOAT32:
		kind = arrow.PrimitiveTypes.Uint32
	case arrow.FLOAT64:
		kind = arrow.PrimitiveTypes.Uint64
	default:
		return array.Equal(a, b)
	}
	x, y := retyped(a, kind), retyped(b, kind)
	defer x.Release()
	defer y.Release()
	return array.Equal(x, y)
}

// retyped gives the buffers of a as another type of the same width. The caller releases it.
func retyped(a arrow.Array, kind arrow.DataType) arrow.Array {
	d := a.Data()
	data := array.NewData(kind, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// walk goes over batches in steps of any number of rows.
type walk struct {
	batches []arrow.RecordBatch
	at      int64
}

// left is the number of rows left in the batch that the walk has come to. What is used up or empty is left behind.
func (w *walk) left() int64 {
	for w.batches[0].NumRows() == w.at {
		w.batches, w.at = w.batches[1:], 0
	}
	return w.batches[0].NumRows() - w.at
}

// take gives the next n rows, at most as many as are left. The caller releases them.
func (w *walk) take(n int64) arrow.RecordBatch {
	piece := w.batches[0].NewSlice(w.at, w.at+n)
	w.at += n
	return piece
}
