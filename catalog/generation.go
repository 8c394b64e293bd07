package catalog

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
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
	// EachDictionary calls f with every dictionary that the batch needs, and its ordinal in the schema's layout. A key is the
	// same for batches that share the dictionary, and only for these. Sizes are bytes, of the values decoded (unpadded) and as
	// stored.
	EachDictionary(f func(key any, ordinal, decoded, stored int64))
	// Statistics are those of the row columns of the schema's layout, in the order of arrowipc.RowColumns; nil where they
	// were not measured. Not to be modified.
	Statistics() []statistics.Column
	// Small tells whether the store would join the batch with one that follows and is small too.
	Small() bool
	// Retain adds a reference, Release drops one; the payload goes with the last.
	Retain()
	Release()
}

// Order is what is known of the order of a put's, or of a generation's, rows. It is immutable.
type Order struct {
	SortedBy    []string // the keys, most significant first, as commands have them; nulls come last
	First, Last any      // the edges of the rows, nil where there are none; the store knows what they are
	// Follows tells whether rows that begin at first may come after rows that end at last.
	Follows func(last, first any) bool
}

// then gives the order of rows of o followed by rows of next, nil where there is none.
func (o *Order) then(next *Order) *Order {
	switch {
	case o == nil || next == nil || !slices.Equal(o.SortedBy, next.SortedBy):
		return nil
	case next.First == nil:
		return o
	case o.First == nil:
		return next
	case !o.Follows(o.Last, next.First):
		return nil
	}
	joined := *next
	joined.First = o.First
	return &joined
}

// NodeFacts are the sizes of one field of a batch, or of all batches of a generation, without the field's children.
type NodeFacts = struct {
	Decoded int64 // bytes of the plain buffers, unpadded
	Stored  int64 // bytes of the buffers as stored, length prefix included, padding not
	Nulls   int64
}

// Generation is one immutable state of a dataset, under one layout: the rows of a generation are always the same, the
// batches that they lie in are those of a layout. Whoever acquired it may read all of it until Release.
type Generation struct {
	Dataset string           // the dataset's name, segments joined by "/"
	ID      string           // unique for all time
	Layout  uint64           // how often Compact has made another list of batches of it
	Schema  *arrowipc.Schema // of the stored batches
	Batches []Batch          // in row order; not to be modified
	Codec   string           // the codec the newest put asked for; batches record their own
	Created time.Time        // when it was committed
	Expires time.Time        // when the dataset is dropped unless it has a newer generation; zero for never

	Order        *Order // of the rows; nil where none is known
	OrderDropped bool   // the rows have none, though the dataset had one before, or what was put declared one

	Durable bool // whether the Keeper has it
	InPlace bool // there are batches whose bytes lie elsewhere and are only read from there: to evict it would free little

	Rows    int64
	Decoded int64       // bytes of all plain buffers, unpadded, dictionaries once
	Stored  int64       // bytes of all stored bodies, dictionaries once
	Nodes   []NodeFacts // totals by field node, in the preorder of Schema.Layout

	RowColumns []arrowipc.RowColumn // of Schema.Layout
	Statistics []statistics.Column  // of all batches, by row column; nil where some batch has none

	Dictionaries map[int64]DictionaryFacts // by ordinal in Schema.Layout
	known        map[any]bool              // keys of the dictionaries counted so far; guarded by the catalogue's lock or the reserved name

	refs atomic.Int64

	gone    []gone   // from when it is no dataset's any more until its last reference goes
	state   *state   // of the dataset
	lineage *lineage // by appends
	number  uint64   // of its commit: later ones have larger numbers
	leases  int      // that hold it; guarded by leases.mu
	small   int      // batches that are

	held   Holder // of the schema; nil for none
	charge Charge // of the generation's own memory; nil for none

	// facts is the JSON of the generation's totals: the same for every caller, so it is made once, if there is room to keep it.
	factsMu      sync.Mutex // no other lock is taken under it but those of the budget
	facts        []byte
	factsCharge  Charge
	chargesFacts func(n int64) (Charge, error)
}

