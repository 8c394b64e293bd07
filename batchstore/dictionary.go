package batchstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
)

// Dictionary is one stored dictionary: the values that a dictionary-encoded column's indices point into. It is stored
// as a batch of one column, immutable, and counted.
//
// A dictionary is never extended: what clients send as deltas has been put together, so that every reader, also one
// that does not know deltas, needs one dictionary batch.
type Dictionary struct {
	ordinal int // in the schema's layout
	values  *Batch
	digest  digest
	table   *dictionaryTable
}

// digest is SHA-256 of all that makes one dictionary the same as another: its place in a schema and its stored bytes. (Not its
// id: of two puts to one dataset, each may give it another.) Nobody can make two
// that differ and have the same one, so it also names a dictionary in files.
type digest [sha256.Size]byte

// uid is the digest as text.
func (d *Dictionary) uid() string { return hex.EncodeToString(d.digest[:]) }

// Decoded is the bytes of the plain values, unpadded.
func (d *Dictionary) Decoded() int64 { return sum(d.values.decoded) }

// StoredBytes is the length of the stored values, padding included.
func (d *Dictionary) StoredBytes() int64 { return d.values.StoredBytes() }

// Resident tells whether the values are in memory.
func (d *Dictionary) Resident() bool { return d.values.Resident() }

// Filed tells whether the values lie in a file.
func (d *Dictionary) Filed() bool { return d.values.Filed() }

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
	mu       sync.Mutex // guards byDigest, and the step from one reference to none
	byDigest map[digest]*Dictionary
}

func newDictionaryTable() *dictionaryTable {
	return &dictionaryTable{byDigest: map[digest]*Dictionary{}}
}

// intern gives the one dictionary of this ordinal and content, retained, and takes the caller's reference to values over.
// Contents are equal if they are stored in the same bytes: encoding is deterministic. The values are in memory.
func (t *dictionaryTable) intern(ordinal int, values *Batch) *Dictionary {
	return t.keep(ordinal, digestOf(ordinal, values), values)
}

// keep is intern of values of which the digest is known.
func (t *dictionaryTable) keep(ordinal int, sum digest, values *Batch) *Dictionary {
	t.mu.Lock()
	d := t.byDigest[sum]
	if d == nil {
		d = &Dictionary{ordinal: ordinal, values: values, digest: sum, table: t}
		values.dict = d
		t.byDigest[sum] = d
		t.mu.Unlock()
		return d
	}
	d.values.Retain()
	t.mu.Unlock()
	values.Release() // it was never in the table
	return d
}

// known gives the dictionary of a digest, retained, or nil.
func (t *dictionaryTable) known(sum digest) *Dictionary {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.byDigest[sum]
	if d != nil {
		d.values.Retain()
	}
	return d
}

// remove takes a dictionary out; the caller holds the lock.
func (t *dictionaryTable) remove(d *Dictionary) { delete(t.byDigest, d.digest) }

// digestOf digests a stored batch of one column. Types are told apart by their layout, which the counts of nodes and
// buffers give: two types with the same one are stored alike, and a dictionary's type is said by the schema that it is sent
// under. All counts come before what they count, so no two batches give the same bytes to digest.
func digestOf(ordinal int, b *Batch) (sum digest) {
	h := sha256.New()
	var word []byte
	add := func(values ...int64) {
		for _, v := range values {
			word = binary.LittleEndian.AppendUint64(word[:0], uint64(v))
			h.Write(word)
		}
	}
	add(int64(ordinal), int64(b.codec), b.header.Rows, int64(len(b.header.Nodes)), int64(len(b.header.Buffers)), int64(len(b.header.Variadic)))
	for _, n := range b.header.Nodes {
		add(n.Length, n.Nulls)
	}
	for _, x := range b.header.Buffers {
		add(x.Offset, x.Length)
	}
	add(b.header.Variadic...)
	h.Write(b.mem.Load().block.B)
	h.Sum(sum[:0])
	return sum
}

// parseDigest reads what uid wrote.
func parseDigest(text string) (sum digest, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(sum) {
		return sum, fmt.Errorf("%q is no digest", text)
	}
	copy(sum[:], raw)
	return sum, nil
}
