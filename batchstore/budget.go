package batchstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flightcache/flightcache/batchstore/arena"
)

// class is the purpose of a request for memory. Requests that wait are served in order of class, then of arrival: work
// ends in less memory than it began with, and reads end by themselves. Of work, whatever fits is served at once: a job that
// wants a little more to end must not wait behind one that wants much. To join stored batches is the least urgent: it is
// given up where others wait, and drops nothing.
type class int

const (
	forWork    class = iota // encoding what a put has received
	forRead                 // decoding for a reader
	forReceive              // a received body
	forJoin                 // joining what is stored: it can be done at any other time
)

// isPut tells whether a put asks, for which datasets may go and puts that came later may fail.
func (c class) isPut() bool { return c == forWork || c == forReceive }

// budget bounds the charged bytes, and lets requests wait for room.
//
// Received bodies leave a part of the budget free, so that the work on them, and reads, nearly always find room: a body
// that cannot be encoded is never let go of.
//
// Puts that wait for each other do not wait for good. Where nothing is left that could free memory (every block is held by
// puts that wait), the youngest put fails at once. Otherwise a request fails when it has waited its time, unless younger
// puts that wait too hold what it needs: then these fail, youngest first, and it waits on.
type budget struct {
	limit int64 // 0 for none
	spare int64 // what received bodies leave free
	wait  time.Duration

	arena *arena.Arena
	files *files       // nil for none
	facts atomic.Int64 // bytes of facts of live batches
	// Blocks of all puts and of all reads, of those that have ended too.
	staged, lent arena.Account

	held atomic.Pointer[Datasets]

	refuse func(lender) bool // nil, unless a test has requests fail

	waiting atomic.Int64 // length of queue, for those who free memory
	mu      sync.Mutex   // guards what follows, and that limit holds for blocks and facts together; before the arena's
	queue   []*waiter    // in the order of service
	gate    gate
	puts    map[*Claim]struct{}
	age     uint64 // of the newest claim
}

// waiter is a request in the queue.
type waiter struct {
	lender
	want want
	wake chan struct{} // of one place: look again
}

// Datasets is what a budget asks of those who hold batches. Its methods are called with no lock held.
type Datasets interface {
	// Evict lets go of datasets that hold about n stored bytes, and tells whether it let go of any.
	Evict(n int64) bool
	// Held gives the stored bytes of datasets that may not be evicted, and of those that are gone but still being read.
	Held() (pinned, leaving int64)
}

// maxSpare bounds what received bodies leave free for each worker: a batch decoded, and encoded.
const maxSpare = 20 << 20

func newBudget(o Options, a *arena.Arena) *budget {
	b := &budget{
		limit: o.Memory, spare: min(o.Memory/8, int64(o.Workers)*maxSpare), wait: o.PutWait, arena: a, puts: map[*Claim]struct{}{},
	}
	a.OnFree(b.freed)
	return b
}

// freed has waiters look again. It is called with no lock held.
func (b *budget) freed() {
	if b.waiting.Load() > 0 {
		b.mu.Lock()
		b.wakeNext()
		b.mu.Unlock()
	}
}

// wakeNext wakes the first waiter, and all of those for work.
func (b *budget) wakeNext() {
	for i, w := range b.queue {
		if i > 0 && w.class != forWork {
			return
		}
		w.look()
	}
}

// look wakes the waiter.
func (w *waiter) look() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been woken and has not looked yet
	}
}

// short tells whether memory is short: somebody waits for some, or less than a quarter of it is free. That is more than what
// received bodies leave free and the spiller keeps free together.
func (b *budget) short() bool {
	return b.limit > 0 && (b.waiting.Load() > 0 || b.arena.Stats().InUse+b.facts.Load() > b.limit-b.limit/4)
}

// most is the bound of charged bytes for a class at best.
func (b *budget) most(c class) int64 {
	if c == forReceive {
		return b.limit - b.spare
	}
	return b.limit
}

// mostNow is the bound of charged bytes for a class. The mutex is held.
func (b *budget) mostNow(c class) int64 {
	if c == forReceive {
		return b.limit - b.reserved()
	}
	return b.limit
}

// want is what a request asks for: a block of n bytes, or to count n bytes of facts.
type want struct {
	n     int64
	facts bool
}

// attempt serves a request or tells how many bytes are missing. The caller holds the mutex.
func (b *budget) attempt(m lender, w want) (block arena.Block, missing int64, err error) {
	most := b.mostNow(m.class) - b.facts.Load()
	if w.facts {
		if missing = b.arena.Stats().InUse + w.n - most; missing > 0 {
			return arena.Block{}, missing, nil
		}
		b.facts.Add(w.n)
		return arena.Block{}, 0, nil
	}
	block, err = b.arena.AllocWithin(int(w.n), most, m.account())
	if full, ok := errors.AsType[arena.FullError](err); ok {
		return arena.Block{}, full.Over, nil
	}
	return block, 0, err
}

// take serves a request, waiting where there is no room.
func (b *budget) take(m lender, w want) (arena.Block, error) {
	if b.refuse != nil && b.refuse(m) {
		return arena.Block{}, b.full(w, "")
	}
	if b.limit == 0 {
		if w.facts {
			b.facts.Add(w.n)
			return arena.Block{}, nil
		}
		return b.arena.AllocWithin(int(w.n), math.MaxInt64, m.account())
	}
	b.mu.Lock()
	if m.class == forWork || len(b.queue) == 0 || b.queue[0].class > m.class {
		if block, missing, err := b.attempt(m, w); err != nil || missing <= 0 {
			b.mu.Unlock()
			return block, err
		}
	}
	b.mu.Unlock()
	if m.claim == nil || m.class == forJoin && b.waiting.Load() > 0 {
		return arena.Block{}, b.full(w, "")
	}
	if w.n > b.most(m.class) {
		return arena.Block{}, b.full(w, adviceTooLarge)
	}
	return b.queued(m, w)
}

