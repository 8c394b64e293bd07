package batchstore

import (
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/statistics"
)

// Owner is memory that is held by counting: Retain before it is handed on, Release when it is done with.
type Owner interface {
	Retain()
	Release()
}

// Batch is one stored record batch. It is immutable; its memory goes with its last reference.
type Batch struct {
	store    *Store
	layout   *arrowipc.Layout
	header   arrowipc.RecordBatch
	codec    compress.Codec
	metadata []arrowipc.KeyValue // custom_metadata of the message it came in
	dicts    []*Dictionary       // by ordinal of the layout's dictionaries; one reference each
	measured []statistics.Column // by row column of the layout; nil of a dictionary's values
	decoded  []int64             // by field node: bytes of the node's own plain buffers, unpadded
	stored   []int64             // by field node: bytes of the node's own stored buffers
	facts    int64               // bytes that were counted for all of these
	total    int64               // bytes of all plain buffers, unpadded: the sum of decoded
	size     int64               // of the stored body, padding included
	level    int                 // of zstd, that the put gave; 0 is the store's
	apart    bool                // its put asked that its batches stay as they are
	wanted   int                 // 1 + the codec that it was to be encoded under later; 0: none, it is as it was to be
	waits    atomic.Bool         // it is plain, and waits for that

	// The body is in memory, or in a file, or both. Who sees neither has met a change: the next look will see one.
	mem    atomic.Pointer[resident] // one reference
	place  atomic.Pointer[place]
	lot    atomic.Pointer[lot] // that it is written to a file with; nil until the put knows
	pinned atomic.Bool         // it does not leave memory

	schema *Schema     // that the layout is of; nil: of a dictionary's values, or of a schema that the store does not keep
	dict   *Dictionary // that the batch is the values of; nil: none, or not stored yet
	refs   atomic.Int64
}

// newBatch takes the body over, also where it fails. The caller owns the one reference.
func (s *Store) newBatch(m lender, l *arrowipc.Layout, h arrowipc.RecordBatch, c compress.Codec, decoded []int64, measured []statistics.Column, body arena.Block) (*Batch, error) {
	h.Compression = arrowipc.Compression(c)
	b := &Batch{store: s, layout: l, header: h, codec: c, decoded: decoded, total: sum(decoded), measured: measured, size: int64(len(body.B))}
	b.stored = storedByNode(l, &h)
	b.refs.Store(1)
	if err := b.countFacts(m); err != nil {
		Free(&body)
		return nil, err
	}
	b.schema = s.schemas.hold(l)
	b.mem.Store(newResident(body))
	return b, nil
}

// countFacts counts what the batch takes on the Go heap, or what it takes more than when it was counted last.
func (b *Batch) countFacts(m lender) error {
	n := b.factBytes()
	if err := m.count(n - b.facts); err != nil {
		return err
	}
	b.facts = n
	return nil
}

// describe gives the batch the custom metadata of a message.
func (b *Batch) describe(m lender, metadata []arrowipc.KeyValue) error {
	if len(metadata) == 0 {
		return nil
	}
	b.metadata = metadata
	return b.countFacts(m)
}

// factBytes is what the batch takes on the Go heap, to within a few words.
func (b *Batch) factBytes() int64 {
	measured := int64(0)
	for i := range b.measured {
		measured += b.measured[i].Bytes()
	}
	filed := 0
	if b.store.files != nil { // its place and its checksums
		filed = 160 + 4*len(b.layout.Columns)
		if b.store.opts.Load {
			filed += 12 * len(b.layout.Columns)
		}
	}
	for _, kv := range b.metadata {
		measured += 48 + int64(len(kv.Key)+len(kv.Value))
	}
	// Among them are two places in the list of a generation, which grows by doubling.
	return 320 + int64(filed) + measured + 16*int64(len(b.header.Nodes)+len(b.header.Buffers)) + 8*int64(len(b.header.Variadic)+len(b.decoded)+len(b.stored))
}

// storedByNode adds up the stored lengths of each node's own buffers.
func storedByNode(l *arrowipc.Layout, h *arrowipc.RecordBatch) []int64 {
	out := make([]int64, l.Node1)
	next, view := 0, 0
	var walk func(c *arrowipc.Column)
	walk = func(c *arrowipc.Column) {
		n := c.OwnBuffers()
		if c.Kind == arrowipc.KindView {
			n += int(h.Variadic[view])
			view++
		}
		for _, b := range h.Buffers[next : next+n] {
			out[c.Node0] += b.Length
		}
		next += n
		for _, child := range c.Children {
			walk(child)
		}
	}
	for _, c := range l.Columns {
		walk(c)
	}
	return out
}

// Rows is the number of rows.
func (b *Batch) Rows() int64 { return b.header.Rows }

// StoredBytes is the length of the stored body, padding included.
func (b *Batch) StoredBytes() int64 { return b.size }

// Codec is the codec of the stored buffers.
func (b *Batch) Codec() compress.Codec { return b.codec }

// Node gives, of field node i in the preorder of the schema's layout, the bytes of its own buffers decoded (unpadded)
// and as stored, and its null count.
func (b *Batch) Node(i int) struct{ Decoded, Stored, Nulls int64 } {
	return struct{ Decoded, Stored, Nulls int64 }{b.decoded[i], b.stored[i], b.header.Nodes[i].Nulls}
}

// Statistics are those of the row columns of the schema's layout, in the order of arrowipc.RowColumns; nil of batches that
// were loaded without. They are the batch's own.
func (b *Batch) Statistics() []statistics.Column { return b.measured }

// EachDictionary calls f with every dictionary that the batch needs, and its ordinal in the schema's layout. A key is the
// same for batches that share the dictionary, and only for these. Sizes are bytes, as of [Dictionary].
func (b *Batch) EachDictionary(f func(key any, ordinal, decoded, stored int64)) {
	for i, d := range b.dicts {
		f(d, int64(i), d.Decoded(), d.StoredBytes())
	}
}

// Retain adds a reference.
func (b *Batch) Retain() { b.refs.Add(1) }

// hold adds a reference unless the last one is gone.
func (b *Batch) hold() bool { return holdUnlessGone(&b.refs) }

// Release drops a reference; with the last one the body's memory goes back to the store, and its place in a file.
func (b *Batch) Release() {
	if b.dict != nil {
		b.dict.Release() // under the table's lock
		return
	}
	switch n := b.refs.Add(-1); {
	case n == 0:
		b.free()
	case n < 0:
		panic("batchstore: a batch was released more often than it was retained")
	}
}

func (b *Batch) free() {
	b.store.budget.facts.Add(-b.facts)
	b.settled()
	b.store.files.forget(b)
	mem, p := b.mem.Swap(nil), b.place.Swap(nil)
	if mem != nil {
		mem.Release()
	} else {
		b.store.files.spilled.Add(-b.size)
	}
	if p != nil {
		p.file.release()
	}
	b.store.budget.freed() // of the facts: the arena does not tell
	for _, d := range b.dicts {
		d.Release()
	}
	b.schema.Release()
}
