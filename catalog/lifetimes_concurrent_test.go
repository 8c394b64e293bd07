package catalog

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Leases, transactions and expiry of one name at once, with timers that come meanwhile: what is leased reads whole, and at
// the end nobody keeps anything.
func TestConcurrentLifetimes(t *testing.T) {
	c := New(Options{MaxLeases: 50})
	schema := flat(t)
	var mu sync.Mutex
	var all []*fakeBatch
	fresh := func(id int) []Batch {
		fakes, list := batches(t, schema, id, id+1)
		mu.Lock()
		all = append(all, fakes...)
		mu.Unlock()
		return list
	}
	release := func(list []Batch) {
		for _, b := range list {
			b.Release()
		}
	}
	put := func(id int) {
		p, err := c.Begin("d", []Mode{Replace, Append}[id%2], schema)
		if err != nil {
			t.Error(err)
			return
		}
		p.TTL = time.Duration(rand.IntN(3)) * time.Millisecond
		g, err := p.Commit(context.Background(), fresh(id), "zstd", nil)
		if err != nil {
			t.Error(err)
			return
		}
		g.Release()
	}
	lease := func(int) {
		g, err := c.Current("d")
		if err != nil {
			return
		}
		l, ok := c.Lease(g, time.Duration(1+rand.IntN(3))*time.Millisecond)
		g.Release()
		if !ok {
			return
		}
		c.Renew(l.ID, g.ID)
		if held, err := c.Leased(l.ID, g.ID); err == nil {
			for _, b := range held.Batches {
				if b.(*fakeBatch).refs.Load() <= 0 {
					t.Error("a leased generation has a batch that is gone")
				}
			}
			held.Release()
		} else if !errors.Is(err, ErrLeaseEnded) {
			t.Error(err)
		}
		if rand.IntN(2) == 0 {
			c.EndLease(l.ID, g.ID)
		}
	}
	transact := func(id int) {
		tx, err := c.BeginTransaction("d", Append, 2*time.Millisecond)
		if err != nil {
			t.Error(err)
			return
		}
		for range 2 {
			p, err := tx.Begin(schema)
			if err != nil {
				t.Error(err)
				return
			}
			list := fresh(id)
			if _, err := p.Stage(context.Background(), list, "zstd", nil, ""); err != nil {
				release(list)
			}
		}
		if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); err != nil && !errors.Is(err, ErrNoTransaction) {
			t.Error(err)
		}
	}
	drop := func(int) { c.Drop(context.Background(), "d") }
	var wg sync.WaitGroup
	for _, work := range []func(int){put, put, lease, lease, lease, transact, transact, drop} {
		wg.Go(func() {
			for i := range 300 {
				work(i)
			}
		})
	}
	wg.Wait()
	c.Clear()
	wantLeases(t, c, 0, 0)
	wantRefs(t, all, 0)
	if n := c.Transactions(); n != 0 {
		t.Errorf("%d transactions are open", n)
	}
}
