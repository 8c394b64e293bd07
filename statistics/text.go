package statistics

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
)

// judged is how many bytes of a value are looked at: what lies beyond changes no bound. It also keeps short what views
// that all show the same long bytes can cost.
const judged = MaxBytes + 1

// measureBytes measures values of class Bytes.
func measureBytes(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var (
		s       scan
		offsets [block + 1]int
	)
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		if v.Kind == arrowipc.KindView {
			s.views(v.Values[16*i:16*(i+n)], v.Buffers, w)
			return
		}
		if s.greatest == nil {
			s.begin(v, i, w)
		}
		s.run(v.bytesOf(&offsets, i, n), offsets[:n+1], w)
	})
	if s.greatest != nil {
		c.boundBytes(s.least, s.greatest, isText(v.Field))
	}
	return c
}

// bytesOf gives the bytes of the slots [i, i+n), and where in them each begins and ends.
func (v *Vector) bytesOf(offsets *[block + 1]int, i, n int) []byte {
	switch v.Kind {
	case arrowipc.KindBinary:
		o := v.Offsets[4*i : 4*(i+n+1)]
		for k := 0; k <= block && len(o) >= 4; k, o = k+1, o[4:] {
			offsets[k] = int(int32(binary.LittleEndian.Uint32(o)))
		}
		return v.Data
	case arrowipc.KindLargeBinary:
		o := v.Offsets[8*i : 8*(i+n+1)]
		for k := 0; k <= block && len(o) >= 8; k, o = k+1, o[8:] {
			offsets[k] = int(binary.LittleEndian.Uint64(o))
		}
		return v.Data
	}
	for k := range n + 1 { // fixed-size binary
		offsets[k] = (i + k) * v.Width
	}
	return v.Values
}

// scan finds the least and the greatest of many byte strings.
//
// Most values of a column begin alike, so those first bytes tell nothing. A scan takes such a prefix from its first values
// and compares the 8 bytes after it, as numbers: the key. Values that do not have the prefix come before or after all that
// have it. A key only decides where it differs; where it does not, whole values are compared.
type scan struct {
	prefix []byte // what values are expected to begin with
	word   uint64 // its first 8 bytes, little-endian, under mask
	mask   uint64

	least, greatest       []byte // judged bytes at most; nil before the first value
	leastKey, greatestKey uint64 // of a value without the prefix the key that no value with the prefix can pass
}

// longestPrefix is the most bytes of a prefix: with the key they are bytes that are judged.
const longestPrefix = 48

// begin chooses the prefix from the first block that has a value: what all values of the block begin with.
func (s *scan) begin(v *Vector, i int, w uint64) {
	first := true
	for ; w != 0; w &= w - 1 {
		b := v.slice(int64(i + bits.TrailingZeros64(w)))
		if first {
			s.prefix, first = b[:min(len(b), longestPrefix)], false
			continue
		}
		s.prefix = s.prefix[:commonPrefix(s.prefix, b)]
	}
	var word [8]byte
	n := copy(word[:], s.prefix)
	s.word = binary.LittleEndian.Uint64(word[:])
	s.mask = math.MaxUint64 >> max(0, 64-8*n)
}

// run takes the values that w selects.
func (s *scan) run(data []byte, offsets []int, w uint64) {
	skip := len(s.prefix)
	for i := 1; i < len(offsets); i, w = i+1, w>>1 {
		if w&1 == 0 {
			continue
		}
		from, to := offsets[i-1], offsets[i]
		rest := to - from - skip
		if from+skip+8 > len(data) || rest < 0 {
			s.add(data[from:to])
			continue
		}
		if binary.LittleEndian.Uint64(data[from:])&s.mask != s.word ||
			skip > 8 && !bytes.Equal(data[from+8:from+skip], s.prefix[8:]) {
			s.add(data[from:to])
			continue
		}
		key := binary.BigEndian.Uint64(data[from+skip:]) & (math.MaxUint64 << max(0, 64-8*rest))
		if key <= s.leastKey || key >= s.greatestKey {
			s.take(data[from:to], key)
		}
	}
}

// take is add for a value that has the prefix, and its key.
func (s *scan) take(b []byte, key uint64) {
	short := len(b) <= len(s.prefix)+8 // the key tells all but how many zero bytes there are
	b = b[:min(len(b), judged)]
	if s.greatest == nil {
		s.least, s.leastKey, s.greatest, s.greatestKey = b, key, b, key
		return
	}
	if key < s.leastKey || key == s.leastKey && !(short && len(b) == len(s.least)) && bytes.Compare(b, s.least) < 0 {
		s.least, s.leastKey = b, key
	}
	if key > s.greatestKey || key == s.greatestKey && !(short && len(b) == len(s.greatest)) && bytes.Compare(b, s.greatest) > 0 {
		s.greatest, s.greatestKey = b, key
	}
}

// add takes any value.
func (s *scan) add(b []byte) {
	if bytes.HasPrefix(b, s.prefix) {
		var key [8]byte
		copy(key[:], b[len(s.prefix):])
		s.take(b, binary.BigEndian.Uint64(key[:]))
		return
	}
	b = b[:min(len(b), judged)]
	switch {
	case bytes.Compare(b, s.least) < 0:
		s.least, s.leastKey = b, 0
	case bytes.Compare(b, s.greatest) > 0:
		s.greatest, s.greatestKey = b, math.MaxUint64
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
