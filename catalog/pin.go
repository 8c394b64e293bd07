package catalog

// pinner is a batch whose store may move it out of memory, unless it is told not to.
type pinner interface {
	// SetPinned says whether the batch stays in memory. It does not block.
	SetPinned(pinned bool)
}

// pin tells the store of batches whether they stay in memory.
func pin(batches []Batch, pinned bool) {
	for _, b := range batches {
		if p, ok := b.(pinner); ok {
			p.SetPinned(pinned)
		}
	}
}

// unpin lets the batches of a generation that is its dataset's no more leave memory: readers and leases do not need them in it.
func (g *Generation) unpin() {
	if g.Pinned() {
		pin(g.Batches, false)
	}
}
