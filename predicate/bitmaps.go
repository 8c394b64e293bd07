package predicate

import (
	"encoding/binary"

	"github.com/flightcache/flightcache/statistics"
)

// store writes words as bytes, least significant first.
func store(dst []byte, words []uint64) {
	for len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, words[0])
		dst, words = dst[8:], words[1:]
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], words[0])
		copy(dst, last[:])
	}
}

// fill sets the bits of n rows to the same, and clears those past them.
func fill(b []uint64, n int, set bool) {
	var w uint64
	if set {
		w = ^uint64(0)
	}
	for i := range b {
		b[i] = w
	}
	trim(b, n)
}

// trim clears the bits past n rows.
func trim(b []uint64, n int) {
	if n%64 != 0 {
		b[len(b)-1] &= 1<<(n%64) - 1
	}
}

// complement turns the bits of n rows over.
func complement(b []uint64, n int) {
	for i := range b {
		b[i] = ^b[i]
	}
	trim(b, n)
}

// setNulls sets the bits of the slots that are null.
func setNulls(out []uint64, v *statistics.Vector, rows int, to bool) {
	setUnset(out, v.Validity, rows, to)
	for _, mask := range v.Masks {
		setUnset(out, mask, rows, to)
	}
}

// setUnset sets the bits that a bitmap of bytes has not; an empty one has all.
func setUnset(out []uint64, valid []byte, rows int, to bool) {
	if len(valid) == 0 {
		return
	}
	for i := range out {
		w := word(valid, i)
		if to {
			out[i] |= ^w
		} else {
			out[i] &= w
		}
	}
	if to {
		trim(out, rows)
	}
}

// word gives the i-th 64 bits of a bitmap; bits past its end are clear.
func word(b []byte, i int) uint64 {
	if b = b[min(8*i, len(b)):]; len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var last [8]byte
	copy(last[:], b)
	return binary.LittleEndian.Uint64(last[:])
}
