package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Lease is a promise that a generation stays readable until a time, even if its dataset is replaced or dropped.
type Lease struct {
	ID      uint64 // not 0
	Expires time.Time
}

// lease is a Lease that runs. It holds a reference to its generation.
type lease struct {
	deadline
	charge  Charge
	id      uint64
	g       *Generation
	period  time.Duration
	expires time.Time
}

// leases are all that run.
type leases struct {
	mu      sync.Mutex // after Catalog.mu, before deadlines.mu
	byID    map[uint64]*lease
	bytes   int64 // of what only leases keep
	granted int64 // so far
}

// Lease takes a lease on a generation that the caller holds, for so long from now. There is none (false) where the period
// is not positive, where leases are at one of the bounds that Options set, and where Options.Charge has no room for one.
func (c *Catalog) Lease(g *Generation, period time.Duration) (Lease, bool) {
	if period <= 0 {
		return Lease{}, false
	}
	charge, err := c.charge(leaseBytes) // before the lock: who has no room to give looks at leases
	if err != nil {
		return Lease{}, false
	}
	s := &c.leases
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= c.maxLeases || s.bytes > c.maxLeasedBytes-g.lineage.more(g) || !g.acquire() {
		charge.Release()
		return Lease{}, false
	}
	l := &lease{g: g, charge: charge, period: period, expires: c.now().Add(period)}
	for l.id == 0 || s.byID[l.id] != nil {
		l.id = rand.Uint64() // tickets are sealed: an id need be hard to meet by chance, not hard to guess
	}
	l.lapse = func() { c.lapse(l) }
	s.byID[l.id] = l
	s.granted++
	if g.leases++; g.leases == 1 {
		i, _ := slices.BinarySearchFunc(g.lineage.leased, g.number, byNumber)
		g.lineage.leased = slices.Insert(g.lineage.leased, i, g)
	}
	g.state.leases++
	s.recount(g)
	c.deadlines.set(&l.deadline, l.expires)
	return Lease{l.id, l.expires}, true
}

func byNumber(g *Generation, number uint64) int {
	switch {
	case g.number < number:
		return -1
	case g.number > number:
		return 1
	}
	return 0
}

// running gives a lease on a generation of this id whose time has not come. ErrLeaseEnded. The lock is held.
func (c *Catalog) running(id uint64, generation string) (*lease, error) {
	l := c.leases.byID[id]
	if l == nil || l.g.ID != generation || !l.expires.After(c.now()) {
		return nil, fmt.Errorf("%w: of generation %s; ask GetFlightInfo again", ErrLeaseEnded, generation)
	}
	return l, nil
}

// Leased gives the generation that a lease holds, acquired: the caller releases it. ErrLeaseEnded.
func (c *Catalog) Leased(id uint64, generation string) (*Generation, error) {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	l, err := c.running(id, generation)
	if err != nil {
		return nil, err
	}
	l.g.acquire() // cannot fail: the lease has a reference
	return l.g, nil
}

// Renew has a lease run for its period from now. ErrLeaseEnded.
func (c *Catalog) Renew(id uint64, generation string) (Lease, error) {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	l, err := c.running(id, generation)
	if err != nil {
		return Lease{}, err
	}
	l.expires = c.now().Add(l.period)
	c.deadlines.set(&l.deadline, l.expires)
	return Lease{l.id, l.expires}, nil
}

// EndLease ends a lease before its time, and tells whether it still ran.
func (c *Catalog) EndLease(id uint64, generation string) bool {
	c.leases.mu.Lock()
	l, err := c.running(id, generation)
	if err == nil {
		c.end(l)
	}
	c.leases.mu.Unlock()
	if err != nil {
		return false
	}
	l.g.Release()
	return true
}

// lapse ends a lease if its time has come and it has not ended yet.
func (c *Catalog) lapse(l *lease) {
	c.leases.mu.Lock()
	due := c.leases.byID[l.id] == l && !l.expires.After(c.now())
	if due {
		c.end(l)
	}
	c.leases.mu.Unlock()
	if due {
		l.g.Release()
	}
}

// end takes a lease out. The lock is held; the caller then releases the lease's generation without it.
func (c *Catalog) end(l *lease) {
	s, g := &c.leases, l.g
	delete(s.byID, l.id)
	if g.leases--; g.leases == 0 {
		i, _ := slices.BinarySearchFunc(g.lineage.leased, g.number, byNumber)
		g.lineage.leased = slices.Delete(g.lineage.leased, i, i+1)
	}
	g.state.leases--
	s.recount(g)
	c.deadlines.remove(&l.deadline)
	l.charge.Release()
}

// endLeases ends all of them.
func (c *Catalog) endLeases() {
	c.leases.mu.Lock()
	all := make([]*lease, 0, len(c.leases.byID))
	for _, l := range c.leases.byID {
		all = append(all, l)
		c.end(l)
	}
	c.leases.mu.Unlock()
	for _, l := range all {
		l.g.Release()
	}
}

// Leases tells how many leases run, and the stored bytes of the generations that only leases keep, what they share
// counted once.
func (c *Catalog) Leases() (n int, bytes int64) {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	return len(c.leases.byID), c.leases.bytes
}

// LeasesGranted tells how many leases were granted so far.
func (c *Catalog) LeasesGranted() int64 {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	return c.leases.granted
}

// LeasesOf is Leases of a generation's dataset.
func (c *Catalog) LeasesOf(g *Generation) (n int, bytes int64) {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	return g.state.leases, g.state.leasedBytes
}
