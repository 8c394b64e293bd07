package batchstore

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// Dictionary is one stored dictionary: the values that a dictionary-encoded column's indices point into. It is stored
// as a batch of one column, immutable, and counted: it is the Owner of its bytes, which go with its last reference.
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

// Retain adds a reference; the caller holds one already.
func (d *Dictionary) Retain() { d.values.Retain() }

// Release drops a reference. The last one is dropped under the table's lock, so that intern never meets a dictionary that
// is about to go.
func (d *Dictionary) Release() {
	t := d.table
	t.mu.Lock()
	n := d.values.refs.Add(-1)
	if n == 0 {
		t.remove(d)
	}
	t.mu.Unlock()
	switch {
	case n == 0:
		d.values.free()
	case n < 0:
		panic("batchstore: a dictionary was released more often than it was retained")
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
	hash := t.hash(id, values)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.byHash[hash] {
		if d.id == id && sameBatch(d.values, values) {
			d.values.Retain()
			values.Release() // it was never in the table
			return d
		}
	}
	d := &Dictionary{id: id, values: values, hash: hash, table: t}
	t.byHash[hash] = append(t.byHash[hash], d)
	return d
}

// hash tells most contents apart, also those without bytes.
func (t *dictionaryTable) hash(id int64, values *Batch) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, id)
	maphash.WriteComparable(&h, values.header.Rows)
	h.Write(values.body.B)
	return h.Sum64()
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
