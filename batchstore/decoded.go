package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// decodedByNode is, for each field node, the bytes of its own buffers as the values need them, whatever padding their
// lengths count in: it is the same for a batch under every codec.
func decodedByNode(l *arrowipc.Layout, b *plainBatch) []int64 {
	out := make([]int64, l.Node1)
	s := newSource(b)
	var walk func(cols []*arrowipc.Column)
	walk = func(cols []*arrowipc.Column) {
		for _, c := range cols {
			out[c.Node0] = ownBytes(s, c)
			walk(c.Children)
		}
	}
	walk(l.Columns)
	return out
}
