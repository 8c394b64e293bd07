package batchstore

import (
	"encoding/binary"
	"math/bits"
)

// bitBytes is the bytes that n bits need.
func bitBytes(n int64) int64 { return n/8 + (n%8+7)/8 }

// bitSet reports bit i of a bitmap, least significant bit first.
func bitSet(b []byte, i int64) bool { return b[i>>3]>>(i&7)&1 != 0 }

// valid reports whether slot i is valid under a bitmap that is nil where all are.
func valid(bitmap []byte, i int64) bool { return bitmap == nil || bitSet(bitmap, i) }

// countBits counts the ones among n bits from bit from on.
func countBits(b []byte, from, n int64) int64 {
	count := 0
	if k := min(-from&7, n); k > 0 {
		count += bits.OnesCount64(loadBits(b, from, k))
		from, n = from+k, n-k
	}
	b = b[from/8:]
	words := b[:n/64*8]
	for ; len(words) >= 8; words = words[8:] {
		count += bits.OnesCount64(binary.LittleEndian.Uint64(words))
	}
	if done := n &^ 63; done < n {
		count += bits.OnesCount64(loadBits(b, done, n-done))
	}
	return int64(count)
}

// loadBits gives the k bits from bit from on, k from 1 to 64. It touches no byte that holds none of them.
func loadBits(b []byte, from, k int64) uint64 {
	shift := uint(from & 7)
	b = b[from>>3 : (from+k+7)>>3]
	var v uint64
	if len(b) >= 8 {
		v = binary.LittleEndian.Uint64(b) >> shift
		if len(b) == 9 {
			v |= uint64(b[8]) << (64 - shift)
		}
	} else {
		for i, x := range b {
			v |= uint64(x) << (8 * i)
		}
		v >>= shift
	}
	return v & (^uint64(0) >> (64 - uint(k)))
}

// bitWriter fills a bitmap from its start, 64 bits at a time: ranges that begin at any bit are shifted in as words.
type bitWriter struct {
	dst  []byte // what is still to be written
	acc  uint64 // bits that are not written yet; those above used are zero
	used uint   // how many, below 64
}

// put appends the low k bits of v, whose others are zero; k is from 1 to 64.
func (w *bitWriter) put(v uint64, k uint) {
	w.acc |= v << w.used
	if w.used+k < 64 {
		w.used += k
		return
	}
	binary.LittleEndian.PutUint64(w.dst, w.acc)
	w.dst = w.dst[8:]
	w.acc = v >> (64 - w.used)
	w.used += k - 64
}

// copyBits appends n bits of src from bit from on.
func (w *bitWriter) copyBits(src []byte, from, n int64) {
	if w.used%8 == 0 && from%8 == 0 {
		w.flush()
		k := n / 8
		copy(w.dst, src[from/8:from/8+k])
		w.dst = w.dst[k:]
		from, n = from+k*8, n-k*8
	}
	shift := uint(from & 7)
	rest := src[from>>3:]
	for ; n >= 64 && len(rest) >= 9; n -= 64 {
		w.put(binary.LittleEndian.Uint64(rest)>>shift|uint64(rest[8])<<(64-shift), 64)
		rest = rest[8:]
	}
	for at := int64(shift); n > 0; {
		k := min(n, 64)
		w.put(loadBits(rest, at, k), uint(k))
		at, n = at+k, n-k
	}
}

// ones appends n ones.
func (w *bitWriter) ones(n int64) {
	for ; n >= 64; n -= 64 {
		w.put(^uint64(0), 64)
	}
	if n > 0 {
		w.put(^uint64(0)>>(64-uint(n)), uint(n))
	}
}

// flush writes the pending bits out, the last byte filled up with zeros. Nothing but whole bytes may have been
// pending if more is to follow.
func (w *bitWriter) flush() {
	for ; w.used > 0; w.used -= min(w.used, 8) {
		w.dst[0] = byte(w.acc)
		w.dst = w.dst[1:]
		w.acc >>= 8
	}
}
