package arena

import (
	"fmt"
	"sync/atomic"
)

// Account counts live blocks that were allocated for one purpose, and what they take. The zero Account is empty and ready
// to use; it must not be copied. It may be read at any time, and may go before its blocks do.
type Account struct {
	// Parent counts the same blocks once more; nil for none. It is set before the first block and has no parent itself.
	Parent *Account

	bytes, blocks atomic.Int64
}

// Bytes is what the account's blocks take, in bytes: whole pages, or slots of slabs.
func (c *Account) Bytes() int64 { return c.bytes.Load() }

// Blocks is the number of the account's live blocks.
func (c *Account) Blocks() int64 { return c.blocks.Load() }

func (c *Account) add(bytes, blocks int64) {
	for ; c != nil; c = c.Parent {
		c.bytes.Add(bytes)
		c.blocks.Add(blocks)
	}
}

// AllocWithin is Alloc, except that it refuses to let [Stats] InUse grow over most bytes, and that the block is counted
// in an account (nil for none) until it is freed. The error then is a [FullError].
func (a *Arena) AllocWithin(n int, most int64, account *Account) (Block, error) {
	if n < 0 {
		return Block{}, fmt.Errorf("arena: allocate %d bytes: %w: it is negative", n, ErrSize)
	}
	h := &handle{arena: a, asked: n, account: account}
	a.mu.Lock()
	err := a.fits(n, most)
	if err == nil {
		err = a.place(h)
	}
	if err == nil {
		account.add(int64(h.size), 1)
		if a.totalPages > 0 && a.usedPages+a.pages.warm > a.totalPages {
			a.trim() // no warm run was long enough: what is warm for a moment makes way
		}
	}
	a.mu.Unlock()
	if err != nil {
		return Block{}, err
	}
	if a.poison {
		checkPoison(h.memory(), h.offset)
	}
	return Block{B: h.memory()[:n], handle: h}, nil
}

// fits tells whether a block of n bytes leaves InUse within most bytes. A small one takes a new slab only where none of
// its size has room.
func (a *Arena) fits(n int, most int64) error {
	size := int64(n)
	if n <= smallMax {
		class, _ := classOf(n)
		if len(a.slabs[class]) > 0 {
			return nil
		}
		size = slabSize
	}
	page := int64(a.pageSize)
	if over := int64(a.usedPages)*page + (size+page-1)/page*page - most; over > 0 {
		return FullError{Over: over}
	}
	return nil
}

// FullError says that an allocation would have let the arena grow over the bound that it was given.
type FullError struct {
	Over int64 // by how many bytes
}

// Error says it in words.
func (e FullError) Error() string { return fmt.Sprintf("arena: %d bytes over the bound", e.Over) }

// Move counts the block in another account from now on, nil for none. The zero Block has nothing to move.
func (b *Block) Move(to *Account) {
	if b.handle == nil {
		return
	}
	h := b.live("move")
	h.arena.mu.Lock()
	defer h.arena.mu.Unlock()
	h.account.add(-int64(h.size), -1)
	h.account = to
	h.account.add(int64(h.size), 1)
}

// OnFree has f called whenever memory has been given back, by whoever did so and with no lock held. It is called before
// the first Alloc, once.
func (a *Arena) OnFree(f func()) { a.onFree = f }
