package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// change replaces a run of a generation's batches by one with this id and the run's rows.
func change(t testing.TB, g *Generation, first, last, id int) (*fakeBatch, Change) {
	t.Helper()
	fakes, list := batches(t, g.Schema, id)
	fakes[0].rows = 0
	for _, b := range g.Batches[first:last] {
		fakes[0].rows += b.Rows()
	}
	return fakes[0], Change{first, last, list}
}

// compact must succeed; the result is released.
func compact(t testing.TB, c *Catalog, g *Generation, changes ...Change) *Generation {
	t.Helper()
	now, err := c.Compact(t.Context(), g, changes)
	if err != nil {
		t.Fatal(err)
	}
	now.Release()
	return now
}

// Another layout is the same generation with other batches: its rows, its statistics and its id stay, its sizes are those
// of the new batches. What was appended meanwhile stays behind them.
func TestCompact(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	fakes := put(t, c, "d", Replace, schema, 1, 2, 3, 4, 5)
	g := current(t, c, "d")
	tail := put(t, c, "d", Append, schema, 6)
	before := current(t, c, "d")
	first, one := change(t, g, 0, 2, 100)
	second, two := change(t, g, 3, 5, 200)
	now := compact(t, c, g, one, two)
	wantIDs(t, now, 100, 3, 200, 6)
	if now.ID != before.ID || now.Layout != before.Layout+1 || now.Rows != before.Rows || now.Created != before.Created || now.Codec != before.Codec {
		t.Errorf("%+v became %+v", before.Facts(), now.Facts())
	}
	all := addUp(now.Batches, schema.Layout, now.RowColumns)
	if now.Stored != all.stored || now.Decoded != all.decoded || !slices.Equal(now.Nodes, all.nodes) {
		t.Errorf("%d stored, %d decoded, nodes %v; want %d, %d, %v", now.Stored, now.Decoded, now.Nodes, all.stored, all.decoded, all.nodes)
	}
	if a, b := now.Facts().Columns[0].BoundFacts, before.Facts().Columns[0].BoundFacts; a != b {
		t.Errorf("bounds %+v became %+v", b, a)
	}
	if bytes.Equal(now.FactsJSON(), before.FactsJSON()) || !bytes.Contains(now.FactsJSON(), []byte(`"batches":4`)) {
		t.Errorf("facts %s", now.FactsJSON())
	}
	// Appends go on behind it, and do not write into the lists of others.
	put(t, c, "d", Append, schema, 7)
	put(t, c, "d", Append, schema, 8)
	after := current(t, c, "d")
	wantIDs(t, after, 100, 3, 200, 6, 7, 8)
	wantIDs(t, before, 1, 2, 3, 4, 5, 6)
	wantIDs(t, g, 1, 2, 3, 4, 5)
	if after.Layout != 0 {
		t.Errorf("a new generation has layout %d", after.Layout)
	}
	after.Release()
	// Who holds the old layouts keeps their batches, and nobody else.
	wantRefs(t, []*fakeBatch{fakes[0], fakes[4]}, 2)
	before.Release()
	g.Release()
	wantRefs(t, []*fakeBatch{fakes[0], fakes[1], fakes[3], fakes[4]}, 0)
	wantRefs(t, []*fakeBatch{fakes[2], first, second, tail[0]}, 1)
	c.Clear()
	wantRefs(t, append(fakes, first, second, tail[0]), 0)
}

// A compaction of what is no dataset's newest layout any more is refused, and leaves the new batches with the caller.
func TestCompactConflicts(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Catalog, *Generation){
		"replaced": func(t *testing.T, c *Catalog, _ *Generation) { put(t, c, "d", Replace, flat(t), 7) },
		"dropped": func(t *testing.T, c *Catalog, _ *Generation) {
			if err := c.Drop(t.Context(), "d"); err != nil {
				t.Fatal(err)
			}
		},
		"dropped and put": func(t *testing.T, c *Catalog, _ *Generation) {
			if err := c.Drop(t.Context(), "d"); err != nil {
				t.Fatal(err)
			}
			put(t, c, "d", Append, flat(t), 1, 2)
		},
		"compacted": func(t *testing.T, c *Catalog, g *Generation) {
			_, x := change(t, g, 0, 2, 9)
			compact(t, c, g, x)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalog()
			put(t, c, "d", Replace, flat(t), 1, 2)
			g := current(t, c, "d")
			fake, x := change(t, g, 0, 2, 3)
			end(t, c, g)
			if _, err := c.Compact(t.Context(), g, []Change{x}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), `"d"`) {
				t.Errorf("%v, want ErrConflict that names the dataset", err)
			}
			wantRefs(t, []*fakeBatch{fake}, 1)
			g.Release()
		})
	}
	c := newCatalog()
	put(t, c, "d", Replace, flat(t), 1, 2)
	g := current(t, c, "d")
	defer g.Release()
	fake, x := change(t, g, 0, 2, 3)
	fake.rows++
	if _, err := c.Compact(t.Context(), g, []Change{x}); err == nil || errors.Is(err, ErrConflict) {
		t.Errorf("a compaction that makes rows up: %v", err)
	}
}

