package catalog

import (
	"errors"
	"testing"
	"time"
)

// Recoding changes bytes and nothing else: the layout keeps its number, leases on it go over to the new batches and let go of
// the old ones. Those on an older generation keep theirs.
func TestRecode(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	fakes := put(t, c, "d", Replace, schema, 1, 2)
	old, older := leaseOf(t, c, "d", time.Hour)
	tail := put(t, c, "d", Append, schema, 3)
	young, newest := leaseOf(t, c, "d", time.Hour)
	again, _ := leaseOf(t, c, "d", time.Hour)
	g := current(t, c, "d")
	first, x := change(t, g, 0, 1, 10)
	last, y := change(t, g, 2, 3, 30)
	now, err := c.Recode(t.Context(), g, []Change{x, y})
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, now, 10, 2, 30)
	if now.ID != g.ID || now.Layout != g.Layout || now.Rows != g.Rows {
		t.Errorf("%+v became %+v", g.Facts(), now.Facts())
	}
	all := addUp(now.Batches, schema.Layout, now.RowColumns)
	if now.Stored != all.stored || now.Decoded != all.decoded {
		t.Errorf("%d stored, %d decoded, want %d and %d", now.Stored, now.Decoded, all.stored, all.decoded)
	}
	if !c.Newest(now) || c.Newest(g) {
		t.Error("the newest is not known")
	}
	now.Release()
	g.Release()
	wantLeases(t, c, 3, fakes[0].stored)
	wantRefs(t, tail, 0) // nobody reads it
	wantRefs(t, []*fakeBatch{fakes[0], last}, 1)
	for _, l := range []Lease{young, again} {
		leased, err := c.Leased(l.ID, newest.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, leased, 10, 2, 30)
		leased.Release()
	}
	leased, err := c.Leased(old.ID, older.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, leased, 1, 2)
	leased.Release()
	if err := c.Drop(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	wantLeases(t, c, 3, fakes[0].stored+fakes[1].stored+first.stored+last.stored)
	for _, l := range []Lease{young, again} {
		if !c.EndLease(l.ID, newest.ID) {
			t.Error("a lease that went over did not run")
		}
	}
	wantRefs(t, []*fakeBatch{first, last}, 0)
	wantLeases(t, c, 1, fakes[0].stored+fakes[1].stored)
	if !c.EndLease(old.ID, older.ID) {
		t.Error("the old lease did not run")
	}
	wantRefs(t, append(fakes, tail[0], first, last), 0)
}

// Recoding neither adds nor leaves out a batch or a row, and takes nothing over where it is refused.
func TestRecodeRefuses(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	put(t, c, "d", Replace, schema, 1, 2)
	g := current(t, c, "d")
	defer g.Release()
	joined, x := change(t, g, 0, 2, 3)
	if _, err := c.Recode(t.Context(), g, []Change{x}); err == nil {
		t.Error("two batches became one")
	}
	other, y := change(t, g, 0, 1, 4)
	other.rows++
	if _, err := c.Recode(t.Context(), g, []Change{y}); err == nil {
		t.Error("a batch became one of more rows")
	}
	other.rows--
	put(t, c, "d", Replace, schema, 7)
	if _, err := c.Recode(t.Context(), g, []Change{y}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	wantRefs(t, []*fakeBatch{joined, other}, 1)
}

// What is recoded of a durable dataset is kept before it is there.
func TestRecodeDurable(t *testing.T) {
	k := newKeeper()
	c, schema := New(Options{Keeper: k}), flat(t)
	fakes, err := commitAs(t, c, "d", Replace, schema, yes, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	k.wantCalls(t, "keep d")
	g := current(t, c, "d")
	defer g.Release()
	made, x := change(t, g, 0, 1, 9)
	k.failing(errKeeper)
	if _, err := c.Recode(t.Context(), g, []Change{x}); !errors.Is(err, errKeeper) {
		t.Errorf("%v, want the keeper's error", err)
	}
	k.failing(nil)
	k.wantCalls(t, "keep d")
	wantRefs(t, append(fakes, made), 1)
	now, err := c.Recode(t.Context(), g, []Change{x})
	if err != nil {
		t.Fatal(err)
	}
	now.Release()
	k.wantCalls(t, "keep d")
	k.wantKept(t, c)
}
