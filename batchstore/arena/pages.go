package arena

// pageSet knows which pages of the reserve are free, and which pages are taken to be backed by memory. It does nothing to
// the memory itself and is guarded by the Arena's mutex.
type pageSet struct {
	unit int // pages of a huge page, or 1: memory is backed and given back by that much at once

	tree    *run         // every free run
	byStart map[int]*run // the same, by first page
	byEnd   map[int]*run // the same, by the page after the last

	backed bitmap // pages that were handed out since they were last given back, free or not
	warm   int    // backed pages in free runs
	random uint32
}

// newPageSet returns a set of total free pages, none of them backed; total is a multiple of unit.
func newPageSet(total, unit int) *pageSet {
	p := &pageSet{unit: unit, byStart: map[int]*run{}, byEnd: map[int]*run{}, random: 0x9E3779B9}
	p.insert(&run{start: 0, pages: total})
	return p
}

// take removes n pages from a free run and returns the first of them; ok is false when no run is long enough.
func (p *pageSet) take(n int) (start int, ok bool) {
	r := bestFit(p.tree, n, true)
	if r == nil {
		r = bestFit(p.tree, n, false)
	}
	if r == nil {
		return 0, false
	}
	p.remove(r)

	// Blocks lie close together at the low end of a run unless its high end saves page faults.
	start = r.start
	if r.pages > n && r.warm > 0 && p.backed.count(r.end()-n, r.end()) > p.backed.count(r.start, r.start+n) {
		start = r.end() - n
	}
	rest := run{start: r.start, pages: r.pages - n, warm: r.warm + p.touch(start, n) - n}
	if start == r.start {
		rest.start += n
	}
	if rest.pages > 0 {
		*r = rest
		p.insert(r)
	}
	return start, true
}

// touch notes that the owner of n pages from start is going to write them, and returns how many pages that newly backs.
// The first touch of a unit that has no page yet brings in all of it. Such a unit is free as a whole, because live pages
// are backed, so the pages beside the n lie in the run they are taken from.
func (p *pageSet) touch(start, n int) (added int) {
	for _, page := range [...]int{start, start + n - 1} {
		if lo := page / p.unit * p.unit; p.backed.count(lo, lo+p.unit) == 0 {
			added += p.backed.set(lo, lo+p.unit)
		}
	}
	return added + p.backed.set(start, start+n)
}

// give makes n pages from start free, and joins them with the free runs on both sides.
func (p *pageSet) give(start, n int) { p.insert(p.join(start, n)) }

// free is give for pages that had an owner. A unit that becomes free as a whole counts as backed as a whole if any of it is: where
// a part had been given back, the kernel may have filled it up since (khugepaged), and what lies idle is not to be more than is
// counted.
func (p *pageSet) free(start, n int) {
	r := p.join(start, n)
	for _, page := range [...]int{start, start + n - 1} {
		if lo := page / p.unit * p.unit; lo >= r.start && lo+p.unit <= r.end() && p.backed.count(lo, lo+p.unit) > 0 {
			r.warm += p.backed.set(lo, lo+p.unit)
		}
	}
	p.insert(r)
}

// join returns the run of n pages from start and of the free runs on both sides, which are taken out.
func (p *pageSet) join(start, n int) *run {
	r := &run{start: start, pages: n, warm: p.backed.count(start, start+n)}
	if l := p.byEnd[start]; l != nil {
		p.remove(l)
		r.start = l.start
		r.pages += l.pages
		r.warm += l.warm
	}
	if h := p.byStart[start+n]; h != nil {
		p.remove(h)
		r.pages += h.pages
		r.warm += h.warm
	}
	return r
}

// carve takes out of a free run pages that are backed, about want of them or one unit more, so that they can be given
// back to the system; warm tells how many of the n pages are backed. With wholly, n is whole units; else it is
// single pages. The longest run gives first, and its high end, because take uses the low one. ok is false when there is
// nothing to carve.
func (p *pageSet) carve(want int, wholly bool) (start, n, warm int, ok bool) {
	r := longestWarm(p.tree, wholly)
	if r == nil {
		return 0, 0, 0, false
	}
	lo, hi, step := r.start, r.end(), 1
	if wholly {
		lo, hi = p.units(r)
		step = p.unit
	}
	end := (p.backed.last(lo, hi)/step + 1) * step
	start = end
	for start > lo && warm < want {
		c := p.backed.count(start-step, start)
		if c == 0 {
			break
		}
		warm += c
		start -= step
	}
	p.remove(r)
	if start > r.start {
		p.insert(&run{start: r.start, pages: start - r.start, warm: p.backed.count(r.start, start)})
	}
	if end < r.end() {
		p.insert(&run{start: end, pages: r.end() - end, warm: p.backed.count(end, r.end())})
	}
	return start, end - start, warm, true
}

// units returns the range of whole units in r; it is empty when lo >= hi.
func (p *pageSet) units(r *run) (lo, hi int) {
	return (r.start + p.unit - 1) / p.unit * p.unit, r.end() / p.unit * p.unit
}

// insert adds r, whose start, pages and warm are set.
func (p *pageSet) insert(r *run) {
	r.reclaimable = 0
	if lo, hi := p.units(r); lo < hi && r.warm > 0 {
		r.reclaimable = r.warm - p.backed.count(r.start, lo) - p.backed.count(hi, r.end())
	}
	// A xorshift generator: the treap wants priorities that no pattern of sizes follows, not unpredictable ones.
	p.random ^= p.random << 13
	p.random ^= p.random >> 17
	p.random ^= p.random << 5
	r.priority = p.random
	p.tree = insertRun(p.tree, r)
	p.byStart[r.start] = r
	p.byEnd[r.end()] = r
	p.warm += r.warm
}

// remove takes r out.
func (p *pageSet) remove(r *run) {
	p.tree = removeRun(p.tree, r)
	delete(p.byStart, r.start)
	delete(p.byEnd, r.end())
	p.warm -= r.warm
}
