package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// putFor puts one batch whose dataset lasts for ttl.
func putFor(t testing.TB, c *Catalog, name string, mode Mode, ttl time.Duration, id int) []*fakeBatch {
	t.Helper()
	fakes, list := batches(t, flat(t), id)
	p, err := c.Begin(name, mode, flat(t))
	if err != nil {
		t.Fatal(err)
	}
	p.TTL = ttl
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	return fakes
}

func TestDatasetExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		var expired []string
		c.OnExpiry(func(name string) { expired = append(expired, name) })
		fakes := putFor(t, c, "d", Replace, time.Minute, 1)
		put(t, c, "stays", Replace, flat(t), 2)
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if c.Len() != 2 {
			t.Error("it went too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, err := c.Current("d"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Current: %v", err)
		}
		wantRefs(t, fakes, 0)
		if len(expired) != 1 || expired[0] != "d" || c.Len() != 1 {
			t.Errorf("expired: %q, %d are left", expired, c.Len())
		}
		if got := c.Departures(); got != (Departures{Expired: 1}) {
			t.Errorf("%+v", got)
		}
		c.Clear()
	})
}

// What happens to a dataset's time at the puts that follow.
func TestExpiryOverPuts(t *testing.T) {
	for _, tc := range []struct {
		name string
		mode Mode
		ttl  time.Duration
		want time.Duration // after the second put, made 10 s after the first; 0: it stays
	}{
		{"append keeps it", Append, 0, 50 * time.Second},
		{"append with its own", Append, time.Minute, time.Minute},
		{"append with a shorter one", Append, time.Second, time.Second},
		{"replace ends it", Replace, 0, 0},
		{"replace with its own", Replace, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{})
				putFor(t, c, "d", Replace, time.Minute, 1)
				time.Sleep(10 * time.Second)
				putFor(t, c, "d", tc.mode, tc.ttl, 2)
				start := time.Now()
				for c.Len() > 0 && time.Since(start) < time.Hour {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				if got := time.Since(start); tc.want != 0 && got != tc.want || tc.want == 0 && got != time.Hour {
					t.Errorf("it went after %v", got)
				}
				c.Clear()
			})
		})
	}
}

// A dataset that comes again under an old name does not go at the old one's time.
func TestExpiryIsNotInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		putFor(t, c, "d", Replace, time.Minute, 1)
		if err := c.Drop(context.Background(), "d"); err != nil {
			t.Fatal(err)
		}
		put(t, c, "d", Replace, flat(t), 2)
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.Len() != 1 {
			t.Error("it went")
		}
		c.Clear()
	})
}

// Where the clock says that a dataset's time is over, it is gone for everybody, though the timer has not come.
func TestExpiredBeforeTheTimerComes(t *testing.T) {
	now := noon
	c := New(Options{Now: func() time.Time { return now }})
	old := putFor(t, c, "d", Replace, time.Minute, 1)
	now = now.Add(time.Minute)
	if _, err := c.Current("d"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Current: %v", err)
	}
	if l := c.List(""); len(l) != 0 {
		t.Errorf("%d are listed", len(l))
	}
	fresh := putFor(t, c, "d", Append, 0, 2)
	g := current(t, c, "d")
	wantIDs(t, g, 2)
	g.Release()
	wantRefs(t, old, 0)
	c.Clear()
	wantRefs(t, fresh, 0)
}

// A pin is the dataset's: it lasts over puts, and goes with a drop.
func TestPin(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	if err := c.SetPinned(context.Background(), "d", true); !errors.Is(err, ErrNotFound) {
		t.Errorf("SetPinned of what is absent: %v", err)
	}
	pinned := func() bool {
		g := current(t, c, "d")
		defer g.Release()
		return g.Pinned()
	}
	putPin := func(mode Mode, pin *bool) {
		_, list := batches(t, flat(t), 1)
		p, err := c.Begin("d", mode, flat(t))
		if err != nil {
			t.Fatal(err)
		}
		p.Pin = pin
		g, err := p.Commit(context.Background(), list, "zstd", nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
	}
	yes, no := true, false
	for i, step := range []struct {
		do   func()
		want bool
	}{
		{func() { putPin(Replace, nil) }, false},
		{func() { putPin(Append, &yes) }, true},
		{func() { putPin(Append, nil) }, true},
		{func() { putPin(Replace, nil) }, true},
		{func() { putPin(Append, &no) }, false},
		{func() { c.SetPinned(context.Background(), "d", true) }, true},
		{func() { c.SetPinned(context.Background(), "d", false) }, false},
		{func() { putPin(Replace, &yes) }, true},
		{func() { c.Drop(context.Background(), "d"); putPin(Replace, nil) }, false},
	} {
		step.do()
		if got := pinned(); got != step.want {
			t.Errorf("after step %d pinned is %v", i, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	putFor(t, c, "d", Replace, time.Minute, 1)
	leaseOf(t, c, "d", time.Hour)
	if err := c.SetPinned(context.Background(), "d", true); err != nil {
		t.Fatal(err)
	}
	g := current(t, c, "d")
	defer g.Release()
	raw, err := c.Describe(g)
	if err != nil {
		t.Fatal(err)
	}
	var got Description
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Generation != g.ID || got.Rows != g.Rows || !got.Pinned || got.Leases != 1 || got.LeasedBytes != 0 ||
		got.Expires != "2024-02-29T11:01:00.005Z" {
		t.Errorf("described as %s", raw)
	}
}
