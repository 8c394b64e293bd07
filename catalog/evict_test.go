package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shelf is a catalogue of one dataset for each of these sizes, in the order of their use.
func shelf(t *testing.T, sizes ...int64) (*Catalog, []*fakeBatch) {
	t.Helper()
	c := newCatalog()
	var all []*fakeBatch
	for i, n := range sizes {
		fakes, list := batches(t, flat(t), i)
		fakes[0].stored = n
		p, err := c.Begin(fmt.Sprint("d", i), Replace, flat(t))
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Commit(context.Background(), list, "none", nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
		all = append(all, fakes...)
	}
	return c, all
}

func nobody(string) bool { return false }

func wantEvicted(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("evicted %q, want %q", got, want)
	}
}

func TestEvictInOrderOfUse(t *testing.T) {
	c, fakes := shelf(t, 10, 10, 10, 10, 10)
	c.Use("d1")
	c.Use("d0")
	c.Use("absent")
	wantEvicted(t, c.Evict(0, nobody, "x"))
	wantEvicted(t, c.Evict(11, nobody, "x"), "d2", "d3")
	wantRefs(t, fakes[2:4], 0)
	wantRefs(t, fakes[4:], 1)
	put(t, c, "d4", Append, flat(t), 7)
	wantEvicted(t, c.Evict(1, nobody, "x"), "d1")
	wantEvicted(t, c.Evict(1000, nobody, "x"), "d0", "d4")
	wantEvicted(t, c.Evict(1, nobody, "x"))
	if c.Evictions() != 5 || c.Len() != 0 {
		t.Errorf("%d evictions, %d datasets are left", c.Evictions(), c.Len())
	}
	if got := c.Departures(); got != (Departures{Evicted: 5}) {
		t.Errorf("%+v", got)
	}
}

func TestEvictLeavesAlone(t *testing.T) {
	c, fakes := shelf(t, 1, 2, 4, 8)
	if err := c.SetPinned(context.Background(), "d0", true); err != nil {
		t.Fatal(err)
	}
	g, err := c.Current("d1")
	if err != nil {
		t.Fatal(err)
	}
	l, ok := c.Lease(g, time.Hour)
	g.Release()
	if !ok {
		t.Fatal("no lease")
	}
	if pinned, leaving := c.Held(); pinned != 3 || leaving != 0 {
		t.Errorf("%d pinned, %d leaving", pinned, leaving)
	}
	wantEvicted(t, c.Evict(100, func(name string) bool { return name == "d2" }, "x"), "d3")
	wantRefs(t, fakes[:3], 1)
	c.EndLease(l.ID, g.ID)
	wantEvicted(t, c.Evict(2, nobody, "x"), "d1")
	if _, err := c.EvictDataset(context.Background(), "d0", "x"); !errors.Is(err, ErrPinned) {
		t.Errorf("a pinned dataset: %v", err)
	}
}

// What somebody reads goes last, and what is on its way already is not evicted for twice.
func TestEvictWhatIsRead(t *testing.T) {
	c, fakes := shelf(t, 10, 10, 10)
	var read []*Generation
	for _, name := range []string{"d0", "d1"} {
		g, err := c.Current(name)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, g)
	}
	wantEvicted(t, c.Evict(5, nobody, "x"), "d2")
	wantEvicted(t, c.Evict(5, nobody, "x"), "d0")
	wantEvicted(t, c.Evict(10, nobody, "x"))
	wantRefs(t, fakes[:2], 1)
	if _, leaving := c.Held(); leaving != 10 {
		t.Errorf("%d leaving", leaving)
	}
	read[0].Release()
	wantRefs(t, fakes[:1], 0)
	wantEvicted(t, c.Evict(10, nobody, "x"), "d1")
	read[1].Release()
	if _, leaving := c.Held(); leaving != 0 {
		t.Errorf("%d leaving", leaving)
	}
}

// Generations that are replaced or dropped are on their way until their readers are done; what appends share is not.
func TestLeaving(t *testing.T) {
	c, _ := shelf(t, 10)
	wants := func(want int64) {
		t.Helper()
		if _, n := c.Held(); n != want {
			t.Errorf("%d bytes are leaving, want %d", n, want)
		}
	}
	first, _ := c.Current("d0")
	put(t, c, "d0", Append, flat(t), 1) // of 72 bytes
	wants(0)
	second, _ := c.Current("d0")
	put(t, c, "d0", Replace, flat(t), 2)
	wants(82)
	first.Release()
	wants(82)
	second.Release()
	wants(0)
	third, _ := c.Current("d0")
	if err := c.Drop(context.Background(), "d0"); err != nil {
		t.Fatal(err)
	}
	wants(third.Stored)
	third.Release()
	wants(0)
}

func TestEvictedAreRemembered(t *testing.T) {
	c, _ := shelf(t, 10, 10)
	if n, err := c.EvictDataset(context.Background(), "d0", "to show it"); err != nil || n != 10 {
		t.Fatal(n, err)
	}
	says := func(err error, want bool) {
		t.Helper()
		const words = `"d0" was evicted at 2024-02-29T11:00:00Z, to show it; put it again`
		if !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), words) != want {
			t.Errorf("%v; want the eviction told: %v", err, want)
		}
	}
	_, err := c.Current("d0")
	says(err, true)
	_, err = c.At("d0", "g")
	says(err, true)
	says(c.Drop(context.Background(), "d0"), true)
	_, err = c.EvictDataset(context.Background(), "d0", "again")
	says(err, true)
	_, err = c.Current("d2")
	says(err, false)
	put(t, c, "d0", Create, flat(t), 1)
	if err := c.Drop(context.Background(), "d0"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Current("d0")
	says(err, false)
	for i := range maxGraves + 10 { // their number is bounded
		put(t, c, fmt.Sprint("e", i), Replace, flat(t), 1)
		if _, err := c.EvictDataset(context.Background(), fmt.Sprint("e", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.evictions.graves.Len(); n != maxGraves {
		t.Errorf("%d are remembered", n)
	}
	_, err = c.Current("e9")
	if !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), "evicted") {
		t.Errorf("the oldest: %v", err)
	}
	if n := len(c.evictions.names()); n != 1 {
		t.Errorf("%d names are kept in order", n)
	}
}
