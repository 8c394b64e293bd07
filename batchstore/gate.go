package batchstore

import (
	"context"
	"slices"

	"github.com/flightcache/flightcache/arrowipc"
)

// gate lets jobs begin when there is memory for them to end. Jobs that each held a part of what they need, and waited for the
// rest, would wait for each other for good: what they hold is given back only when they are done. So a job says before it
// begins what it may come to need, and begins when that is free beside what was promised to others, or when no other runs.
// They begin in the order in which they came.
type gate struct {
	promised int64   // bytes, to jobs that run
	jobs     int     // that run
	queue    []*pass // in order
}

// pass is a job that waits for its beginning.
type pass struct {
	need int64
	open chan struct{} // closed when it may begin
}

// begin waits until a job may begin that may need so many bytes more. The caller calls done with the same need when the job has
// ended. The error is the context's.
func (b *budget) begin(ctx context.Context, c *Claim, need int64) error {
	if b.limit == 0 || c == nil {
		return nil
	}
	p := &pass{need, make(chan struct{})}
	b.mu.Lock()
	b.gate.queue = append(b.gate.queue, p)
	b.admit()
	select {
	case <-p.open:
		b.mu.Unlock()
		return nil
	default:
	}
	c.gated = true
	b.wakeNext() // the puts may be stuck now
	b.mu.Unlock()
	var err error
	select {
	case <-p.open:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.ctx.Done():
		err = context.Cause(c.ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.gated = false
	if err == nil {
		return nil
	}
	select {
	case <-p.open: // both came
		b.leaveGate(need)
	default:
		b.gate.queue = slices.DeleteFunc(b.gate.queue, func(x *pass) bool { return x == p })
		b.admit()
	}
	return err
}

// done tells that a job has ended.
func (b *budget) done(c *Claim, need int64) {
	if b.limit == 0 || c == nil {
		return
	}
	b.mu.Lock()
	b.leaveGate(need)
	b.wakeNext()
	b.mu.Unlock()
}

// leaveGate ends a promise. The mutex is held.
func (b *budget) leaveGate(need int64) {
	b.gate.promised -= need
	b.gate.jobs--
	b.admit()
}

// admit lets those begin that may. The mutex is held.
func (b *budget) admit() {
	g := &b.gate
	for len(g.queue) > 0 {
		p := g.queue[0]
		free := b.limit - b.arena.Stats().InUse - b.facts.Load()
		if g.jobs > 0 && g.promised+p.need > free {
			return
		}
		g.promised += p.need
		g.jobs++
		close(p.open)
		g.queue = g.queue[1:]
	}
}

// reserved is what received bodies leave free: always something for reads, and while jobs wait for their beginning, what
// the next of them needs beside those that run.
func (b *budget) reserved() int64 {
	if len(b.gate.queue) == 0 {
		return b.spare
	}
	return max(b.spare, b.gate.promised+b.gate.queue[0].need)
}

// need is about the most that a group's job holds at one time beside its sources: what they decode to if they came
// compressed, one batch while it is written, and all batches.
func (in *Ingest) need(sources []*arrival) (n int64) {
	total := int64(0)
	for _, s := range sources {
		total += s.decoded
		if s.header.Compression != arrowipc.Uncompressed {
			n += s.decoded
		}
	}
	return n + total + min(total, in.store.opts.MaxBatchBytes)
}
