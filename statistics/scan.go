package statistics

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"
)

// scan finds the least and the greatest of many byte strings.
//
// Most values of a column begin alike, so those first bytes tell nothing. A scan expects such a prefix and compares the 8
// bytes after it, as numbers: the key (as signed ones, the top bit turned). Values that do not have the prefix come before or after all that have it. A key
// only decides where it differs; where it does not, whole values are compared.
type scan struct {
	prefix []byte // what values are expected to begin with
	word   uint64 // its first 8 bytes, little-endian, under mask
	mask   uint64
	misses int // values without the prefix, since it was chosen

	least, greatest       []byte // judged bytes at most
	leastKey, greatestKey int64  // of a value without the prefix the key that no value with the prefix passes
}

const (
	// longestPrefix is the most bytes of a prefix: with the key they are bytes that are judged.
	longestPrefix = 48
	// samples is how many values a prefix is chosen by.
	samples = 64
	// bearableMisses is how many values without the prefix are judged one by one before it is shortened.
	bearableMisses = 64
)

// begin takes the first value, and chooses the prefix: what values from all over the column begin with.
func (s *scan) begin(v *Vector, first int64) {
	b := v.slice(first)
	prefix := b[:min(len(b), longestPrefix)]
	for k := range int64(samples) {
		if i := first + (v.Length-first)*k/samples; !v.Null(i) {
			prefix = prefix[:commonPrefix(prefix, v.slice(i))]
		}
	}
	s.least = b[:min(len(b), judged)]
	s.greatest = s.least
	s.expect(prefix)
}

// expect sets the prefix, which the first value has.
func (s *scan) expect(prefix []byte) {
	s.prefix, s.misses = prefix, 0
	var word [8]byte
	n := copy(word[:], prefix)
	s.word = binary.LittleEndian.Uint64(word[:])
	s.mask = math.MaxUint64 >> (64 - 8*n)
	s.leastKey, s.greatestKey = math.MinInt64, math.MaxInt64
	if bytes.HasPrefix(s.least, prefix) {
		s.leastKey = s.key(s.least)
	}
	if bytes.HasPrefix(s.greatest, prefix) {
		s.greatestKey = s.key(s.greatest)
	}
}

// key is the key of a value that has the prefix: the bytes after it, zeros where there are less than 8.
func (s *scan) key(b []byte) int64 {
	var key [8]byte
	copy(key[:], b[len(s.prefix):])
	return int64(binary.BigEndian.Uint64(key[:]) ^ signBit)
}

// run takes those of n values that w selects. They lie in data, one between each two offsets.
func (s *scan) run(data []byte, offsets *[block + 1]int, n int, w uint64) {
	if n < block || !spaced(offsets, len(data)-len(s.prefix)-8) {
		for ; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w)
			s.add(data[offsets[i]:offsets[i+1]])
		}
		return
	}
	var k keys
	missed := s.keys(&k, data, offsets, w)
	s.take(&k, data, offsets, w&^missed)
	for ; missed != 0; missed &= missed - 1 {
		i := bits.TrailingZeros64(missed)
		s.add(data[offsets[i]:offsets[i+1]])
	}
}

// spaced reports whether the offsets do not fall and lie between 0 and, but for the last, most.
func spaced(offsets *[block + 1]int, most int) bool {
	fall := 0 // its sign is that of any fall
	for i := range block {
		fall |= offsets[i+1] - offsets[i]
	}
	return fall >= 0 && offsets[0] >= 0 && offsets[block-1] <= most
}

// keys reads the keys of a block of values, and tells which of those that w selects do not have the prefix.
//
// All loads are of 8 bytes that the caller has seen to lie in data: to have each checked again would take as long as all
// the rest.
func (s *scan) keys(k *keys, data []byte, offsets *[block + 1]int, w uint64) (missed uint64) {
	skip, word, mask := len(s.prefix), s.word, s.mask
	base := unsafe.Pointer(unsafe.SliceData(data))
	keyBase := unsafe.Add(base, skip)
	start := offsets[0]
	for i := range k {
		end := offsets[i+1]
		rest := end - start - skip // below zero: no prefix, and any key will do
		key := binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(keyBase, start))[:]) & firstBytes[min(uint(rest), 8)]
		k[i] = int64(key ^ signBit)
		start = end
	}
	// Whether any is without the prefix is soon told; which, is asked only then.
	var differs uint64
	selected := w
	for i := range block {
		start, end := offsets[i], offsets[i+1]
		first := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(base, start))[:])
		differs |= ((first^word)&mask | uint64(end-start-skip)&signBit) & -(selected & 1)
		selected >>= 1
	}
	if differs != 0 || skip > 8 {
		for rest := w; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			if !bytes.HasPrefix(data[offsets[i]:offsets[i+1]], s.prefix) {
				missed |= 1 << i
			}
		}
	}
	return missed
}

// firstBytes masks a big-endian word to so many of its first bytes.
var firstBytes = func() (masks [9]uint64) {
	for n := range masks {
		masks[n] = ^(uint64(math.MaxUint64) >> (8 * n))
	}
	return masks
}()

// take takes the values that w selects, which have the prefix.
func (s *scan) take(k *keys, data []byte, offsets *[block + 1]int, w uint64) {
	var e extremes
	e.add(k, w)
	if !e.seen || e.least > s.leastKey && e.greatest < s.greatestKey {
		return
	}
	for i, key := range k { // only those that may be the least or the greatest
		if (key == e.least || key == e.greatest) && w>>i&1 != 0 {
			s.judge(data[offsets[i]:offsets[i+1]], key)
		}
	}
}

// views takes the values that w selects.
func (s *scan) views(views []byte, buffers [][]byte, w uint64) {
	for ; len(views) >= 16; views, w = views[16:], w>>1 {
		if w&1 != 0 {
			s.add(viewed(views[:16], buffers))
		}
	}
}

// add takes any value.
func (s *scan) add(b []byte) {
	if bytes.HasPrefix(b, s.prefix) {
		s.judge(b, s.key(b))
		return
	}
	b = b[:min(len(b), judged)]
	switch {
	case bytes.Compare(b, s.least) < 0:
		s.least, s.leastKey = b, math.MinInt64
	case bytes.Compare(b, s.greatest) > 0:
		s.greatest, s.greatestKey = b, math.MaxInt64
	}
	if s.misses++; s.misses == bearableMisses {
		s.expect(s.prefix[:commonPrefix(s.prefix, b)])
	}
}

// judge takes a value that has the prefix, and its key.
func (s *scan) judge(b []byte, key int64) {
	short := len(b) <= len(s.prefix)+8 // the key tells all but how many zero bytes there are
	b = b[:min(len(b), judged)]
	if key < s.leastKey || key == s.leastKey && !(short && len(b) == len(s.least)) && bytes.Compare(b, s.least) < 0 {
		s.least, s.leastKey = b, key
	}
	if key > s.greatestKey || key == s.greatestKey && !(short && len(b) == len(s.greatest)) && bytes.Compare(b, s.greatest) > 0 {
		s.greatest, s.greatestKey = b, key
	}
}

// commonPrefix is how many bytes a and b have in common at their beginning.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// judged is how many bytes of a value are looked at: what lies beyond changes no bound. It also keeps short what views
// that all show the same long bytes can cost.
const judged = MaxBytes + 1