// queued waits for its turn and for room.
func (b *budget) queued(m lender, want want) (arena.Block, error) {
	w := &waiter{lender: m, want: want, wake: make(chan struct{}, 1)}
	patience := b.wait
	if !m.class.isPut() {
		patience = min(patience, readWait)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	b.mu.Lock()
	b.enter(w)
	defer b.mu.Unlock()
	defer b.leave(w)
	for {
		missing := int64(0)
		if m.class == forJoin && b.queue[0] != w {
			return arena.Block{}, b.fullUnlocked(want, "") // others need it more
		}
		if b.queue[0] == w || w.class == forWork {
			var block arena.Block
			var err error
			if block, missing, err = b.attempt(m, want); err != nil || missing <= 0 {
				return block, err
			}
			mayFree := b.files.mayFree()
			if !mayFree && m.claim.idle() && want.n+m.claim.account.Bytes() > b.most(m.class) {
				return arena.Block{}, b.fullUnlocked(want, adviceAlone) // what it has, it keeps: it can never fit
			}
			if !mayFree && b.stuck() {
				if victim := b.youngest(); victim == nil || victim == m.claim {
					return arena.Block{}, b.fullUnlocked(want, adviceAlone)
				} else {
					b.failPut(victim)
				}
			}
		}
		b.mu.Unlock()
		if missing > 0 && b.evict(m.class, missing) {
			b.mu.Lock()
			continue
		}
		expired := false
		select {
		case <-w.wake:
		case <-m.claim.ctx.Done():
			b.mu.Lock()
			return arena.Block{}, context.Cause(m.claim.ctx)
		case <-timer.C:
			expired = true
		}
		b.mu.Lock()
		if !expired {
			continue
		}
		if !m.class.isPut() || !b.failYounger(m, want) {
			return arena.Block{}, b.fullUnlocked(want, adviceWaited)
		}
		timer.Reset(patience)
	}
}

// readWait bounds how long a read waits: its client has a connection that is silent meanwhile. So does it how long joining
// waits, which holds memory.
const readWait = 2 * time.Second

// enter puts a waiter behind those of its class.
func (b *budget) enter(w *waiter) {
	i := len(b.queue)
	for i > 0 && b.queue[i-1].class > w.class {
		i--
	}
	b.queue = slices.Insert(b.queue, i, w)
	b.waiting.Add(1)
	w.claim.counts(w.job, 1)
	b.wakeNext() // the puts may be stuck now
	if last := b.queue[len(b.queue)-1]; last.class == forJoin {
		last.look() // and gives up
	}
}

func (b *budget) leave(w *waiter) {
	b.queue = slices.DeleteFunc(b.queue, func(x *waiter) bool { return x == w })
	b.waiting.Add(-1)
	w.claim.counts(w.job, -1)
	b.wakeNext()
}

// stuck reports whether every block is held by puts that wait, with nothing under way that could free one. Such a state
// lasts: who finds it after an attempt failed knows that no room will come.
func (b *budget) stuck() bool {
	left := b.arena.Stats().Blocks // before the puts' own: what is freed meanwhile must not be missed
	for c := range b.puts {
		if n := c.account.Blocks(); n > 0 {
			if !c.idle() {
				return false
			}
			left -= n
		}
	}
	return left <= 0
}

// youngest is the youngest put that holds memory; nil for none.
func (b *budget) youngest() (y *Claim) {
	for c := range b.puts {
		if c.account.Blocks() > 0 && (y == nil || c.age > y.age) {
			y = c
		}
	}
	return y
}

// failYounger fails younger puts that wait and together hold what a request needs, or reports that there are none.
func (b *budget) failYounger(m lender, w want) bool {
	var younger []*Claim
	held := int64(0)
	for c := range b.puts {
		if c.age > m.claim.age && c.waits() && c.account.Bytes() > 0 {
			younger = append(younger, c)
			held += c.account.Bytes()
		}
	}
	missing := b.arena.Stats().InUse + b.facts.Load() + w.n - b.most(m.class)
	if held == 0 || held < missing {
		return false
	}
	slices.SortFunc(younger, func(x, y *Claim) int { return int(y.age) - int(x.age) })
	for _, c := range younger {
		b.failPut(c)
		if missing -= c.account.Bytes(); missing <= 0 {
			break
		}
	}
	return true
}

// failPut ends a put's waiting, and with it the put.
func (b *budget) failPut(c *Claim) {
	c.cancel(b.fullUnlocked(want{}, adviceYoungest))
}

// fullUnlocked is full for a caller that holds the mutex.
func (b *budget) fullUnlocked(w want, advice string) error {
	b.mu.Unlock()
	defer b.mu.Lock()
	return b.full(w, advice)
}

// missing is how much the first request in the queue lacks, 0 for nothing. The mutex must not be held.
func (b *budget) missing() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return 0
	}
	w := b.queue[0]
	return max(b.arena.Stats().InUse+b.facts.Load()+w.want.n-b.mostNow(w.class), 0)
}

// evict makes room for a request that lacks so many bytes, or has it made, and tells whether there is more now. Only for
// puts are datasets dropped.
func (b *budget) evict(c class, missing int64) bool {
	if b.files.makeRoom(missing) {
		return true
	}
	d := b.held.Load()
	return c.isPut() && d != nil && (*d).Evict(missing)
}
