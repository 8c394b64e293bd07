package batchstore

import (
	"sync"
	"sync/atomic"
	"time"
)

// spiller makes room in memory, on a goroutine of its own: bodies that lie in files leave, the coldest first, and those that
// do not are written to files before. It begins before the budget is full, so that a put seldom waits for a disk.
type spiller struct {
	wake   chan struct{} // of one place
	wanted atomic.Int64  // the largest body that should come back, bytes
	busy   atomic.Bool
	// dry: nothing is left that could leave, or writing fails. It holds until something new comes.
	dry atomic.Bool

	mu      sync.Mutex // innermost
	ingests map[*Ingest]struct{}
	failure error     // of the last write; nil: none, or space came since
	failed  time.Time // when
}

// spillRetry is how long after a write failed the next is tried.
const spillRetry = time.Second

// run serves requests until stop is closed.
func (f *files) run(stop <-chan struct{}) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-stop:
			return
		case <-f.spiller.wake:
		case <-retry.C:
		}
		f.spiller.busy.Store(true)
		f.spiller.dry.Store(false) // something may have come between the last look and when it was called so
		for f.tooMuch() && !f.spiller.dry.Load() {
			if !f.step() {
				f.spiller.dry.Store(true)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
		f.spiller.wanted.Store(0)
		f.spiller.busy.Store(false)
		if f.broken() != nil {
			retry.Reset(spillRetry)
		}
		f.store.budget.freed() // those that wait see whether there is room, or that there will be none
	}
}

// came tells of a body that is in memory, and may leave it.
func (f *files) came(b *Batch) {
	f.tier.came(b)
	f.notice()
}

// step makes some room, or tells that it cannot.
func (f *files) step() bool {
	b := f.takeOldest(nil)
	if b == nil {
		return f.closeLots() // a running put's batches, which are in no lot yet
	}
	defer b.Release()
	if !b.filed() {
		l := b.lot.Load()
		if l == nil || f.broken() != nil && !f.dueAgain() {
			f.tier.came(b)
			return false
		}
		if err := l.write(f.store.unclaimed(), false); err != nil {
			f.tier.came(b)
			f.breaks(err)
			return false
		}
		f.breaks(nil)
	}
	f.store.leave(b)
	return true
}

// tooMuch tells whether so much is charged that room should be made: for a request that waits, or ahead of one.
func (f *files) tooMuch() bool {
	b := f.store.budget
	if b.limit == 0 {
		return false
	}
	free := b.limit - b.spare - b.arena.Stats().InUse - b.facts.Load()
	return free < max(f.spiller.wanted.Load(), f.ahead()) || b.missing() > 0
}

// ahead is how much is kept free beside what received bodies always leave: room for one file's bodies.
func (f *files) ahead() int64 { return min(f.segment, f.store.budget.limit/8) }

// ask has room made for n bytes, soon.
func (f *files) ask(n int64) {
	if f == nil {
		return
	}
	for {
		old := f.spiller.wanted.Load()
		if old >= n || f.spiller.wanted.CompareAndSwap(old, n) {
			break
		}
	}
	select {
	case f.spiller.wake <- struct{}{}:
	default:
	}
}

// notice is told whenever there is something new that may leave memory.
func (f *files) notice() {
	f.spiller.dry.Store(false)
	if f.tooMuch() {
		f.ask(0)
	}
}

// makeRoom lets bodies leave memory that lie in files already, about as much as is missing, and tells whether any did. What
// else it takes is left to the spiller.
func (f *files) makeRoom(missing int64) bool {
	if f == nil {
		return false
	}
	left := false
	for missing > 0 {
		b := f.takeOldest(func(b *Batch) bool { return !b.filed() })
		if b == nil {
			break
		}
		missing -= f.store.leave(b)
		left = true
		b.Release()
	}
	if !left && !f.spiller.dry.Load() {
		f.ask(0)
	}
	return left
}

// mayFree tells whether room may still be made, so that a wait for it is not in vain.
func (f *files) mayFree() bool {
	if f == nil {
		return false
	}
	return f.spiller.busy.Load() || len(f.spiller.wake) > 0 || !f.spiller.dry.Load() && (f.len() > 0 || f.openLots())
}

// breaks notes how the last write went.
func (f *files) breaks(err error) {
	s := &f.spiller
	s.mu.Lock()
	first := err != nil && s.failure == nil
	s.failure, s.failed = err, time.Now()
	s.mu.Unlock()
	if first {
		f.problem(err)
	}
}

// broken gives the error of the last write, nil if it went well.
func (f *files) broken() error {
	if f == nil {
		return nil
	}
	f.spiller.mu.Lock()
	defer f.spiller.mu.Unlock()
	return f.spiller.failure
}

func (f *files) dueAgain() bool {
	f.spiller.mu.Lock()
	defer f.spiller.mu.Unlock()
	return time.Since(f.spiller.failed) >= spillRetry
}

// spaceCame tells that a file is gone: the next write is tried at once.
func (f *files) spaceCame() {
	f.spiller.mu.Lock()
	again := f.spiller.failure != nil
	f.spiller.failed = time.Time{}
	f.spiller.mu.Unlock()
	if again {
		f.notice()
	}
}

// running tells of a put's batches that are not in lots yet; it is called again when they all are.
func (f *files) running(in *Ingest, on bool) {
	if f == nil || !f.spill {
		return
	}
	f.spiller.mu.Lock()
	defer f.spiller.mu.Unlock()
	if on {
		f.spiller.ingests[in] = struct{}{}
	} else {
		delete(f.spiller.ingests, in)
	}
}

func (f *files) ingests() (out []*Ingest) {
	f.spiller.mu.Lock()
	defer f.spiller.mu.Unlock()
	for in := range f.spiller.ingests {
		out = append(out, in)
	}
	return out
}

// closeLots ends the lots that running puts are filling, so that what they have staged may be spilled; it tells whether there
// was any.
func (f *files) closeLots() bool {
	closed := false
	for _, in := range f.ingests() {
		closed = in.staging.close(true) || closed
	}
	return closed
}

// openLots tells whether closeLots would find any.
func (f *files) openLots() bool {
	for _, in := range f.ingests() {
		if in.staging.waiting() {
			return true
		}
	}
	return false
}
