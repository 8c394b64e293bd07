package arena

// trim gives warm memory above the limits back to the system. It is called with the mutex held and returns with it held,
// and lets go of it while the system works: the pages in question are in no free run then, so nobody can be
// given them. One goroutine trims at a time; others leave their excess to it.
func (a *Arena) trim() {
	if a.trimming {
		return
	}
	a.trimming = true
	a.trimTo(a.warmMost(), true)
	// A huge page that is given back in part is split, and the kernel may keep the part until memory is short. That is
	// still better than a store whose scattered holes all stay resident.
	a.trimTo(a.scatteredMost(), false)
	a.trimming = false
	a.trimmed.Broadcast()
}

// warmMost is how many pages may be warm now.
func (a *Arena) warmMost() int {
	if a.totalPages == 0 {
		return a.warmPages
	}
	return min(a.warmPages, max(a.totalPages-a.usedPages, a.warmPages/8))
}

// scatteredMost is how many pages may be warm now of which most lie in units that live blocks hold in part: more than the others,
// as giving them back is dear, but not so many that blocks and they exceed the total where they need not.
func (a *Arena) scatteredMost() int {
	most := a.warmMost()
	if a.totalPages == 0 {
		return 2 * most
	}
	return max(most, min(2*most, a.totalPages-a.usedPages))
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
