package predicate

import (
	"encoding/binary"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// byteTester tests for texts and binary.
type byteTester struct {
	byteSet
	equal    bool // to lo
	prefixed bool // the interval is what begins with lo
	list     map[string]struct{}
}

func newByteTester(s *byteSet) byteTester {
	t := byteTester{byteSet: *s}
	switch {
	case s.list != nil:
		t.list = make(map[string]struct{}, len(s.list))
		for _, text := range s.list {
			t.list[text] = struct{}{}
		}
	case !s.endless && s.lo == s.hi:
		t.equal = true
	default:
		p, _ := prefixSet(s.lo).(*byteSet)
		t.prefixed = !s.loOpen && p.hi == s.hi && p.hiOpen == s.hiOpen && p.endless == s.endless
	}
	return t
}

// has reports whether a value is in the set.
func (t *byteTester) has(b []byte) bool {
	switch {
	case t.equal:
		return string(b) == t.lo
	case t.prefixed:
		return len(b) >= len(t.lo) && string(b[:len(t.lo)]) == t.lo
	case t.list != nil:
		_, in := t.list[string(b)]
		return in
	}
	if c := strings.Compare(string(b), t.lo); c < 0 || c == 0 && t.loOpen {
		return false
	}
	if t.endless {
		return true
	}
	c := strings.Compare(string(b), t.hi)
	return c < 0 || c == 0 && !t.hiOpen
}

func (t byteTester) test(out []uint64, v *statistics.Vector, rows int, _ *[64]int64) {
	for i := range out {
		from, n := 64*i, min(64, rows-64*i)
		switch v.Kind {
		case arrowipc.KindBinary:
			out[i] = t.offsets32(v.Data, v.Offsets[4*from:4*(from+n+1)])
		case arrowipc.KindLargeBinary:
			out[i] = t.offsets64(v.Data, v.Offsets[8*from:8*(from+n+1)])
		case arrowipc.KindView:
			out[i] = t.views(v.Buffers, v.Values[16*from:16*(from+n)])
		case arrowipc.KindFixed:
			out[i] = t.fixed(v.Values[v.Width*from:v.Width*(from+n)], n)
		}
	}
}

// offsets32 tests the values between consecutive offsets, at most 64.
func (t *byteTester) offsets32(data, offsets []byte) (w uint64) {
	start := binary.LittleEndian.Uint32(offsets)
	offsets = offsets[4:]
	for j := 0; len(offsets) >= 4; j++ {
		end := binary.LittleEndian.Uint32(offsets)
		offsets = offsets[4:]
		// Values of another length are not worth a call.
		if !t.equal || int(end-start) == len(t.lo) {
			w |= bit(t.has(data[start:end])) << (j & 63)
		}
		start = end
	}
	return w
}

func (t *byteTester) offsets64(data, offsets []byte) (w uint64) {
	start := binary.LittleEndian.Uint64(offsets)
	offsets = offsets[8:]
	for j := 0; len(offsets) >= 8; j++ {
		end := binary.LittleEndian.Uint64(offsets)
		offsets = offsets[8:]
		w |= bit(t.has(data[start:end])) << (j & 63)
		start = end
	}
	return w
}

func (t *byteTester) views(buffers [][]byte, views []byte) (w uint64) {
	for j := 0; len(views) >= 16; j++ {
		w |= bit(t.has(viewed(views[:16], buffers))) << (j & 63)
		views = views[16:]
	}
	return w
}

func (t *byteTester) fixed(values []byte, n int) (w uint64) {
	width := len(values) / n
	for j := range n {
		w |= bit(t.has(values[j*width:(j+1)*width])) << (j & 63)
	}
	return w
}

// inline is the most bytes that a view holds itself.
const inline = 12

// viewed gives what a view shows: nothing where it names no buffer, as that of a null may.
func viewed(view []byte, buffers [][]byte) []byte {
	n := int(int32(binary.LittleEndian.Uint32(view)))
	if n >= 0 && n <= inline {
		return view[4 : 4+n]
	}
	at := int(int32(binary.LittleEndian.Uint32(view[8:])))
	offset := int(int32(binary.LittleEndian.Uint32(view[12:])))
	if n < 0 || at < 0 || at >= len(buffers) || offset < 0 || offset > len(buffers[at])-n {
		return nil
	}
	return buffers[at][offset : offset+n]
}