// DictionaryFacts are the sizes, in bytes, of all dictionaries that a generation's batches have under one ordinal, each
// counted once.
type DictionaryFacts struct {
	Decoded, Stored       int64 // of all: of the plain values, unpadded, and as stored
	MaxDecoded, MaxStored int64 // of the largest
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

// Release drops a reference that Current, At, List, Leased or Commit gave out.
func (g *Generation) Release() {
	switch n := g.refs.Add(-1); {
	case n == 0:
		for _, x := range g.gone {
			x.in.Add(-x.bytes)
		}
		for _, b := range g.Batches {
			b.Release()
		}
		let(g.held)
		for _, c := range []Charge{g.charge, g.factsCharge} {
			if c != nil {
				c.Release()
			}
		}
	case n < 0:
		panic("catalog: generation " + g.ID + " was released more often than it was acquired")
	}
}

// totals are sums over batches.
type totals struct {
	rows, decoded, stored int64
	small                 int
	nodes                 []NodeFacts
	statistics            []statistics.Column // by row column; nil where some batch has none
	dictionaries          []dictionary        // each once
}

type dictionary struct {
	key                      any
	ordinal, decoded, stored int64
}

// addUp adds up batches of a layout.
func addUp(batches []Batch, l *arrowipc.Layout, columns []arrowipc.RowColumn) totals {
	t := totals{nodes: make([]NodeFacts, l.Node1), statistics: make([]statistics.Column, len(columns))}
	known := map[any]bool{}
	for _, b := range batches {
		t.rows += b.Rows()
		t.stored += b.StoredBytes()
		if b.Small() {
			t.small++
		}
		for i := range t.nodes {
			f := b.Node(i)
			t.nodes[i].Decoded += f.Decoded
			t.nodes[i].Stored += f.Stored
			t.nodes[i].Nulls += f.Nulls
			t.decoded += f.Decoded
		}
		measured := b.Statistics()
		if len(measured) < len(t.statistics) {
			t.statistics = nil
		}
		for i := range t.statistics {
			c := measured[i]
			t.statistics[i].Merge(c, statistics.ClassOf(columns[i].Column.Field))
		}
		b.EachDictionary(func(key any, ordinal, decoded, stored int64) {
			if !known[key] {
				known[key] = true
				t.dictionaries = append(t.dictionaries, dictionary{key, ordinal, decoded, stored})
			}
		})
	}
	return t
}

// add counts the totals of further batches, and gives the keys of dictionaries that were not known.
func (g *Generation) add(t totals) (counted []any) {
	g.Rows += t.rows
	g.Decoded += t.decoded
	g.Stored += t.stored
	g.small += t.small
	for i, f := range t.nodes {
		g.Nodes[i].Decoded += f.Decoded
		g.Nodes[i].Stored += f.Stored
		g.Nodes[i].Nulls += f.Nulls
	}
	if t.statistics == nil {
		g.Statistics = nil
	}
	for i := range g.Statistics {
		g.Statistics[i].Merge(t.statistics[i], statistics.ClassOf(g.RowColumns[i].Column.Field))
	}
	for _, d := range t.dictionaries {
		if g.count(d) {
			counted = append(counted, d.key)
		}
	}
	return counted
}

// count counts a dictionary, unless it has been, and tells whether it did.
func (g *Generation) count(d dictionary) bool {
	if g.known[d.key] {
		return false
	}
	g.known[d.key] = true
	f := g.Dictionaries[d.ordinal]
	f.Decoded += d.decoded
	f.Stored += d.stored
	f.MaxDecoded = max(f.MaxDecoded, d.decoded)
	f.MaxStored = max(f.MaxStored, d.stored)
	g.Dictionaries[d.ordinal] = f
	g.Decoded += d.decoded
	g.Stored += d.stored
	return true
}
