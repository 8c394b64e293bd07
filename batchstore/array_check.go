package batchstore

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// checkPlain checks a batch that came from outside, so that everything else here may index its buffers by what its
// nodes, offsets, views, type codes and run ends say. Errors wrap [ErrInvalidBatch].
//
// Null counts have to be true to the bitmaps where there are bitmaps; elsewhere any count up to the length passes,
// since producers differ (see trueNulls). A list view is checked in null rows too, as the format asks; a binary view
// only in valid rows. Children may be longer than their parent needs. Not checked: that strings are UTF-8, that
// dictionary indices have an entry, that fields declared not nullable hold no nulls, ranges of decimals and times.
func checkPlain(l *arrowipc.Layout, b *plainBatch) error {
	if err := checkTotals(l.Span, b.rows, len(b.nodes), len(b.bufs), b.variadic); err != nil {
		return err
	}
	k := &checker{s: newSource(b)}
	for _, c := range l.Columns {
		if n := k.s.node(c).Length; n != b.rows {
			k.path = append(k.path, c.Field.Name)
			return k.errorf("has %d rows in a batch of %d", n, b.rows)
		}
		if err := k.column(c); err != nil {
			return err
		}
	}
	return nil
}

// checkCounts checks, from a header alone, that a batch has as many nodes, buffers and variadic counts as its schema
// asks for. Errors wrap [ErrInvalidBatch].
func checkCounts(l *arrowipc.Layout, h *arrowipc.RecordBatch) error {
	return checkTotals(l.Span, h.Rows, len(h.Nodes), len(h.Buffers), h.Variadic)
}

func checkTotals(all arrowipc.Span, rows int64, nodes, buffers int, variadic []int64) error {
	if rows < 0 {
		return fmt.Errorf("%w: %d rows", ErrInvalidBatch, rows)
	}
	if nodes != all.Node1 {
		return fmt.Errorf("%w: %d field nodes where the schema asks for %d", ErrInvalidBatch, nodes, all.Node1)
	}
	if len(variadic) != all.View1 {
		return fmt.Errorf("%w: %d variadic buffer counts where the schema has %d view columns", ErrInvalidBatch,
			len(variadic), all.View1)
	}
	want := all.Buf1
	for _, v := range variadic {
		if v < 0 || v > int64(buffers) {
			return fmt.Errorf("%w: a variadic buffer count of %d in a batch of %d buffers", ErrInvalidBatch, v, buffers)
		}
		want += int(v)
	}
	if buffers != want {
		return fmt.Errorf("%w: %d buffers where schema and variadic counts ask for %d", ErrInvalidBatch, buffers, want)
	}
	return nil
}

// checker walks the columns of one batch.
type checker struct {
	s    *source
	path []string // names from the root to the column that is being checked
}

func (k *checker) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: column %q: %s", ErrInvalidBatch, strings.Join(k.path, "."), fmt.Sprintf(format, args...))
}

// column checks a column and its descendants.
func (k *checker) column(c *arrowipc.Column) error {
	k.path = append(k.path, c.Field.Name)
	n := k.s.node(c)
	if n.Length < 0 || n.Nulls < 0 || n.Nulls > n.Length {
		return k.errorf("%d nulls in a length of %d", n.Nulls, n.Length)
	}
	if c.HasValidity() {
		if err := k.validity(c, n); err != nil {
			return err
		}
	}
	if err := k.values(c, n.Length); err != nil {
		return err
	}
	for _, child := range c.Children {
		if err := k.column(child); err != nil {
			return err
		}
	}
	k.path = k.path[:len(k.path)-1]
	return nil
}

// validity checks the bitmap against the null count. It may be absent where nothing is null.
func (k *checker) validity(c *arrowipc.Column, n arrowipc.FieldNode) error {
	bitmap := k.s.buf(c, 0)
	if n.Nulls == 0 && len(bitmap) == 0 {
		return nil
	}
	if err := k.holds("validity", bitmap, bitBytes(n.Length)); err != nil {
		return err
	}
	if nulls := n.Length - countBits(bitmap, 0, n.Length); nulls != n.Nulls {
		return k.errorf("the null count is %d but the validity bitmap has %d nulls", n.Nulls, nulls)
	}
	return nil
}

