package batchstore

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
)

// Dictionary is one stored dictionary: the values that a dictionary-encoded column's indices point into. It is stored
// as a batch of one column, immutable, and counted; its memory goes with its last reference.
//
// A dictionary is never extended: what clients send as deltas has been put together, so that every reader, also one
// that does not know deltas, needs one dictionary batch.
type Dictionary struct {
	id     int64
	values *Batch
	hash   uint64
	table  *dictionaryTable
}

// ID is the dictionary's id in the schema.
func (d *Dictionary) ID() int64 { return d.id }

// Decoded is the bytes of the plain values, unpadded.
func (d *Dictionary) Decoded() int64 { return sum(d.values.decoded) }

// StoredBytes is the length of the stored values, padding included.
func (d *Dictionary) StoredBytes() int64 { return d.values.StoredBytes() }

// retain adds a reference; the caller holds one already.
func (d *Dictionary) retain() { d.values.Retain() }

// release drops a reference. The last one is dropped under the table's lock, so that intern never meets a dictionary that
// is about to go.
func (d *Dictionary) release() {
	t := d.table
	t.mu.Lock()
	last := d.values.refs.Add(-1) == 0
	if last {
		t.remove(d)
	}
	t.mu.Unlock()
	if last {
		d.values.free()
	}
}

// dictionaryTable finds dictionaries by content, so that each is stored once however often it is put.
type dictionaryTable struct {
	seed maphash.Seed

	mu     sync.Mutex // guards byHash, and the step from one reference to none
	byHash map[uint64][]*Dictionary
}

func newDictionaryTable() *dictionaryTable {
	return &dictionaryTable{seed: maphash.MakeSeed(), byHash: map[uint64][]*Dictionary{}}
}

// intern gives the one dictionary of this id and content, retained, and takes the caller's reference to values over.
// Contents are equal if they are stored in the same bytes: encoding is deterministic, and no approximation decides.
func (t *dictionaryTable) intern(id int64, values *Batch) *Dictionary {
	hash := maphash.Bytes(t.seed, values.body.B)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.byHash[hash] {
		if d.id == id && sameBatch(d.values, values) {
			d.values.Retain()
			values.Release() // not the last of a dictionary: it was never in the table
			return d
		}
	}
	d := &Dictionary{id: id, values: values, hash: hash, table: t}
	t.byHash[hash] = append(t.byHash[hash], d)
	return d
}

// remove takes a dictionary out; the caller holds the lock.
func (t *dictionaryTable) remove(d *Dictionary) {
	list := t.byHash[d.hash]
	for i := range list {
		if list[i] == d {
			list[i] = list[len(list)-1]
			list = list[:len(list)-1]
			break
		}
	}
	if len(list) == 0 {
		delete(t.byHash, d.hash)
	} else {
		t.byHash[d.hash] = list
	}
}

// sameBatch compares two stored batches of one column byte by byte. Types are compared by their layout: two types with
// the same one are stored alike, and a dictionary's type is said by the schema that it is sent under.
func sameBatch(a, b *Batch) bool {
	return a.codec == b.codec && a.header.Rows == b.header.Rows && slices.Equal(a.header.Nodes, b.header.Nodes) &&
		slices.Equal(a.header.Buffers, b.header.Buffers) && slices.Equal(a.header.Variadic, b.header.Variadic) &&
		bytes.Equal(a.body.B, b.body.B)
}

// leaves are the columns below cols, at any depth, that are encoded with dictionaries, with the ordinal of each one's
// dictionary among dicts.
func leaves(cols []*arrowipc.Column, dicts []*arrowipc.DictionaryLayout) (out []leaf) {
	ordinal := make(map[int64]int, len(dicts))
	for i, d := range dicts {
		ordinal[d.ID] = i
	}
	var walk func(cols []*arrowipc.Column)
	walk = func(cols []*arrowipc.Column) {
		for _, c := range cols {
			if c.Field.Dictionary != nil {
				out = append(out, leaf{c, ordinal[c.Field.Dictionary.ID]})
			}
			walk(c.Children)
		}
	}
	if len(dicts) > 0 {
		walk(cols)
	}
	return out
}

// leaf is a dictionary-encoded column.
type leaf struct {
	column     *arrowipc.Column
	dictionary int // ordinal in the layout's Dictionaries
}
