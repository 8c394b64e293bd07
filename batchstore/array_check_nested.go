package batchstore

import (
	"encoding/binary"

	"github.com/flightcache/flightcache/arrowipc"
)

// views checks the views of valid rows: inline ones are padded with zeros, longer ones lie in one of the column's data
// buffers and repeat its first four bytes.
func (k *checker) views(c *arrowipc.Column, n int64) error {
	views := k.s.buf(c, 1)
	if err := k.holdsItems("views", views, n, viewBytes); err != nil {
		return err
	}
	bitmap, data := k.s.validity(c), k.s.viewData(c)
	for i := range n {
		v := views[i*viewBytes : (i+1)*viewBytes]
		if !viewFits(v, data) && valid(bitmap, i) {
			return k.badView(i, v, data)
		}
	}
	return nil
}

// badView says what viewFits objects to.
func (k *checker) badView(row int64, v []byte, data [][]byte) error {
	size, buf, offset := parseView(v)
	switch {
	case size < 0:
		return k.errorf("the view at row %d has a length of %d", row, size)
	case size <= inlineBytes:
		return k.errorf("the inline view at row %d is not padded with zeros", row)
	case buf < 0 || buf >= int64(len(data)):
		return k.errorf("the view at row %d is in data buffer %d, there are %d", row, buf, len(data))
	case offset < 0 || offset+size > int64(len(data[buf])):
		return k.errorf("the view at row %d is %d bytes at %d of a data buffer of %d", row, size, offset,
			len(data[buf]))
	}
	return k.errorf("the view at row %d has another prefix than its data", row)
}

// viewFits reports whether a view is one that the format allows over the data buffers.
func viewFits(v []byte, data [][]byte) bool {
	size, buf, offset := parseView(v)
	if size <= inlineBytes {
		return size >= 0 && zeroAfter(v[4:], size)
	}
	if buf < 0 || buf >= int64(len(data)) || offset < 0 || offset+size > int64(len(data[buf])) {
		return false
	}
	return binary.LittleEndian.Uint32(v[4:]) == binary.LittleEndian.Uint32(data[buf][offset:])
}

// zeroAfter reports whether the twelve bytes of an inline view are zero from byte size on.
func zeroAfter(b []byte, size int64) bool {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	if size < 8 {
		return lo>>(8*size) == 0 && hi == 0
	}
	return hi>>(8*(size-8)) == 0
}

// listViews checks that every list, of null rows too, lies within the child.
func (k *checker) listViews(c *arrowipc.Column, n int64) error {
	offsets, sizes, width := k.s.buf(c, 1), k.s.buf(c, 2), offsetWidth(c.Kind)
	if err := k.holdsItems("offsets", offsets, n, width); err != nil {
		return err
	}
	if err := k.holdsItems("sizes", sizes, n, width); err != nil {
		return err
	}
	length := k.s.node(c.Children[0]).Length
	for i := range n {
		offset, size := intAt(offsets, width, i), intAt(sizes, width, i)
		if offset < 0 || size < 0 || offset > length || size > length-offset {
			return k.errorf("the list at row %d is %d values at %d of %d", i, size, offset, length)
		}
	}
	return nil
}

// typeCodes checks a union's type codes and gives the child of each code.
func (k *checker) typeCodes(c *arrowipc.Column, n int64) (*[256]int16, error) {
	codes := k.s.buf(c, 0)
	if err := k.holds("type codes", codes, n); err != nil {
		return nil, err
	}
	children := unionChildren(c)
	for i, code := range codes[:n] {
		if children[code] < 0 {
			return nil, k.errorf("row %d has the type code %d, which no child has", i, int8(code))
		}
	}
	return children, nil
}

// denseUnion checks that every row points at a value of one of the children, and that the rows of each child point at its
// values in order, as the format asks and readers rely on. Rows may share a value.
func (k *checker) denseUnion(c *arrowipc.Column, n int64) error {
	children, err := k.typeCodes(c, n)
	if err != nil {
		return err
	}
	offsets := k.s.buf(c, 1)
	if err := k.holdsItems("offsets", offsets, n, 4); err != nil {
		return err
	}
	lengths := make([]int64, len(c.Children))
	for i, child := range c.Children {
		lengths[i] = k.s.node(child).Length
	}
	last := make([]int64, len(c.Children))
	for i, code := range k.s.buf(c, 0)[:n] {
		offset, child := intAt(offsets, 4, int64(i)), children[code]
		if offset < 0 || offset >= lengths[child] {
			return k.errorf("row %d is value %d of child %q, which has %d", i, offset,
				c.Children[child].Field.Name, lengths[child])
		}
		if offset < last[child] {
			return k.errorf("union offsets run backwards at row %d: from %d to %d of child %q", i, last[child], offset,
				c.Children[child].Field.Name)
		}
		last[child] = offset
	}
	return nil
}

// unionChildren gives the child of each type code, -1 for a code that no child has. Codes are indexed as bytes, so
// that negative ones find -1 too.
func unionChildren(c *arrowipc.Column) *[256]int16 {
	var children [256]int16
	for i := range children {
		children[i] = -1
	}
	for i, code := range c.Field.Type.TypeCodes {
		if code >= 0 && i < len(c.Children) {
			children[code] = int16(i)
		}
	}
	return &children
}

// runEnds checks that run ends rise strictly from above zero to at least the column's length, without nulls, and that
// there is a value for every run.
func (k *checker) runEnds(c *arrowipc.Column, n int64) error {
	ends := k.s.node(c.Children[0])
	width := int64(c.Children[0].Width)
	buf := k.s.buf(c.Children[0], 1)
	if ends.Nulls != 0 {
		return k.errorf("%d run ends are null", ends.Nulls)
	}
	if ends.Length < 0 {
		return k.errorf("%d run ends", ends.Length)
	}
	if err := k.holdsItems("run ends", buf, ends.Length, width); err != nil {
		return err
	}
	if have := k.s.node(c.Children[1]).Length; have < ends.Length {
		return k.errorf("%d runs have %d values", ends.Length, have)
	}
	prev := int64(0)
	for i := range ends.Length {
		end := intAt(buf, width, i)
		if end <= prev {
			return k.errorf("run %d ends at %d, the one before it at %d", i, end, prev)
		}
		prev = end
	}
	if prev < n {
		return k.errorf("the runs end at %d, before the length %d", prev, n)
	}
	return nil
}
