package arena

import "time"

// trim gives warm memory above what may be warm for a moment back to the system, and has the rest looked at later. It is called with
// the mutex held and returns with it held, and lets go of it while the system works: the pages in question are in no free
// run then, so nobody can be given them. One goroutine trims at a time; others leave their excess to it.
func (a *Arena) trim() {
	a.trimBelow(a.momentMost())
	a.settleLater()
}

func (a *Arena) trimBelow(most int) {
	if a.trimming {
		return
	}
	a.trimming = true
	a.trimTo(most, true)
	// A huge page that is given back in part is split, and the kernel may keep the part until memory is short. That is
	// still better than a store whose scattered holes all stay resident.
	a.trimTo(a.scatteredMost(most), false)
	a.trimming = false
	a.trimmed.Broadcast()
}

// left is what TotalBytes leaves for warm pages, at least an eighth of WarmBytes; without a bound, all there are.
func (a *Arena) left() int {
	if a.totalPages == 0 {
		return len(a.mem) / a.pageSize
	}
	return max(a.totalPages-a.usedPages, a.warmPages/8)
}

// warmMost is how many pages may be warm for ever.
func (a *Arena) warmMost() int { return min(a.warmPages, a.left()) }

// momentMost is how many pages may be warm now.
func (a *Arena) momentMost() int {
	if a.warmTime == 0 {
		return a.warmMost()
	}
	return a.left()
}

// scatteredMost is how many pages may be warm of which most lie in units that live blocks hold in part, where so many others may be: more,
// as giving them back is dear, but not so many that blocks and they exceed the total where they need not.
func (a *Arena) scatteredMost(most int) int {
	if a.totalPages == 0 {
		return 2 * most
	}
	return max(most, min(2*most, a.totalPages-a.usedPages))
}

// settleLater has what is warm beyond WarmBytes looked at in a while. A put that replaces a dataset takes as much as the one before it
// gave back: page faults and clearing were a third of its CPU.
func (a *Arena) settleLater() {
	if a.warmTime == 0 || a.settling || a.closed || a.pages.warm <= a.warmMost() {
		return
	}
	a.settling, a.idle = true, a.pages.warm
	time.AfterFunc(a.warmTime, a.settle)
}

// settle gives back, beyond WarmBytes, what has been warm without a use since it was called for.
func (a *Arena) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settling = false
	if a.closed {
		return
	}
	before := a.pages.warm
	a.trimBelow(max(a.warmMost(), before-a.idle))
	if a.idle < before || a.pages.warm < before {
		a.settleLater()
	} // else what is left are holes in huge pages: the next Free looks again
}

// trimTo brings the warm pages below limit once they are above it. It goes an eighth lower, so that the next blocks to be
// freed do not cost a system call each.
func (a *Arena) trimTo(limit int, wholly bool) {
	if a.pages.warm <= limit {
		return
	}
	for target := limit - limit/8; a.pages.warm > target; {
		start, n, warm, ok := a.pages.carve(a.pages.warm-target, wholly)
		if !ok {
			return
		}
		a.leaving += warm
		a.mu.Unlock()
		err := a.release(a.mem[start*a.pageSize : (start+n)*a.pageSize])
		a.mu.Lock()
		a.leaving -= warm
		if err == nil {
			a.pages.backed.clear(start, start+n)
		}
		a.pages.give(start, n)
		a.trimmed.Broadcast()
		if err != nil {
			// The pages are still backed, and counted as such; the next Free tries again.
			return
		}
	}
}
