package batchstore

import "sync/atomic"

// Charge is memory outside of the store that counts to its budget as facts do, until it is released.
type Charge struct {
	budget *budget
	bytes  atomic.Int64
}

// Charge counts n bytes of somebody's facts, waiting where there is no room. The caller releases them. Errors are ErrMemory,
// or the cause of the claim's context.
//
// A put ends with them: what it stored stays until then, and is no block of its claim any more. So they are served as work is,
// from what received bodies leave free. Otherwise it might wait for puts that wait for it.
func (c *Claim) Charge(n int64) (*Charge, error) {
	k := c.class
	if k == forReceive {
		k = forWork
	}
	return c.memory(k, false).charge(n)
}

// Charge is that of a claim for who has none, and does not wait.
func (s *Store) Charge(n int64) (*Charge, error) { return s.unclaimed().charge(n) }

func (m lender) charge(n int64) (*Charge, error) {
	if err := m.count(n); err != nil {
		return nil, err
	}
	c := &Charge{budget: m.budget}
	c.bytes.Store(n)
	return c, nil
}

// Release ends the charge. It may be called more than once, and of nil.
func (c *Charge) Release() {
	if c != nil {
		c.budget.uncount(c.bytes.Swap(0))
	}
}