// values checks the buffers after the bitmap, and that the children are long enough for them.
func (k *checker) values(c *arrowipc.Column, n int64) error {
	switch c.Kind {
	case arrowipc.KindBool:
		return k.holds("values", k.s.buf(c, 1), bitBytes(n))
	case arrowipc.KindFixed:
		return k.holdsItems("values", k.s.buf(c, 1), n, int64(c.Width))
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		return k.offsets(c, n, int64(len(k.s.buf(c, 2))), "bytes of data")
	case arrowipc.KindList, arrowipc.KindLargeList:
		return k.offsets(c, n, k.s.node(c.Children[0]).Length, "child values")
	case arrowipc.KindView:
		return k.views(c, n)
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		return k.listViews(c, n)
	case arrowipc.KindStruct:
		return k.childrenHold(c, n)
	case arrowipc.KindFixedSizeList:
		hi, need := bits.Mul64(uint64(n), uint64(c.ListSize))
		if hi != 0 || need > 1<<63-1 {
			return k.errorf("%d lists of %d values are too many", n, c.ListSize)
		}
		return k.childrenHold(c, int64(need))
	case arrowipc.KindSparseUnion:
		if _, err := k.typeCodes(c, n); err != nil {
			return err
		}
		return k.childrenHold(c, n)
	case arrowipc.KindDenseUnion:
		return k.denseUnion(c, n)
	case arrowipc.KindRunEnd:
		return k.runEnds(c, n)
	}
	return nil
}

// holds checks that a buffer has the bytes that are needed of it.
func (k *checker) holds(what string, b []byte, need int64) error {
	if int64(len(b)) < need {
		return k.errorf("the %s buffer has %d bytes, %d are needed", what, len(b), need)
	}
	return nil
}

// holdsItems checks that a buffer has n items of width bytes.
func (k *checker) holdsItems(what string, b []byte, n, width int64) error {
	if width > 0 && n > int64(len(b))/width {
		return k.errorf("the %s buffer has %d bytes, not %d values of %d", what, len(b), n, width)
	}
	return nil
}

// childrenHold checks that every child has at least n values.
func (k *checker) childrenHold(c *arrowipc.Column, n int64) error {
	for _, child := range c.Children {
		if have := k.s.node(child).Length; have < n {
			return k.errorf("child %q has %d values, %d are needed", child.Field.Name, have, n)
		}
	}
	return nil
}

// offsets checks that offsets begin at zero or above, never run backwards and end within what they point into.
func (k *checker) offsets(c *arrowipc.Column, n, limit int64, what string) error {
	if n == 0 {
		return nil // the format lets an empty column come without its one offset
	}
	offsets, width := k.s.buf(c, 1), offsetWidth(c.Kind)
	if n >= int64(len(offsets))/width { // n+1 could overflow
		return k.errorf("the offsets buffer has %d bytes, not %d and one offsets of %d", len(offsets), n, width)
	}
	if !ascending(offsets[:(n+1)*width], width) {
		return k.badOffset(offsets, width, n)
	}
	if last := intAt(offsets, width, n); last > limit {
		return k.errorf("the last offset is %d but there are %d %s", last, limit, what)
	}
	return nil
}

// badOffset describes the first offset that ascending objects to; there is one.
func (k *checker) badOffset(offsets []byte, width, n int64) error {
	prev := intAt(offsets, width, 0)
	if prev < 0 {
		return k.errorf("the first offset is %d", prev)
	}
	row := int64(0)
	next := intAt(offsets, width, 1)
	for ; next >= prev && row+1 < n; row++ {
		prev, next = next, intAt(offsets, width, row+2)
	}
	return k.errorf("offsets run backwards at row %d: from %d to %d", row, prev, next)
}
