package predicate

import (
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// tester sets a bit for each slot whose value is in a set, and clears those of the others. Those of nulls and NaNs may be
// either. Keys is scratch.
type tester interface {
	test(out []uint64, v *statistics.Vector, rows int, keys *[64]int64)
}

// newTester gives that of a set of values of a type; nil of the empty one.
func newTester(s set, t arrowipc.Type) tester {
	switch s := s.(type) {
	case *keySet:
		if s.list == nil {
			return keyRange{s.lo, uint64(s.hi - s.lo), loaderOf(t)}
		}
		return newKeyTable(s, loaderOf(t))
	case *wideSet:
		return newWideTester(s)
	case *byteSet:
		return newByteTester(s)
	}
	return nil
}

// keyRange tests for keys from lo to lo+span.
type keyRange struct {
	lo   int64
	span uint64
	how  loader
}

func (r keyRange) test(out []uint64, v *statistics.Vector, rows int, keys *[64]int64) {
	if v.Kind == arrowipc.KindBool {
		r.testBits(out, v.Values, rows)
		return
	}
	for i := range out {
		n := min(64, rows-64*i)
		load(keys, v.Values, 64*i, n, v.Width, r.how)
		var w uint64
		for _, k := range keys[:n] {
			w = w>>1 | bit(uint64(k-r.lo) <= r.span)<<63
		}
		out[i] = w >> (64 - n)
	}
}

// testBits tests booleans: of keys 0 and 1.
func (r keyRange) testBits(out []uint64, values []byte, rows int) {
	var whenSet, whenClear uint64 // what a word of such bits becomes
	if uint64(1-r.lo) <= r.span {
		whenSet = ^uint64(0)
	}
	if uint64(-r.lo) <= r.span {
		whenClear = ^uint64(0)
	}
	for i := range out {
		w := word(values, i)
		out[i] = w&whenSet | ^w&whenClear
	}
	trim(out, rows)
}

// keyTable tests for the keys of a list: by a bitmap where they lie close together, else by hashing.
type keyTable struct {
	how   loader
	lo    int64
	span  uint64
	dense []uint64 // a bit for each key from lo on
	slots []int64  // open addressing, at most half full; lo, the least key of the list, marks vacant slots and has none
	shift uint
}

// denseBits is how many bits a key may take in a bitmap.
const denseBits = 64

func newKeyTable(s *keySet, how loader) keyTable {
	t := keyTable{how: how, lo: s.lo, span: uint64(s.hi - s.lo)}
	if t.span/denseBits < uint64(len(s.list)) {
		t.dense = make([]uint64, t.span/64+1)
		for _, k := range s.list {
			at := uint64(k - s.lo)
			t.dense[at/64] |= 1 << (at % 64)
		}
		return t
	}
	size := bits.Len(uint(2 * len(s.list)))
	t.slots, t.shift = make([]int64, 1<<size), uint(64-size)
	for at := range t.slots {
		t.slots[at] = t.lo
	}
	for _, k := range s.list[1:] {
		at := t.hash(k)
		for t.slots[at] != t.lo {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = k
	}
	return t
}

// hash gives the slot that a search for a key begins at (multiplicative hashing by 2**64 over the golden ratio).
func (t *keyTable) hash(k int64) int { return int(uint64(k) * 0x9E3779B97F4A7C15 >> t.shift) }

// has reports whether a key is in slots. The search for lo ends at a vacant slot, and finds it there.
func (t *keyTable) has(k int64) bool {
	for at := t.hash(k); ; at = (at + 1) & (len(t.slots) - 1) {
		switch t.slots[at] {
		case k:
			return true
		case t.lo:
			return false
		}
	}
}

func (t keyTable) test(out []uint64, v *statistics.Vector, rows int, keys *[64]int64) {
	for i := range out {
		n := min(64, rows-64*i)
		load(keys, v.Values, 64*i, n, v.Width, t.how)
		var w uint64
		for j, k := range keys[:n] {
			at := uint64(k - t.lo)
			if at > t.span {
				continue
			}
			if t.dense != nil {
				w |= t.dense[at/64] >> (at % 64) & 1 << j
			} else {
				w |= bit(t.has(k)) << j
			}
		}
		out[i] = w
	}
}

// wideTester tests for wide integers.
type wideTester struct {
	lo, hi wide
	list   map[wide]struct{}
}

func newWideTester(s *wideSet) wideTester {
	t := wideTester{lo: s.lo, hi: s.hi}
	if s.list != nil {
		t.list = make(map[wide]struct{}, len(s.list))
		for _, w := range s.list {
			t.list[w] = struct{}{}
		}
	}
	return t
}

func (t wideTester) test(out []uint64, v *statistics.Vector, rows int, _ *[64]int64) {
	clear(out)
	for i := range rows {
		w := wideLE(v.Values[i*v.Width : (i+1)*v.Width])
		in := !w.less(t.lo) && !t.hi.less(w)
		if in && t.list != nil {
			_, in = t.list[w]
		}
		out[i/64] |= bit(in) << (i % 64)
	}
}
