package batchstore

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// tier is the order in which bodies leave memory. It resists scans: one pass over a table, however large, moves nothing
// of what is read again and again.
//
// A body that comes is cold. When it has been read hotReads times it is hot, as long as the hot ones take no more than
// their share; what is over that becomes cold again, the least recently read first. Cold ones leave first, in the order
// of their last use. A body that lies in a file comes back when it is read for the second time within a while: that is
// as long as files were read for no more bytes than the hot share.
//
// (The shape is that of 2Q: Johnson and Shasha, VLDB 1994.)
type tier struct {
	most int64 // bytes of hot bodies, and of those that were read of files lately

	mu              sync.Mutex // innermost: nothing is locked under it
	cold, hot, seen lane
}

// hotReads is how many reads make a body hot. With one, a scan over what has just been put would make all of it hot.
const hotReads = 2

// lane is batches in the order of their use, and the sum of their sizes.
type lane struct {
	order *simplelru.LRU[*Batch, int] // with the reads since the batch came
	bytes int64
}

func newTier(most int64) *tier {
	t := &tier{most: most}
	for _, l := range []*lane{&t.cold, &t.hot, &t.seen} {
		l.order, _ = simplelru.NewLRU[*Batch, int](math.MaxInt, nil) // fails for no such size
	}
	return t
}

func (l *lane) add(b *Batch, reads int) {
	l.remove(b)
	l.order.Add(b, reads)
	l.bytes += b.size
}

func (l *lane) remove(b *Batch) bool {
	there := l.order.Remove(b)
	if there {
		l.bytes -= b.size
	}
	return there
}

// came adds a body that is in memory. Those without bytes, and those that are pinned, have no place in the order.
func (t *tier) came(b *Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.remove(b)
	t.hot.remove(b)
	if b.size > 0 && !b.pinned.Load() {
		t.cold.add(b, 0)
	}
}

// touch tells of a read of a body that is in memory.
func (t *tier) touch(b *Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, hot := t.hot.order.Get(b); hot {
		return
	}
	reads, there := t.cold.order.Get(b)
	if !there {
		return
	}
	reads++
	if reads < hotReads {
		t.cold.add(b, reads)
		return
	}
	t.cold.remove(b)
	t.hot.add(b, reads)
	for t.hot.bytes > t.most {
		old, _, _ := t.hot.order.GetOldest()
		t.hot.remove(old)
		t.cold.add(old, 0)
		if old == b {
			return
		}
	}
}

// returns tells of a read of a file, and whether the body should come back into memory.
func (t *tier) returns(b *Batch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen.remove(b) || b.pinned.Load() {
		return true
	}
	t.seen.add(b, 0)
	for t.seen.bytes > t.most {
		old, _, _ := t.seen.order.GetOldest()
		t.seen.remove(old)
	}
	return false
}

// forget takes a batch out.
func (t *tier) forget(b *Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.cold.remove(b) || t.hot.remove(b)
	t.seen.remove(b)
}

// takeOldest takes out the body that should leave memory first, retained; nil: there is none, or unless holds for it.
func (t *tier) takeOldest(unless func(*Batch) bool) *Batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range []*lane{&t.cold, &t.hot} {
		for b, _, ok := l.order.GetOldest(); ok; b, _, ok = l.order.GetOldest() {
			if unless != nil && unless(b) {
				return nil
			}
			l.remove(b)
			if b.hold() {
				return b
			}
		}
	}
	return nil
}

// len is the number of bodies that could leave memory.
func (t *tier) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cold.order.Len() + t.hot.order.Len()
}
