package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// leaseOf takes a lease that there must be, and lets go of the generation.
func leaseOf(t testing.TB, c *Catalog, name string, period time.Duration) (Lease, *Generation) {
	t.Helper()
	g := current(t, c, name)
	defer g.Release()
	l, ok := c.Lease(g, period)
	if !ok || l.ID == 0 {
		t.Fatalf("no lease on %q: %+v", name, l)
	}
	return l, g
}

func wantLeases(t testing.TB, c *Catalog, n int, bytes int64) {
	t.Helper()
	if gotN, gotBytes := c.Leases(); gotN != n || gotBytes != bytes {
		t.Errorf("%d leases keep %d bytes, want %d and %d", gotN, gotBytes, n, bytes)
	}
}

func wantLeased(t testing.TB, c *Catalog, l Lease, generation string, want bool) {
	t.Helper()
	g, err := c.Leased(l.ID, generation)
	switch {
	case want && (err != nil || g.ID != generation):
		t.Errorf("lease %d gives %v, %v; want generation %s", l.ID, g, err, generation)
	case !want && !errors.Is(err, ErrLeaseEnded):
		t.Errorf("lease %d gives %v, want ErrLeaseEnded", l.ID, err)
	}
	if err == nil {
		g.Release()
	}
}

// A lease keeps its generation over a replacement and a drop, until its time is over and not longer.
func TestLeaseKeepsItsGeneration(t *testing.T) {
	for name, end := range map[string]func(*Catalog, *testing.T){
		"replaced": func(c *Catalog, t *testing.T) { put(t, c, "d", Replace, flat(t), 7) },
		"dropped": func(c *Catalog, t *testing.T) {
			if err := c.Drop(context.Background(), "d"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{})
				fakes := put(t, c, "d", Replace, flat(t), 1, 2)
				l, g := leaseOf(t, c, "d", time.Minute)
				if want := time.Now().Add(time.Minute); !l.Expires.Equal(want) {
					t.Errorf("expires %v, want %v", l.Expires, want)
				}
				wantLeases(t, c, 1, 0)
				end(c, t)
				wantLeases(t, c, 1, g.Stored)
				time.Sleep(time.Minute - time.Nanosecond)
				synctest.Wait()
				wantRefs(t, fakes, 1)
				wantLeased(t, c, l, g.ID, true)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				wantLeased(t, c, l, g.ID, false)
				wantRefs(t, fakes, 0)
				wantLeases(t, c, 0, 0)
				if _, err := c.Renew(l.ID, g.ID); !errors.Is(err, ErrLeaseEnded) || !strings.Contains(err.Error(), g.ID) {
					t.Errorf("Renew: %v", err)
				}
				if c.EndLease(l.ID, g.ID) {
					t.Error("it was ended twice")
				}
			})
		})
	}
}

// Renewing one lease moves that one only, and ending one ends that one only.
func TestLeasesAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		fakes := put(t, c, "d", Replace, flat(t), 1)
		first, g := leaseOf(t, c, "d", time.Minute)
		second, _ := leaseOf(t, c, "d", time.Minute)
		third, _ := leaseOf(t, c, "d", time.Minute)
		if err := c.Drop(context.Background(), "d"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		renewed, err := c.Renew(second.ID, g.ID)
		if err != nil || renewed.ID != second.ID || !renewed.Expires.Equal(time.Now().Add(time.Minute)) {
			t.Fatalf("renewed %+v, %v", renewed, err)
		}
		if !c.EndLease(third.ID, g.ID) {
			t.Error("the third lease did not run")
		}
		wantLeased(t, c, third, g.ID, false)
		wantLeases(t, c, 2, g.Stored)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		wantLeased(t, c, first, g.ID, false)
		wantLeased(t, c, second, g.ID, true)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		wantLeased(t, c, second, g.ID, false)
		wantRefs(t, fakes, 0)
		wantLeases(t, c, 0, 0)
	})
}

// A lease is good for the generation that it was taken on.
func TestLeaseOfAnotherGeneration(t *testing.T) {
	c := New(Options{})
	defer c.Clear()
	put(t, c, "d", Replace, flat(t), 1)
	l, g := leaseOf(t, c, "d", time.Hour)
	put(t, c, "d", Replace, flat(t), 2)
	other := current(t, c, "d")
	defer other.Release()
	wantLeased(t, c, l, other.ID, false)
	wantLeased(t, c, Lease{ID: l.ID + 1}, g.ID, false)
	if c.EndLease(l.ID, other.ID) {
		t.Error("a lease ended by the name of another generation")
	}
	wantLeased(t, c, l, g.ID, true)
}

// What appends share is counted once, and not at all while the dataset has it.
func TestLeasedBytesOfAppends(t *testing.T) {
	c := New(Options{})
	put(t, c, "d", Replace, flat(t), 1)
	a, first := leaseOf(t, c, "d", time.Hour)
	put(t, c, "d", Append, flat(t), 2)
	b, second := leaseOf(t, c, "d", time.Hour)
	put(t, c, "d", Append, flat(t), 3)
	wantLeases(t, c, 2, 0)
	put(t, c, "d", Replace, flat(t), 4)
	wantLeases(t, c, 2, second.Stored) // the first one's batch is in it
	g := current(t, c, "d")
	if n, bytes := c.LeasesOf(g); n != 2 || bytes != second.Stored {
		t.Errorf("the dataset has %d leases that keep %d bytes", n, bytes)
	}
	g.Release()
	other, third := leaseOf(t, c, "d", time.Hour)
	c.EndLease(b.ID, second.ID)
	wantLeases(t, c, 2, first.Stored)
	if err := c.Drop(context.Background(), "d"); err != nil {
		t.Fatal(err)
	}
	wantLeases(t, c, 2, first.Stored+third.Stored)
	c.EndLease(other.ID, third.ID)
	c.EndLease(a.ID, first.ID)
	wantLeases(t, c, 0, 0)
}

