package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// An append makes a new list, not new batches: each generation that lists a batch holds it once.
func TestAppendShares(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	first := put(t, c, "d", Replace, schema, 1, 2)
	wantRefs(t, first, 1)

	old := current(t, c, "d")
	second := put(t, c, "d", Append, schema, 3)
	wantRefs(t, first, 2) // the old generation, which a reader holds, and the new one
	wantRefs(t, second, 1)
	now := current(t, c, "d")
	if old.Batches[0] != now.Batches[0] || old.Batches[1] != now.Batches[1] {
		t.Error("the append copied batches")
	}
	now.Release()

	old.Release()
	wantRefs(t, first, 1)
	put(t, c, "d", Append, schema, 4)
	wantRefs(t, first, 1) // nobody held the generation in between
	wantRefs(t, second, 1)
}

// Readers keep what they have acquired, whatever becomes of the dataset.
func TestReadersKeepTheirGeneration(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*testing.T, *Catalog)
	}{
		{"replace", func(t *testing.T, c *Catalog) { put(t, c, "d", Replace, flat(t), 7) }},
		{"drop", func(t *testing.T, c *Catalog) {
			if err := c.Drop(context.Background(), "d"); err != nil {
				t.Fatal(err)
			}
		}},
		{"clear", func(_ *testing.T, c *Catalog) { c.Clear() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, schema := newCatalog(), flat(t)
			fakes := put(t, c, "d", Replace, schema, 1, 2)
			one, two := current(t, c, "d"), current(t, c, "d")
			tc.end(t, c)
			rows := fakes[0].rows + fakes[1].rows
			wantIDs(t, one, 1, 2)
			if one.Rows != rows {
				t.Errorf("%d rows, want %d", one.Rows, rows)
			}
			wantRefs(t, fakes, 1)
			one.Release()
			wantRefs(t, fakes, 1)
			two.Release()
			wantRefs(t, fakes, 0)
		})
	}
}

// A generation whose last reference is gone is not given out again, though a caller still knows it.
func TestAcquireAfterTheEnd(t *testing.T) {
	c := newCatalog()
	put(t, c, "d", Replace, flat(t), 1)
	g := current(t, c, "d")
	c.Clear()
	if !g.acquire() {
		t.Fatal("a held generation cannot be acquired")
	}
	g.Release()
	g.Release()
	if g.acquire() {
		t.Error("a generation came back to life after its last release")
	}
}

// One release too many is a fault of the program, and says so.
func TestReleaseTooOften(t *testing.T) {
	c := newCatalog()
	put(t, c, "d", Replace, flat(t), 1)
	g := current(t, c, "d")
	c.Clear()
	g.Release()
	defer func() {
		if r, ok := recover().(string); !ok || !strings.Contains(r, g.ID) {
			t.Errorf("recovered %q, want a panic that names the generation", r)
		}
	}()
	g.Release()
}

// Every way in which a put is refused leaves the references of its batches and of the dataset as they were.
func TestRefusedPutsReturnTheirBatches(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	there := put(t, c, "d", Replace, schema, 1, 2)
	held := current(t, c, "d")
	p, err := c.Begin("d", Append, schema)
	if err != nil {
		t.Fatal(err)
	}
	other := put(t, c, "d", Replace, buildSchema(t, "", int64Field("z")), 3)
	mine, list := batches(t, schema, 4)
	if _, err := p.Commit(context.Background(), list, "zstd", nil); !errors.Is(err, ErrConflict) {
		t.Fatalf("Commit: %v, want ErrConflict", err)
	}
	wantRefs(t, there, 1)
	wantRefs(t, other, 1)
	wantRefs(t, mine, 1)
	mine[0].Release()
	held.Release()
	c.Clear()
	wantRefs(t, append(append(there, other...), mine...), 0)
}
