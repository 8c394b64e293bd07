package segment

import (
	"fmt"
	"math"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// Facts are what a store needs of a batch to serve it without its body. They hang on no memory of a file.
type Facts struct {
	Header   arrowipc.RecordBatch
	Metadata []arrowipc.KeyValue // custom_metadata of its message; of a dictionary none is kept
	Body     int64               // bytes of the stored body, without the padding of the file

	// Decoded is, by field node, the bytes of its own buffers when they are decoded. Nil in files of other programs.
	Decoded []int64
	// Statistics are by row column, as of arrowipc.RowColumns; nil where they were not measured, as of dictionaries and in
	// files of other programs.
	Statistics []statistics.Column

	Apart bool // it is never joined with others
	Level int  // of zstd, as its put gave it, 1 to 22; 0: it gave none
	// Wanted is 1 plus the codec that a plain batch is to be encoded under later; 0: it is to stay as it is.
	Wanted int
}

// maxLevel is the highest level of zstd.
const maxLevel = 22

// shape is what facts of the batches of one layout must fit.
type shape struct {
	layout  *arrowipc.Layout
	classes []statistics.Class // by row column
}

func newShape(l *arrowipc.Layout) *shape {
	s := &shape{layout: l}
	for _, c := range arrowipc.RowColumns(l.Columns) {
		s.classes = append(s.classes, statistics.ClassOf(c.Column.Field))
	}
	return s
}

// checkHeader checks that a batch has the nodes and buffers of its schema, as many rows in each column, and that they lie
// within its body.
func (s *shape) checkHeader(h *arrowipc.RecordBatch, body int64) error {
	l := s.layout
	buffers := l.Buf1
	for _, n := range h.Variadic {
		if n < 0 || n > int64(len(h.Buffers)) {
			return fmt.Errorf("a variadic count of %d with %d buffers", n, len(h.Buffers))
		}
		buffers += int(n)
	}
	if len(h.Nodes) != l.Node1 || len(h.Variadic) != l.View1 || len(h.Buffers) != buffers {
		return fmt.Errorf("%d field nodes, %d variadic counts and %d buffers, where its schema asks for %d, %d and %d",
			len(h.Nodes), len(h.Variadic), len(h.Buffers), l.Node1, l.View1, buffers)
	}
	if h.Rows < 0 {
		return fmt.Errorf("%d rows", h.Rows)
	}
	for i, n := range h.Nodes {
		if n.Nulls < 0 || n.Nulls > n.Length {
			return fmt.Errorf("field node %d has length %d and null count %d", i, n.Length, n.Nulls)
		}
	}
	for _, c := range l.Columns {
		if n := h.Nodes[c.Node0].Length; n != h.Rows {
			return fmt.Errorf("column %q has %d rows in a batch of %d", c.Field.Name, n, h.Rows)
		}
	}
	for i, b := range h.Buffers {
		if b.Offset < 0 || b.Length < 0 || b.Offset > body || b.Length > body-b.Offset {
			return fmt.Errorf("buffer %d has offset %d and length %d in a body of %d bytes", i, b.Offset, b.Length, body)
		}
	}
	return nil
}

// InOrder reports whether buffers lie in their order and apart, each at a multiple of eight: then every column is one range
// of its body. All batches of segments are so; those in files of other programs need not be.
func InOrder(h *arrowipc.RecordBatch) bool {
	end := int64(0)
	for _, b := range h.Buffers {
		if b.Offset < end || b.Offset%8 != 0 {
			return false
		}
		end = b.Offset + b.Length
	}
	return true
}

// check is what a segment's facts must hold, when they are written and when they are read.
func (s *shape) check(f *Facts) error {
	if err := s.checkHeader(&f.Header, f.Body); err != nil {
		return err
	}
	if !InOrder(&f.Header) {
		return fmt.Errorf("its buffers do not lie in order, at multiples of 8")
	}
	if c := f.Header.Compression; c < arrowipc.Uncompressed || c > arrowipc.Zstd {
		return fmt.Errorf("codec %d", c)
	}
	if f.Level < 0 || f.Level > maxLevel {
		return fmt.Errorf("a level of %d", f.Level)
	}
	if f.Wanted < 0 || f.Wanted > 1+int(arrowipc.Zstd) || f.Wanted > 0 && f.Header.Compression != arrowipc.Uncompressed {
		return fmt.Errorf("it is to be encoded under codec %d and has codec %d", f.Wanted-1, f.Header.Compression)
	}
	if len(f.Decoded) != len(f.Header.Nodes) {
		return fmt.Errorf("decoded bytes of %d field nodes, where there are %d", len(f.Decoded), len(f.Header.Nodes))
	}
	left := int64(math.MaxInt64)
	for _, n := range f.Decoded {
		if n < 0 || n > left {
			return fmt.Errorf("decoded bytes of %d", n)
		}
		left -= n
	}
	if f.Statistics == nil {
		return nil
	}
	if len(f.Statistics) != len(s.classes) {
		return fmt.Errorf("statistics of %d columns, where there are %d", len(f.Statistics), len(s.classes))
	}
	for i := range f.Statistics {
		if n := f.Statistics[i].Rows; n != f.Header.Rows {
			return fmt.Errorf("statistics of %d rows of a batch of %d", n, f.Header.Rows)
		}
	}
	return nil
}

// Range is where the stored bytes of the top-level columns [first, last) lie in a body of so many bytes, what pads them
// included. The ranges of all columns, one after the other, are the whole body. The header is one of the layout's batches,
// with its buffers in order.
func Range(l *arrowipc.Layout, h *arrowipc.RecordBatch, body int64, first, last int) (offset, length int64) {
	start := runStart(l, h, body, first, sum(l, h, first))
	return start, runStart(l, h, body, last, sum(l, h, last)) - start
}

// runs calls f with each of the top-level columns [first, last) and where its range lies.
func runs(l *arrowipc.Layout, h *arrowipc.RecordBatch, body int64, first, last int, f func(column int, start, end int64)) {
	variadic := sum(l, h, first)
	start := runStart(l, h, body, first, variadic)
	for i := first; i < last; i++ {
		for _, n := range h.Variadic[l.Columns[i].View0:l.Columns[i].View1] {
			variadic += int(n)
		}
		end := runStart(l, h, body, i+1, variadic)
		f(i, start, end)
		start = end
	}
}

// sum is the number of variadic buffers before a top-level column.
func sum(l *arrowipc.Layout, h *arrowipc.RecordBatch, column int) (buffers int) {
	views := l.View1
	if column < len(l.Columns) {
		views = l.Columns[column].View0
	}
	for _, n := range h.Variadic[:views] {
		buffers += int(n)
	}
	return buffers
}

// runStart is where the range of a top-level column begins that has so many variadic buffers before it; of that after the
// last, the body's end.
func runStart(l *arrowipc.Layout, h *arrowipc.RecordBatch, body int64, column, variadic int) int64 {
	switch column {
	case len(l.Columns):
		return body
	case 0: // what may lie before the first buffer goes with it
		return 0
	}
	at := l.Columns[column].Buf0 + variadic
	if at == len(h.Buffers) { // no column from here on has a buffer
		return body
	}
	return h.Buffers[at].Offset
}
