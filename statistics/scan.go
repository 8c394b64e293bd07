package statistics

import (
	"bytes"
	"encoding/binary"
	"math"
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

// fewest is how many values are worth the whole of a block.
const fewest = 16

// run takes the first count values of p, which lie in data; ordered says that they do not begin before data, nor end before
// they begin, nor before the one before them does.
func (s *scan) run(data []byte, p *places, count int, ordered bool) {
	// Loads of 8 bytes must not run over the end. The last value tells for all.
	if !ordered || count < fewest || p[count-1].start > len(data)-len(s.prefix)-8 {
		for _, x := range p[:count] {
			s.add(data[x.start:x.end])
		}
		return
	}
	for i := count; i < block; i++ { // once more the last value, which changes nothing
		p[i] = p[count-1]
	}
	var k keys
	if !s.keys(&k, data, p) {
		for _, x := range p[:count] {
			s.add(data[x.start:x.end])
		}
		return
	}
	var e extremes
	e.add(&k, ^uint64(0))
	if e.least > s.leastKey && e.greatest < s.greatestKey {
		return
	}
	for i, key := range k[:count] { // only those that may be the least or the greatest
		if key == e.least || key == e.greatest {
			s.judge(data[p[i].start:p[i].end], key)
		}
	}
}

// keys reads the keys of a block of values, and reports whether all of them have the prefix.
//
// All loads are of 8 bytes that the caller has seen to lie in data: to have each checked again would take as long as all
// the rest.
func (s *scan) keys(k *keys, data []byte, p *places) bool {
	skip, word, mask := len(s.prefix), s.word, s.mask
	base := unsafe.Pointer(unsafe.SliceData(data))
	keyBase := unsafe.Add(base, skip)
	var differs uint64
	below := 0 // its sign is that of any rest
	for i := range k {
		start := p[i].start
		rest := p[i].end - start - skip
		below |= rest
		differs |= (binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(base, start))[:]) ^ word) & mask
		key := binary.BigEndian.Uint64((*[8]byte)(unsafe.Add(keyBase, start))[:]) & firstBytes[min(rest, 8)&15]
		k[i] = int64(key ^ signBit)
	}
	if below < 0 { // a value is shorter than the prefix
		return false
	}
	for at := 8; at < skip && differs == 0; at += 8 { // the rest of a long prefix, its last 8 bytes perhaps in part again
		from := min(at, skip-8)
		word := binary.LittleEndian.Uint64(s.prefix[from:])
		for i := range p {
			differs |= binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(base, p[i].start+from))[:]) ^ word
		}
	}
	return differs == 0
}

// firstBytes masks a big-endian word to so many of its first bytes, 8 at most.
var firstBytes = func() (masks [16]uint64) {
	for n := range 9 {
		masks[n] = ^(uint64(math.MaxUint64) >> (8 * n))
	}
	return masks
}()

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
