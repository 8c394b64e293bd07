package arena

// Stats is what an [Arena] holds at one moment. All but Blocks are bytes.
type Stats struct {
	Allocated int64 // the sizes asked for, after Shrink, of the live blocks
	InUse     int64 // pages and slabs that hold live blocks
	Warm      int64 // free pages that are still backed by memory, or may be
	Reserved  int64 // addresses reserved
	Blocks    int64 // live blocks
}

// Stats returns the current figures. They belong together: no allocation falls between two of them.
func (a *Arena) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Stats{
		Allocated: a.allocated,
		InUse:     int64(a.usedPages) * int64(a.pageSize),
		Warm:      int64(a.pages.warm+a.leaving) * int64(a.pageSize),
		Reserved:  int64(len(a.mem)),
		Blocks:    a.blocks,
	}
}
