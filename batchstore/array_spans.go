package batchstore

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// extent is what a first pass over references into a child, or into a data buffer, finds out: the range that they
// span, and the sum of their lengths.
type extent struct {
	lo, hi int64
	sum    uint64 // at most 1<<63
}

// add counts in a reference to [lo, hi), which is not empty.
func (e *extent) add(lo, hi int64) {
	if e.sum == 0 || lo < e.lo {
		e.lo = lo
	}
	e.hi = max(e.hi, hi)
	e.sum = min(e.sum+uint64(hi-lo), 1<<63)
}

// dense reports whether the range may be kept as it lies: at least half of it seems to be referred to. Half is what a
// hole may cost at most; below that the references are gathered.
func (e *extent) dense() bool {
	span := uint64(e.hi - e.lo)
	return e.sum >= span || e.sum >= span-e.sum
}

// span is a range of a source's child or data buffer that is kept, and where it goes.
type span struct {
	lo, hi int64
	at     int64 // position of lo in the result
	buf    int64 // data buffer of the result, of views
}

// merge sorts ranges and unites those that overlap or touch, so that nothing is kept twice.
func merge(s []span) []span {
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	out := s[:0]
	for _, x := range s {
		if last := len(out) - 1; last >= 0 && x.lo <= out[last].hi {
			out[last].hi = max(out[last].hi, x.hi)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// find gives the span that holds position x. There is one for every position that was referred to.
func find(s []span, x int64) *span {
	if len(s) == 1 {
		return &s[0]
	}
	return &s[sort.Search(len(s), func(i int) bool { return s[i].lo > x })-1]
}

// grouped cuts pieces into groups, each of one source and with rows in ascending order. What a group refers to is kept
// once. Pieces that go back in their source, or to an earlier source, begin a new group, so that references which
// ascend in every source ascend in the result.
func grouped(pieces []piece) [][]piece {
	var groups [][]piece
	first := 0
	for i := 1; i <= len(pieces); i++ {
		if i == len(pieces) || pieces[i].s != pieces[i-1].s || pieces[i].from < pieces[i-1].from+pieces[i-1].n {
			groups = append(groups, pieces[first:i])
			first = i
		}
	}
	return groups
}

// placer gives spans their places in consecutive items of a result.
type placer struct {
	limit int64 // of items
	used  int64
}

// place appends the spans; false says that the limit does not allow it.
func (p *placer) place(spans []span) bool {
	for i := range spans {
		s := &spans[i]
		if s.hi-s.lo > p.limit-p.used {
			return false
		}
		s.at = p.used
		p.used += s.hi - s.lo
	}
	return true
}

// bufferPlacer gives spans of bytes their places in as few data buffers as views can point into.
type bufferPlacer struct {
	sizes []int64
}

// place appends the spans. A span that does not fit beside others gets a buffer of its own; within one, views could
// point everywhere before already.
func (p *bufferPlacer) place(spans []span) {
	for i := range spans {
		s := &spans[i]
		n := s.hi - s.lo
		last := len(p.sizes) - 1
		if last < 0 || n > math.MaxInt32-p.sizes[last] {
			p.sizes = append(p.sizes, 0)
			last++
		}
		s.buf, s.at = int64(last), p.sizes[last]
		p.sizes[last] += n
	}
}
