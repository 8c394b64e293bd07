package arena

import (
	"fmt"
	"sync/atomic"
)

// Block is memory of an [Arena]. The zero Block has no memory and must not be freed. Copies of a Block mean the same
// memory, and only one of them may be freed.
type Block struct {
	// B is the memory: its length is what was asked for, its capacity what the block really has. It may be resliced;
	// Free and Shrink do not look at it.
	B []byte

	handle *handle
}

// handle is what the arena knows of one block. It lies on Go's heap, one small object for each block, so that a block that
// is freed a second time is told from the one that has its memory by then.
type handle struct {
	arena  *Arena
	slab   *slab // nil: a run of pages
	offset int   // in the arena, bytes
	size   int   // bytes: the slot, or whole pages
	asked  int
	freed  atomic.Bool

	account *Account // guarded by the Arena's mutex; nil for none
}

// memory returns all bytes of the block.
func (h *handle) memory() []byte {
	return h.arena.mem[h.offset : h.offset+h.size : h.offset+h.size]
}

// Free gives the block back and clears b. Nobody may use the memory afterwards. A block that is freed twice, through
// whichever copy, panics: its memory may belong to somebody else already.
func (b *Block) Free() {
	h := b.live("free")
	if !h.freed.CompareAndSwap(false, true) {
		panic(twice("free", h))
	}
	*b = Block{}
	a := h.arena
	if a.poison {
		poison(h.memory())
	}
	defer a.onFree()
	a.mu.Lock()
	defer a.mu.Unlock()
	h.account.add(-int64(h.size), -1)
	a.allocated -= int64(h.asked)
	a.blocks--
	if h.slab == nil {
		a.givePages(h.offset/a.pageSize, h.size/a.pageSize)
		return
	}
	s := h.slab
	wasFull := s.full()
	s.give(h.offset)
	switch {
	case s.live == 0:
		if !wasFull {
			a.slabs[s.class].drop(s)
		}
		a.givePages(s.start/a.pageSize, a.pagesFor(slabSize))
	case wasFull:
		a.slabs[s.class].add(s)
	}
}

// Shrink cuts the block to its first n bytes, 0 <= n <= its size, and gives the pages behind them back. B becomes the n
// bytes. A block of at most 16 KiB keeps its memory, and a larger one keeps at least a page. A size out of range, and a
// block that was freed, panic.
//
// It is meant for estimates that are about right. Where a block of several times the size is asked for and cut, over and
// over while others are freed, the holes between blocks are too short for the next estimate, more memory stays warm, and
// huge pages are split to give it back; allocate the exact size where it is known.
func (b *Block) Shrink(n int) {
	h := b.live("shrink")
	if n < 0 || n > h.asked {
		panic(fmt.Sprintf("arena: shrink a block of %d bytes to %d: a block cannot grow or be negative", h.asked, n))
	}
	a := h.arena
	keep := h.size
	if h.slab == nil {
		keep = max(1, a.pagesFor(n)) * a.pageSize
	}
	if a.poison {
		poison(h.memory()[keep:])
	}
	defer a.onFree()
	a.mu.Lock()
	defer a.mu.Unlock()
	cut := h.size - keep
	h.account.add(-int64(cut), 0)
	a.allocated -= int64(h.asked - n)
	h.asked, h.size = n, keep
	b.B = h.memory()[:n]
	if cut > 0 {
		a.givePages((h.offset+keep)/a.pageSize, cut/a.pageSize)
	}
}

// live returns the handle of a block that has not been freed, and panics for another.
func (b *Block) live(what string) *handle {
	if b.handle == nil {
		panic("arena: " + what + " of a Block that has no memory: it was freed before, or never allocated")
	}
	if b.handle.freed.Load() {
		panic(twice(what, b.handle))
	}
	return b.handle
}

func twice(what string, h *handle) string {
	return fmt.Sprintf("arena: %s of a block that was freed before: %d bytes at offset %d", what, h.asked, h.offset)
}
