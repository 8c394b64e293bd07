package batchstore

import "context"

// memory is what the put's work takes. A job is work on a worker.
func (in *Ingest) memory(job bool) lender {
	if in.opts.Claim == nil {
		return in.store.unclaimed()
	}
	return in.opts.Claim.memory(forWork, job)
}

// reading is the memory of a read.
func (s *Store) reading(c *Claim) lender {
	if c == nil {
		return s.unclaimed()
	}
	return c.memory(forRead, false)
}

// count tells the claim of jobs that are handed out and done.
func (in *Ingest) count(n int64) {
	if c := in.opts.Claim; c != nil {
		c.running.Add(n)
		c.budget.freed()
	}
}

// join waits for all jobs, and lets the budget know that it does.
func (in *Ingest) join() {
	in.joins(in.running.Wait)
}

func (in *Ingest) joins(wait func()) {
	if c := in.opts.Claim; c != nil {
		c.joining.Store(true)
		defer c.joining.Store(false)
		c.budget.freed()
	}
	wait()
}

// place waits for a place among the groups that are on their way.
func (in *Ingest) place(ctx context.Context) (err error) {
	select {
	case in.ahead <- struct{}{}:
		return nil
	default:
	}
	in.joins(func() {
		select {
		case in.ahead <- struct{}{}:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	})
	return err
}
