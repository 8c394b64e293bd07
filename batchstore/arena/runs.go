package arena

// run is a maximal range of free pages, and a node of the treap that holds all of them.
//
// The treap is ordered by length, then address, so a lower bound is the best fit, the lowest address first. Two flags
// over each subtree let the same descent ask for "the best fit that has warm pages" and "the longest run that could give
// pages back", in O(log n), where a list per size class would have to be searched. Neighbours are found by two maps
// beside it (see pageSet), not by a second tree.
type run struct {
	start, pages int
	warm         int // pages of the run that are taken to be backed
	reclaimable  int // of these, the ones in units that lie wholly in the run

	priority           uint32
	left, right        *run
	anyWarm, anyWholly bool // some run of this subtree has warm > 0, reclaimable > 0
}

func (r *run) end() int { return r.start + r.pages }

// before is the order of the treap.
func (r *run) before(o *run) bool {
	if r.pages != o.pages {
		return r.pages < o.pages
	}
	return r.start < o.start
}

// refresh recomputes what r says of its subtree.
func (r *run) refresh() {
	r.anyWarm, r.anyWholly = r.warm > 0, r.reclaimable > 0
	for _, c := range [...]*run{r.left, r.right} {
		if c != nil {
			r.anyWarm = r.anyWarm || c.anyWarm
			r.anyWholly = r.anyWholly || c.anyWholly
		}
	}
}

// insertRun returns the treap t with r in it.
func insertRun(t, r *run) *run {
	if t == nil || r.priority > t.priority {
		r.left, r.right = splitRuns(t, r)
		r.refresh()
		return r
	}
	if r.before(t) {
		t.left = insertRun(t.left, r)
	} else {
		t.right = insertRun(t.right, r)
	}
	t.refresh()
	return t
}

// splitRuns cuts t into the runs before r and those after it.
func splitRuns(t, r *run) (lower, higher *run) {
	if t == nil {
		return nil, nil
	}
	if t.before(r) {
		t.right, higher = splitRuns(t.right, r)
		t.refresh()
		return t, higher
	}
	lower, t.left = splitRuns(t.left, r)
	t.refresh()
	return lower, t
}

// removeRun returns the treap t without r, which must be in it.
func removeRun(t, r *run) *run {
	if t == r {
		return mergeRuns(r.left, r.right)
	}
	if r.before(t) {
		t.left = removeRun(t.left, r)
	} else {
		t.right = removeRun(t.right, r)
	}
	t.refresh()
	return t
}

// mergeRuns joins two treaps, every run of a being before every run of b.
func mergeRuns(a, b *run) *run {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		a.right = mergeRuns(a.right, b)
		a.refresh()
		return a
	default:
		b.left = mergeRuns(a, b.left)
		b.refresh()
		return b
	}
}

// bestFit returns the shortest run of at least n pages, the lowest of equals; with warm, only a run that has warm pages.
func bestFit(t *run, n int, warm bool) *run {
	if t == nil || warm && !t.anyWarm {
		return nil
	}
	if t.pages >= n {
		if r := bestFit(t.left, n, warm); r != nil {
			return r
		}
		if !warm || t.warm > 0 {
			return t
		}
	}
	return bestFit(t.right, n, warm)
}

// longestWarm returns the longest run that has warm pages; with wholly, warm pages in units of its own.
func longestWarm(t *run, wholly bool) *run {
	for t != nil {
		if c := t.right; c != nil && (c.anyWholly || !wholly && c.anyWarm) {
			t = c
			continue
		}
		if t.reclaimable > 0 || !wholly && t.warm > 0 {
			return t
		}
		t = t.left
	}
	return nil
}
