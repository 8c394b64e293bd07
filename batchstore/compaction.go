package batchstore

import "math/bits"

// Bounds of compaction: a dictionary of at most compactBytes is not worth it, nor is one of which an eighth is used.
const (
	compactBytes = 64 << 10
	compactShare = 8
)

// note marks the values that the valid rows of an index column refer to, if that is asked for. Indices are in range.
func (c *chain) note(s *source, x leaf) {
	if !c.noting.Load() {
		return
	}
	bitmap, indices := s.validity(x.column), s.buf(x.column, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range s.node(x.column).Length {
		if !valid(bitmap, i) {
			continue
		}
		k := indexAt(indices, x.column, i)
		if at := int(k >> 6); at >= len(c.used) {
			c.used = append(c.used, make([]uint64, at+1-len(c.used))...)
		}
		c.used[k>>6] |= 1 << (k & 63)
	}
}

// sparse reports whether so little of the dictionary is used that the rest should not be kept. It is asked when all
// rows have been seen.
func (c *chain) sparse() bool {
	if !c.noting.Load() || c.bytes <= compactBytes {
		return false
	}
	n := int64(0)
	for _, w := range c.used {
		n += int64(bits.OnesCount64(w))
	}
	return n*compactShare < c.kept
}

// usedRuns are the values that some row refers to.
func (c *chain) usedRuns() []run {
	var out []run
	for p, part := range c.values.parts {
		for i := range part.rows {
			k := c.values.starts[p] + i
			if int(k>>6) >= len(c.used) {
				return out
			}
			if c.used[k>>6]>>(k&63)&1 == 0 {
				continue
			}
			if last := len(out) - 1; last >= 0 && out[last].b == part.plainBatch && out[last].from+out[last].n == i {
				out[last].n++
			} else {
				out = append(out, run{b: part.plainBatch, from: i, n: 1})
			}
		}
	}
	return out
}

// ranks numbers the ones of a set of bits.
type ranks struct {
	words  []uint64
	before []int64 // ones before each word
}

func newRanks(words []uint64) *ranks {
	r := &ranks{words: words, before: make([]int64, len(words))}
	n := int64(0)
	for i, w := range words {
		r.before[i] = n
		n += int64(bits.OnesCount64(w))
	}
	return r
}

// of is the number of ones before bit k.
func (r *ranks) of(k int64) int64 {
	return r.before[k>>6] + int64(bits.OnesCount64(r.words[k>>6]&(1<<(k&63)-1)))
}
