package journal

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// undo is what keys are to hold; a nil value is none.
type undo []kept

type kept struct{ bucket, key, value []byte }

// with adds what another has of keys that this one does not.
func (u undo) with(other undo) undo {
	seen := map[string]bool{}
	for _, k := range u {
		seen[string(k.bucket)+"\x00"+string(k.key)] = true
	}
	for _, k := range other {
		if !seen[string(k.bucket)+"\x00"+string(k.key)] {
			u = append(u, k)
		}
	}
	return u
}

// transaction is a bbolt transaction that keeps the digest and remembers what was before.
type transaction struct {
	j      *Journal
	tx     *bbolt.Tx
	digest digest
	back   undo
}

// apply takes back what is in doubt, and then makes changes.
func (t *transaction) apply(group []*change) error {
	for _, k := range t.j.doubt {
		if err := t.set(k.bucket, k.key, k.value); err != nil {
			return err
		}
	}
	t.back = nil
	for _, c := range group {
		if err := t.change(c); err != nil {
			return err
		}
	}
	return t.tx.Bucket(stateBucket).Put(digestKey, t.digest.bytes())
}

// set gives a key a value, or removes it where the value is nil.
func (t *transaction) set(bucket, key, value []byte) error {
	b := t.tx.Bucket(bucket)
	old := b.Get(key)
	if old != nil {
		old = append([]byte{}, old...) // bbolt's own is good until the next change only
		t.digest.remove(bucket, key, old)
	}
	t.back = append(undo{{bucket, key, old}}, t.back...)
	if value == nil {
		return b.Delete(key)
	}
	t.digest.add(bucket, key, value)
	return b.Put(key, value)
}

func (t *transaction) change(c *change) error {
	if err := t.set(datasetsBucket, c.name, c.record); err != nil || c.put == nil {
		return err
	}
	puts := t.tx.Bucket(putsBucket)
	n := uint64(1) // not bbolt's own number, which taking a change back would leave as it is
	if last, _ := puts.Cursor().Last(); last != nil {
		n = binary.BigEndian.Uint64(last) + 1
	}
	key := binary.BigEndian.AppendUint64(nil, n)
	record, err := encodePut(key, c.put)
	if err == nil {
		err = t.set(putsBucket, key, record)
	}
	if err != nil {
		return err
	}
	return t.forget(puts, n)
}

// forget removes puts that are too old or too many, of which last is the newest one's number. A few at a time are enough, as
// each put adds one.
func (t *transaction) forget(puts *bbolt.Bucket, last uint64) error {
	var old [][]byte
	cursor := puts.Cursor()
	for k, v := cursor.First(); k != nil && len(old) < 10; k, v = cursor.Next() {
		p, err := decodePut(k, v)
		if err != nil {
			return err
		}
		many := last-binary.BigEndian.Uint64(k) >= uint64(t.j.opts.KeptPuts)
		if !many && t.j.opts.Now().Sub(p.At) < t.j.opts.KeptPutTime {
			break
		}
		old = append(old, append([]byte{}, k...))
	}
	for _, k := range old {
		if err := t.set(putsBucket, k, nil); err != nil {
			return err
		}
	}
	return nil
}