// Another layout of a durable dataset is kept before it is there, and where that fails all is as it was.
func TestCompactDurable(t *testing.T) {
	k := newKeeper()
	c, schema := New(Options{Keeper: k}), flat(t)
	fakes, err := commitAs(t, c, "d", Replace, schema, yes, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "other", Replace, schema, 4, 5)
	k.wantCalls(t, "keep d")
	g := current(t, c, "d")
	joined, x := change(t, g, 0, 2, 9)

	k.failing(errKeeper)
	if _, err := c.Compact(t.Context(), g, []Change{x}); !errors.Is(err, errKeeper) {
		t.Errorf("%v, want the keeper's error", err)
	}
	k.failing(nil)
	k.wantCalls(t, "keep d")
	wantRefs(t, append(fakes, joined), 1)
	k.wantKept(t, c)

	goOn := k.holding()
	done := make(chan error)
	go func() {
		now, err := c.Compact(t.Context(), g, []Change{x})
		if err == nil {
			now.Release()
		}
		done <- err
	}()
	for len(c.reservedNames()) == 0 {
		runtime.Gosched()
	}
	appended := make(chan error)
	go func() {
		_, err := commitAs(t, c, "d", Append, schema, nil, 6)
		appended <- err
	}()
	reader := current(t, c, "d") // does not wait
	wantIDs(t, reader, 1, 2, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compact(ctx, g, []Change{x}); !errors.Is(err, context.Canceled) {
		t.Errorf("waited for its turn: %v", err)
	}
	goOn()
	if err := errors.Join(<-done, <-appended); err != nil {
		t.Fatal(err)
	}
	k.wantCalls(t, "keep d", "keep d")
	k.wantKept(t, c)
	now := current(t, c, "d")
	wantIDs(t, now, 9, 3, 6)
	if !now.Durable {
		t.Error("it is durable no more")
	}
	reader.Release()
	g.Release()
	wantRefs(t, fakes[:2], 0)
	other := current(t, c, "other")
	_, y := change(t, other, 0, 2, 10)
	compact(t, c, other, y)
	k.wantCalls(t)
	other.Release()
	now.Release()
}

// reservedNames are those of datasets that are being kept.
func (c *Catalog) reservedNames() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.reserved {
		names = append(names, name)
	}
	return names
}

