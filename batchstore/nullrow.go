package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// maxNullRow bounds the bytes of a row that is null: a fixed-size list has all of its values in null slots too.
const maxNullRow = 16 << 20

// nullRow is a batch of one row in which the column, and every child as far as its parent needs it, is null. Errors are
// ErrTooLarge where fixed-size lists make it larger than maxNullRow, and ErrInvalidBatch for a union that has no child
// which could be null.
func nullRow(l *arrowipc.Layout) (*source, error) {
	f := nullFiller{b: &plainBatch{rows: 1}}
	if err := f.fill(l.Columns[0], 1); err != nil {
		return nil, fmt.Errorf("a null of column %q: %w", l.Columns[0].Field.Name, err)
	}
	return newSource(f.b), nil
}

// nullFiller writes columns of nulls.
type nullFiller struct {
	b     *plainBatch
	bytes int64
}

// buffer appends a buffer of n items of width bytes, all zero.
func (f *nullFiller) buffer(n, width int64) ([]byte, error) {
	if width > 0 && n > (maxNullRow-f.bytes)/width {
		return nil, fmt.Errorf("%w: it takes more than %d bytes", ErrTooLarge, maxNullRow)
	}
	f.bytes += n * width
	b := make([]byte, n*width)
	f.b.bufs = append(f.b.bufs, b)
	return b, nil
}

// fill appends a column of n nulls.
func (f *nullFiller) fill(c *arrowipc.Column, n int64) error {
	node := arrowipc.FieldNode{Length: n}
	node.Nulls = trueNulls(c, arrowipc.FieldNode{Length: n, Nulls: n})
	f.b.nodes = append(f.b.nodes, node)
	if c.HasValidity() {
		if _, err := f.buffer(bitBytes(n), 1); err != nil {
			return err
		}
	}
	width := offsetWidth(c.Kind)
	switch c.Kind {
	case arrowipc.KindBool:
		return f.buffers(bitBytes(n), 1)
	case arrowipc.KindFixed:
		return f.buffers(n, int64(c.Width))
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		if err := f.buffers(n+1, width); err != nil {
			return err
		}
		return f.buffers(0, 1)
	case arrowipc.KindView:
		f.b.variadic = append(f.b.variadic, 0)
		return f.buffers(n, viewBytes)
	case arrowipc.KindList, arrowipc.KindLargeList:
		if err := f.buffers(n+1, width); err != nil {
			return err
		}
		return f.fill(c.Children[0], 0)
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		if err := f.buffers(n, width, width); err != nil {
			return err
		}
		return f.fill(c.Children[0], 0)
	case arrowipc.KindFixedSizeList:
		if size := int64(c.ListSize); size > 0 && n > maxNullRow/size {
			return fmt.Errorf("%w: it takes more than %d values", ErrTooLarge, maxNullRow)
		}
		return f.fill(c.Children[0], n*int64(c.ListSize))
	case arrowipc.KindStruct:
		for _, child := range c.Children {
			if err := f.fill(child, n); err != nil {
				return err
			}
		}
	case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
		return f.union(c, n)
	case arrowipc.KindRunEnd:
		return f.runEnd(c, n)
	}
	return nil
}

// buffers appends a buffer of n items for each width.
func (f *nullFiller) buffers(n int64, widths ...int64) error {
	for _, w := range widths {
		if _, err := f.buffer(n, w); err != nil {
			return err
		}
	}
	return nil
}

// union appends a union, which has no nulls itself: its rows are nulls of one child, of one that may be null if there is
// such a child.
func (f *nullFiller) union(c *arrowipc.Column, n int64) error {
	codes, err := f.buffer(n, 1)
	if err != nil {
		return err
	}
	chosen := 0
	for i, child := range c.Children {
		if child.Field.Nullable {
			chosen = i
			break
		}
	}
	if n > 0 {
		if len(c.Children) == 0 {
			return fmt.Errorf("%w: a union without children has no row that is null", ErrInvalidBatch)
		}
		for i := range codes {
			codes[i] = byte(c.Field.Type.TypeCodes[chosen])
		}
	}
	dense := c.Kind == arrowipc.KindDenseUnion
	if dense {
		offsets, err := f.buffer(n, 4)
		if err != nil {
			return err
		}
		for i := range n {
			putInt(offsets, 4, i, i)
		}
	}
	for i, child := range c.Children {
		length := n
		if dense && i != chosen {
			length = 0
		}
		if err := f.fill(child, length); err != nil {
			return err
		}
	}
	return nil
}

// runEnd appends a run-end encoded column of one run. Its run ends cannot number any n.
func (f *nullFiller) runEnd(c *arrowipc.Column, n int64) error {
	ends, runs := c.Children[0], min(n, 1)
	if n > 1<<(8*ends.Width-1)-1 {
		return fmt.Errorf("%w: %d rows with run ends of %d bytes", ErrTooLarge, n, ends.Width)
	}
	f.b.nodes = append(f.b.nodes, arrowipc.FieldNode{Length: runs})
	f.b.bufs = append(f.b.bufs, nil) // no bitmap
	end, err := f.buffer(runs, int64(ends.Width))
	if err != nil {
		return err
	}
	if runs > 0 {
		putInt(end, int64(ends.Width), 0, n)
	}
	return f.fill(c.Children[1], runs)
}
