package arena

import "math/bits"

// bitmap is a set of page numbers that grows with the highest one set. A second level has a bit for each word that is
// not empty, so that a search skips 4,096 absent pages at a step.
type bitmap struct {
	words   []uint64
	summary []uint64
}

// mask returns the bits of word w that stand for pages of [lo, hi). The word must overlap the range.
func mask(w, lo, hi int) uint64 {
	m := ^uint64(0)
	if first := w * 64; lo > first {
		m &= ^uint64(0) << (lo - first)
	}
	if end := w*64 + 64; hi < end {
		m &= ^uint64(0) >> (end - hi)
	}
	return m
}

// count returns how many pages of [lo, hi) are in the set.
func (b *bitmap) count(lo, hi int) int {
	n := 0
	hi = min(hi, len(b.words)*64)
	for w := lo / 64; w*64 < hi; w++ {
		if b.words[w] != 0 {
			n += bits.OnesCount64(b.words[w] & mask(w, lo, hi))
		}
	}
	return n
}

// set puts [lo, hi) into the set and returns how many pages were not in it before.
func (b *bitmap) set(lo, hi int) int {
	if hi <= lo {
		return 0
	}
	if need := (hi + 63) / 64; need > len(b.words) {
		b.words = append(b.words, make([]uint64, need-len(b.words))...)
		if need := (len(b.words) + 63) / 64; need > len(b.summary) {
			b.summary = append(b.summary, make([]uint64, need-len(b.summary))...)
		}
	}
	added := 0
	for w := lo / 64; w*64 < hi; w++ {
		m := mask(w, lo, hi)
		added += bits.OnesCount64(m &^ b.words[w])
		b.words[w] |= m
		b.summary[w/64] |= 1 << (w % 64)
	}
	return added
}

// clear takes [lo, hi) out of the set.
func (b *bitmap) clear(lo, hi int) {
	hi = min(hi, len(b.words)*64)
	for w := lo / 64; w*64 < hi; w++ {
		b.words[w] &^= mask(w, lo, hi)
		if b.words[w] == 0 {
			b.summary[w/64] &^= 1 << (w % 64)
		}
	}
}

// last returns the highest page of [lo, hi) in the set, or -1.
func (b *bitmap) last(lo, hi int) int {
	hi = min(hi, len(b.words)*64)
	for hi > lo {
		w := (hi - 1) / 64
		s := b.summary[w/64] << (63 - w%64)
		if s == 0 {
			hi = w / 64 * 64 * 64
			continue
		}
		w -= bits.LeadingZeros64(s)
		hi = min(hi, w*64+64)
		if hi <= lo {
			break
		}
		if m := b.words[w] & mask(w, lo, hi); m != 0 {
			return w*64 + 63 - bits.LeadingZeros64(m)
		}
		hi = w * 64
	}
	return -1
}
