package arrowipc

// VersionV4 is the ordinal of metadata version V4, for [Message.Version].
const VersionV4 = versionV4

// Upgrade changes what a batch header of metadata version V4 says to what one of V5 would say: in V4 unions, and what
// Arrow C++ writes of run-end encoding, have a validity buffer before all others; in V5 they have none. The buffers' bytes
// stay where they are in the body.
//
// Nulls of such a column itself have no place in V5 and are refused, as Arrow C++ refuses them. Its null count decides, as
// it does there; a bitmap with a null count of zero is not looked at. Errors are [ErrUnsupported], naming the column, and
// [ErrMalformed] for a header that does not have the counts that V4 asks for.
func (l *Layout) Upgrade(b *RecordBatch) error {
	old := appendOld(nil, l.Columns, nil)
	if len(old) == 0 {
		return nil
	}
	total := l.Buf1 + len(old)
	for _, v := range b.Variadic {
		total += int(v)
	}
	if len(b.Nodes) != l.Node1 || len(b.Variadic) != l.View1 || len(b.Buffers) != total {
		return malformed("record batch: %d field nodes, %d buffers and %d variadic counts, where the schema asks for %d, %d and %d under metadata version V4",
			len(b.Nodes), len(b.Buffers), len(b.Variadic), l.Node1, total, l.View1)
	}
	kept := b.Buffers[:0]
	next := 0
	for _, x := range old {
		if n := b.Nodes[x.column.Node0].Nulls; n != 0 {
			return unsupported("record batch: column %s: %d nulls in a union or run-end encoded column of metadata version V4; write it as V5, with nulls in its children",
				quotePath(x.path), n)
		}
		at := x.column.Buf0 + x.before
		for _, v := range b.Variadic[:x.column.View0] {
			at += int(v)
		}
		kept = append(kept, b.Buffers[next:at]...)
		next = at + 1
	}
	b.Buffers = append(kept, b.Buffers[next:]...)
	return nil
}

// oldColumn is a column with a validity buffer that V5 does not have.
type oldColumn struct {
	column *Column
	before int // such columns before it, each with a buffer that Column.Buf0 does not count
	path   []string
}

// appendOld appends such columns among these and their descendants, in preorder.
func appendOld(out []oldColumn, columns []*Column, path []string) []oldColumn {
	for _, c := range columns {
		at := append(path[:len(path):len(path)], c.Field.Name)
		if c.Kind == KindSparseUnion || c.Kind == KindDenseUnion || c.Kind == KindRunEnd {
			out = append(out, oldColumn{c, len(out), at})
		}
		out = appendOld(out, c.Children, at)
	}
	return out
}
