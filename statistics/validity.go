package statistics

import "encoding/binary"

// block is how many slots are measured at a time: one word of validity.
const block = 64

// bitsAt is the bits [i, i+n) of a bitmap, n at most 64 and i a multiple of 64; those past n are zero. An empty bitmap is
// all set.
func bitsAt(bitmap []byte, i, n int) uint64 {
	switch {
	case len(bitmap) == 0:
		return ^uint64(0) >> (block - n)
	case n == block:
		return binary.LittleEndian.Uint64(bitmap[i>>3:])
	}
	var b [8]byte
	copy(b[:], bitmap[i>>3:(i+n+7)>>3])
	return binary.LittleEndian.Uint64(b[:]) & (^uint64(0) >> (block - n))
}

// valid is a bit for each of the slots [i, i+n) that is valid by the column's own validity and by its masks.
func (v *Vector) valid(i, n int) uint64 {
	w := bitsAt(v.Validity, i, n)
	for _, mask := range v.Masks {
		w &= bitsAt(mask, i, n)
	}
	return w
}

// blocks calls f for every block of slots that has a valid one, in order: slots [i, i+n), valid where w says so.
func (v *Vector) blocks(f func(i, n int, w uint64)) {
	for i, length := 0, int(v.Length); i < length; i += block {
		n := min(block, length-i)
		if w := v.valid(i, n); w != 0 {
			f(i, n, w)
		}
	}
}