// Over a bound there is no lease, and what there is stays.
func TestLeaseBounds(t *testing.T) {
	t.Run("number", func(t *testing.T) {
		c := New(Options{MaxLeases: 2})
		defer c.Clear()
		put(t, c, "d", Replace, flat(t), 1)
		first, g := leaseOf(t, c, "d", time.Hour)
		leaseOf(t, c, "d", time.Hour)
		if l, ok := c.Lease(g, time.Hour); ok || l != (Lease{}) {
			t.Errorf("a third lease: %+v", l)
		}
		c.EndLease(first.ID, g.ID)
		leaseOf(t, c, "d", time.Hour)
	})
	t.Run("bytes", func(t *testing.T) {
		fakes, _ := batches(t, flat(t), 1)
		c := New(Options{MaxLeasedBytes: 2*fakes[0].stored - 1})
		defer c.Clear()
		put(t, c, "d", Replace, flat(t), 1)
		g := current(t, c, "d")
		leaseOf(t, c, "d", time.Hour)
		put(t, c, "d", Replace, flat(t), 1)
		leaseOf(t, c, "d", time.Hour) // the bound is not reached
		now := current(t, c, "d")
		put(t, c, "d", Replace, flat(t), 1) // which takes it over the bound
		last := current(t, c, "d")
		for _, g := range []*Generation{g, now, last} {
			if _, ok := c.Lease(g, time.Hour); ok {
				t.Errorf("generation %s has a lease over the bound", g.ID)
			}
			g.Release()
		}
		wantLeases(t, c, 2, 2*fakes[0].stored)
	})
	t.Run("time", func(t *testing.T) {
		c := New(Options{})
		defer c.Clear()
		put(t, c, "d", Replace, flat(t), 1)
		g := current(t, c, "d")
		defer g.Release()
		for _, period := range []time.Duration{0, -1} {
			if _, ok := c.Lease(g, period); ok {
				t.Errorf("a lease for %v", period)
			}
		}
	})
}

// A lease taken on what was replaced just before counts what it alone keeps.
func TestLeaseOnAReplacedGeneration(t *testing.T) {
	c := New(Options{})
	put(t, c, "d", Replace, flat(t), 1)
	old := current(t, c, "d")
	put(t, c, "d", Append, flat(t), 2)
	longer := current(t, c, "d")
	put(t, c, "d", Replace, flat(t), 3)
	for _, step := range []struct {
		g    *Generation
		want int64
	}{{longer, longer.Stored}, {old, longer.Stored}, {old, longer.Stored}} {
		if _, ok := c.Lease(step.g, time.Hour); !ok {
			t.Fatal("no lease")
		}
		if _, bytes := c.Leases(); bytes != step.want {
			t.Errorf("%d bytes, want %d", bytes, step.want)
		}
	}
	old.Release()
	longer.Release()
	c.Clear()
	wantLeases(t, c, 0, 0)
}

// Many leases end each at its own time, in whatever order they were taken, with one timer.
func TestManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		fakes := put(t, c, "d", Replace, flat(t), 1)
		const n = 1000
		for i := range n {
			leaseOf(t, c, "d", time.Duration(1+(i*37)%n)*time.Second)
		}
		if err := c.Drop(context.Background(), "d"); err != nil {
			t.Fatal(err)
		}
		for left := n - 1; left >= 0; left-- {
			time.Sleep(time.Second)
			synctest.Wait()
			if got, _ := c.Leases(); got != left {
				t.Fatalf("%d leases run, want %d", got, left)
			}
		}
		wantRefs(t, fakes, 0)
		if len(c.deadlines.heap) != 0 {
			t.Errorf("%d deadlines are left", len(c.deadlines.heap))
		}
	})
}

// Where the clock says that a lease is over, it is, though its timer has not come.
func TestLeaseIsOverBeforeItsTimerComes(t *testing.T) {
	now := noon
	c := New(Options{Now: func() time.Time { return now }})
	defer c.Clear()
	put(t, c, "d", Replace, flat(t), 1)
	l, g := leaseOf(t, c, "d", time.Hour)
	now = now.Add(time.Hour)
	wantLeased(t, c, l, g.ID, false)
	if n, _ := c.Leases(); n != 1 {
		t.Errorf("%d leases, want the one that the timer is to end", n)
	}
}

func TestOptionsAreValidated(t *testing.T) {
	if err := (Options{}).Validate(); err != nil {
		t.Error(err)
	}
	err := Options{MaxLeases: -1, MaxLeasedBytes: -2, MaxTransactions: -3}.Validate()
	for _, part := range []string{"MaxLeases is -1", "MaxLeasedBytes is -2", "MaxTransactions is -3"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func BenchmarkLease(b *testing.B) {
	c := New(Options{MaxLeases: 1 << 30})
	put(b, c, "d", Replace, flat(b), 1)
	g := current(b, c, "d")
	for b.Loop() {
		c.Lease(g, time.Minute)
	}
	g.Release()
	c.Clear()
}