// Leases on old layouts keep what those have and the newest has not, whatever comes after.
func TestCompactLeases(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	fakes := put(t, c, "d", Replace, schema, 1, 2, 3)
	old, g := leaseOf(t, c, "d", time.Hour)
	held := current(t, c, "d")
	wantLeases(t, c, 1, 0)
	joined, x := change(t, held, 0, 2, 9)
	now := compact(t, c, held, x)
	held.Release()
	both := fakes[0].stored + fakes[1].stored
	wantLeases(t, c, 1, both)
	if pinned, leaving := c.Held(); pinned != now.Stored || leaving != both {
		t.Errorf("%d bytes leased and %d on their way, want %d and %d", pinned, leaving, now.Stored, both)
	}
	leased, err := c.Leased(old.ID, g.ID)
	if err != nil || leased.Layout != 0 {
		t.Fatalf("layout %d, %v", leased.Layout, err)
	}
	leased.Release()
	if newest, err := c.At("d", g.ID); err != nil || newest.Layout != 1 {
		t.Fatalf("layout %d, %v", newest.Layout, err)
	} else {
		newest.Release()
	}
	young, _ := leaseOf(t, c, "d", time.Hour)
	wantLeases(t, c, 2, both)
	if err := c.Drop(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	wantLeases(t, c, 2, both+fakes[2].stored+joined.stored)
	if !c.EndLease(young.ID, g.ID) {
		t.Error("the lease on the new layout did not run")
	}
	wantRefs(t, []*fakeBatch{joined}, 0)
	wantLeases(t, c, 1, both+fakes[2].stored)
	if !c.EndLease(old.ID, g.ID) {
		t.Error("the lease on the old layout did not run")
	}
	wantLeases(t, c, 0, 0)
	wantRefs(t, append(fakes, joined), 0)
	if _, leaving := c.Held(); leaving != 0 {
		t.Errorf("%d bytes on their way", leaving)
	}
}

// A dataset is crowded when as many small batches have come as are worth a look, and again when as many more have.
func TestCrowded(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	crowded := func(want bool) {
		t.Helper()
		if c.Crowded("d") != want {
			t.Errorf("crowded %t", !want)
		}
	}
	crowded(false)
	one := func() { put(t, c, "d", Append, schema, 1) }
	for range Crowd - 1 {
		one()
	}
	crowded(false)
	fakes, list := batches(t, schema, 2)
	fakes[0].large = true
	p, err := c.Begin("d", Append, schema)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Commit(t.Context(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	crowded(false)
	one()
	crowded(true)
	c.Settle(g) // which had one less
	crowded(false)
	for range Crowd - 1 {
		one()
	}
	crowded(true)
	now := current(t, c, "d")
	one()
	_, x := change(t, now, 0, 60, 3)
	compact(t, c, now, x)
	crowded(false)
	for range Crowd - 2 { // one came during the compaction
		one()
	}
	crowded(false)
	one()
	crowded(true)
	put(t, c, "d", Replace, schema, 1)
	crowded(false)
	g.Release()
	now.Release()
}

// Appends, compactions, leases and readers at once: every reader sees the rows that its generation had when it was
// committed, and at the end nobody keeps anything.
func TestConcurrentCompactions(t *testing.T) {
	for _, durable := range []*bool{no, yes} {
		t.Run(fmt.Sprintf("durable %t", *durable), func(t *testing.T) { concurrentCompactions(t, durable) })
	}
}

func concurrentCompactions(t *testing.T, durable *bool) {
	k := newKeeper()
	c, schema := New(Options{Keeper: k}), flat(t)
	var mu sync.Mutex
	var all []*fakeBatch
	rows := map[string]int64{} // by generation
	note := func(fakes ...*fakeBatch) {
		mu.Lock()
		all = append(all, fakes...)
		mu.Unlock()
	}
	appendOne := func(i int) {
		fakes, list := batches(t, schema, i)
		note(fakes...)
		p, err := c.Begin("d", Append, schema)
		if err != nil {
			t.Error(err)
			return
		}
		p.Durable = durable
		g, err := p.Commit(t.Context(), list, "zstd", nil)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		rows[g.ID] = g.Rows
		mu.Unlock()
		g.Release()
	}
	read := func(i int) {
		g, err := c.Current("d")
		if err != nil {
			return
		}
		defer g.Release()
		sum := int64(0)
		for _, b := range g.Batches {
			sum += b.Rows()
			if b.(*fakeBatch).refs.Load() <= 0 {
				t.Error("a generation that is held has a batch that is gone")
			}
		}
		mu.Lock()
		want, known := rows[g.ID]
		mu.Unlock()
		if sum != g.Rows || known && sum != want {
			t.Errorf("generation %s has %d rows in its batches, %d by its totals, %d when it was committed", g.ID, sum, g.Rows, want)
		}
		l, ok := c.Lease(g, time.Hour)
		if ok && i%3 > 0 {
			c.EndLease(l.ID, g.ID)
		}
	}
	compactOnce := func(i int) error {
		g, err := c.Current("d")
		if err != nil {
			return nil
		}
		defer g.Release()
		first := i % len(g.Batches)
		last := min(first+5, len(g.Batches))
		fake, x := change(t, g, first, last, i)
		note(fake)
		now, err := c.Compact(t.Context(), g, []Change{x})
		if err != nil {
			fake.Release()
			return err
		}
		now.Release()
		return nil
	}
	recodeOnce := func(i int) error {
		g, err := c.Current("d")
		if err != nil {
			return nil
		}
		defer g.Release()
		at := i % len(g.Batches)
		fake, x := change(t, g, at, at+1, i)
		note(fake)
		now, err := c.Recode(t.Context(), g, []Change{x})
		if err != nil {
			fake.Release()
			return err
		}
		now.Release()
		return nil
	}
	var work sync.WaitGroup
	for _, f := range []func(int){appendOne, appendOne, read, read} {
		work.Go(func() {
			for i := range 200 {
				f(i)
			}
		})
	}
	for _, f := range []func(int) error{compactOnce, compactOnce, recodeOnce} {
		work.Go(func() {
			for i := range 100 {
				if err := f(i); err != nil && !errors.Is(err, ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if err := compactOnce(0); err != nil {
		t.Errorf("when nothing else goes on: %v", err)
	}
	g := current(t, c, "d")
	if want := rows[g.ID]; g.Rows != want {
		t.Errorf("%d rows at the end, want %d", g.Rows, want)
	}
	g.Release()
	k.wantKept(t, c)
	c.Clear()
	wantLeases(t, c, 0, 0)
	wantRefs(t, all, 0)
	if _, leaving := c.Held(); leaving != 0 {
		t.Errorf("%d bytes are said to be on their way", leaving)
	}
}
