package catalog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// Batch is one stored record batch as the catalogue sees it. It is immutable and counted.
type Batch interface {
	// Rows is the number of rows.
	Rows() int64
	// StoredBytes is the length of the stored body, padding included.
	StoredBytes() int64
	// Node gives, of one field node in the preorder of the schema's layout, the bytes of its own buffers decoded
	// (unpadded) and as stored, and its null count.
	Node(i int) NodeFacts
	// EachDictionary calls f with every dictionary that the batch needs. A key is the same for batches that share the
	// dictionary, and only for these. Sizes are bytes, of the values decoded (unpadded) and as stored.
	EachDictionary(f func(key any, id, decoded, stored int64))
	// Retain adds a reference, Release drops one; the payload goes with the last.
	Retain()
	Release()
}

// NodeFacts are the sizes of one field of a batch, or of all batches of a generation, without the field's children.
type NodeFacts = struct {
	Decoded int64 // bytes of the plain buffers, unpadded
	Stored  int64 // bytes of the buffers as stored, length prefix included, padding not
	Nulls   int64
}

// Generation is one immutable state of a dataset. Whoever acquired it may read all of it until Release.
type Generation struct {
	Dataset string           // the dataset's name, segments joined by "/"
	ID      string           // unique for all time
	Schema  *arrowipc.Schema // of the stored batches
	Batches []Batch          // in row order; not to be modified
	Codec   string           // the codec the newest put asked for; batches record their own
	Created time.Time        // when it was committed

	Rows    int64
	Decoded int64       // bytes of all plain buffers, unpadded, dictionaries once
	Stored  int64       // bytes of all stored bodies, dictionaries once
	Nodes   []NodeFacts // totals by field node, in the preorder of Schema.Layout

	Dictionaries []DictionaryFacts // of all batches, each once

	refs atomic.Int64

	// facts is the JSON of the generation's totals: the same for every caller, so it is made once.
	factsOnce sync.Once
	facts     []byte
}

// DictionaryFacts are the sizes of one dictionary of a generation, in bytes.
type DictionaryFacts struct {
	Key     any   // tells dictionaries apart
	ID      int64 // in the schema; batches may need different dictionaries of one id
	Decoded int64 // of the plain values, unpadded
	Stored  int64
}

// Column adds up the facts of one column and its descendants, without dictionaries; the null count is the column's own.
func (g *Generation) Column(c *arrowipc.Column) NodeFacts {
	f := NodeFacts{Nulls: g.Nodes[c.Node0].Nulls}
	for _, n := range g.Nodes[c.Node0:c.Node1] {
		f.Decoded += n.Decoded
		f.Stored += n.Stored
	}
	return f
}

// acquire takes a reference unless the last one is already gone.
func (g *Generation) acquire() bool {
	for {
		n := g.refs.Load()
		if n == 0 {
			return false
		}
		if g.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release drops a reference that Current, At, List or Commit gave out.
func (g *Generation) Release() {
	switch n := g.refs.Add(-1); {
	case n == 0:
		for _, b := range g.Batches {
			b.Release()
		}
	case n < 0:
		panic("catalog: generation " + g.ID + " was released more often than it was acquired")
	}
}

// add counts batches into the totals.
func (g *Generation) add(batches []Batch) {
	known := make(map[any]bool, len(g.Dictionaries))
	for _, d := range g.Dictionaries {
		known[d.Key] = true
	}
	for _, b := range batches {
		b.EachDictionary(func(key any, id, decoded, stored int64) {
			if !known[key] {
				known[key] = true
				g.Dictionaries = append(g.Dictionaries, DictionaryFacts{key, id, decoded, stored})
				g.Decoded += decoded
				g.Stored += stored
			}
		})
		g.Rows += b.Rows()
		g.Stored += b.StoredBytes()
		for i := range g.Nodes {
			f := b.Node(i)
			g.Nodes[i].Decoded += f.Decoded
			g.Nodes[i].Stored += f.Stored
			g.Nodes[i].Nulls += f.Nulls
			g.Decoded += f.Decoded
		}
	}
}
