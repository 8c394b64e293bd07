package batchstore

import (
	"context"
	"sync/atomic"

	"github.com/flightcache/flightcache/batchstore/arena"
)

// Claim is the memory of one put, of one read, or of joining batches. It ends with [Claim.End]; blocks may outlive it, and stay counted in what
// [Stats] tells of puts or reads until they are freed.
type Claim struct {
	budget  *budget
	ctx     context.Context
	cancel  context.CancelCauseFunc
	account arena.Account
	class   class  // of the caller's own requests
	age     uint64 // the larger, the younger

	running atomic.Int64 // jobs that were handed to workers and are not done
	joining atomic.Bool  // the put's goroutine waits for its jobs
	// Waiting requests, of the put's goroutine and of its jobs; guarded by the budget's mutex.
	waitingSelf, waitingJobs int64
	gated                    bool // a job of it waits for its beginning; guarded likewise
}

// PutClaim begins the claim of a put. Its requests wait until ctx is done, at most for Options.PutWait.
func (s *Store) PutClaim(ctx context.Context) *Claim {
	c := s.budget.claim(ctx, forReceive, &s.budget.staged)
	s.budget.mu.Lock()
	s.budget.puts[c] = struct{}{}
	s.budget.mu.Unlock()
	return c
}

// ReadClaim begins the claim of a read, whose requests wait for a short time only.
func (s *Store) ReadClaim(ctx context.Context) *Claim {
	return s.budget.claim(ctx, forRead, &s.budget.lent)
}

// JoinClaim begins the claim of a [Joiner], whose requests wait for a short time only, and not at all where others wait.
func (s *Store) JoinClaim(ctx context.Context) *Claim {
	return s.budget.claim(ctx, forJoin, nil)
}

func (b *budget) claim(ctx context.Context, k class, parent *arena.Account) *Claim {
	c := &Claim{budget: b, class: k}
	c.account.Parent = parent
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	b.mu.Lock()
	b.age++
	c.age = b.age
	b.mu.Unlock()
	return c
}

// Alloc gives n bytes, whose contents are not cleared; the caller frees them with [Free]. No bytes are the zero Block.
// Where the budget has no room it waits. Errors are ErrMemory, or the cause of the claim's context.
func (c *Claim) Alloc(n int) (arena.Block, error) { return c.memory(c.class, false).alloc(int64(n)) }

// Lend is Alloc of memory that goes when its last reference does. The caller owns the one there is.
func (c *Claim) Lend(n int) ([]byte, Owner, error) {
	block, err := c.Alloc(n)
	if err != nil {
		return nil, nil, err
	}
	return block.B, newResident(block), nil
}

// Bytes is what the claim's blocks take, in bytes. It may be called at any time, by any goroutine.
func (c *Claim) Bytes() int64 { return c.account.Bytes() }

// Wait calls f, which waits for what other puts have to give back first, though it is not of the store's memory. The budget
// takes the put for one that waits for memory meanwhile, and ends f's context with the reason if the put has to fail for
// others.
func (c *Claim) Wait(f func(context.Context) error) error {
	b := c.budget
	b.mu.Lock()
	c.counts(false, 1)
	b.wakeNext() // the puts may be stuck now
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		c.counts(false, -1)
		b.mu.Unlock()
	}()
	return f(c.ctx)
}

// End ends the claim; a request that waits fails. It may be called more than once.
func (c *Claim) End() {
	c.cancel(context.Canceled)
	c.budget.mu.Lock()
	delete(c.budget.puts, c)
	c.budget.mu.Unlock()
	c.budget.freed()
}

// memory is the claim's memory for a purpose. A job is work on a worker, not on the claim's goroutine.
func (c *Claim) memory(k class, job bool) lender { return lender{c.budget, c, k, job} }

func (c *Claim) counts(job bool, n int64) {
	if job {
		c.waitingJobs += n
	} else {
		c.waitingSelf += n
	}
}

// waits reports whether a request waits. The caller holds the budget's mutex.
func (c *Claim) waits() bool { return c.gated || c.waitingSelf+c.waitingJobs > 0 }

// idle reports whether nothing of the put goes on: it waits for memory, and so do all of its jobs. The caller holds the
// budget's mutex.
func (c *Claim) idle() bool {
	return c.waits() && (c.gated || c.waitingSelf > 0 || c.joining.Load()) && c.running.Load() == c.waitingJobs
}

// lender is where blocks come from: the store's, for a claim (nil for none, which never waits) and a purpose.
type lender struct {
	budget *budget
	claim  *Claim
	class  class
	job    bool
}

func (m lender) account() *arena.Account {
	if m.claim == nil {
		return nil
	}
	return &m.claim.account
}

// alloc gives n bytes, which the caller frees.
func (m lender) alloc(n int64) (arena.Block, error) {
	if n == 0 {
		return arena.Block{}, nil
	}
	return m.budget.take(m, want{n: n})
}

// count counts n bytes of facts, which the caller takes off the budget's facts again.
func (m lender) count(n int64) error {
	_, err := m.budget.take(m, want{n: n, facts: true})
	return err
}
