package catalog

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// Of new datasets that are being kept at the same time, no more come to be there than there may be.
func TestDatasetsBeyondTheMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		c, schema := New(Options{Keeper: k, MaxDatasets: 2}), flat(t)
		put(t, c, "a", Replace, schema, 1)
		goOn := k.holding()
		first := make(chan error)
		go func() {
			_, err := commitAs(t, c, "b", Create, schema, yes, 2)
			first <- err
		}()
		synctest.Wait()
		for _, durable := range []*bool{yes, no} {
			if _, err := commitAs(t, c, "c", Create, schema, durable, 3); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "(option --max-datasets)") {
				t.Errorf("a third dataset, beside one that is being kept: %v", err)
			}
		}
		if _, err := commitAs(t, c, "a", Append, schema, no, 4); err != nil {
			t.Errorf("an append to one that is there: %v", err)
		}
		goOn()
		if err := <-first; err != nil || c.Len() != 2 {
			t.Errorf("%v, and there are %d datasets", err, c.Len())
		}
		if _, err := commitAs(t, c, "b", Replace, schema, yes, 5); err != nil {
			t.Errorf("a replacement of one that is there: %v", err)
		}
		c.Clear()
	})
}

// book is a ledger that keeps sizes.
type book struct {
	sizes map[string]int64
	full  error
}

func (b *book) Fits([]Share, int64) error { return b.full }

func (b *book) Sized(dataset string, bytes int64, _ []Share) {
	if bytes == 0 {
		delete(b.sizes, dataset)
		return
	}
	b.sizes[dataset] = bytes
}

// share is released, or not.
type share struct{ released bool }

func (s *share) Release() { s.released = true }

// The ledger has what datasets come to, whatever becomes of them, and its refusal leaves a dataset as it was.
func TestLedger(t *testing.T) {
	b := &book{sizes: map[string]int64{}}
	c, schema := New(Options{Ledger: b}), flat(t)
	agrees := func() {
		t.Helper()
		list := c.List("")
		if len(list) != len(b.sizes) {
			t.Errorf("%d datasets are there, %v in the ledger", len(list), b.sizes)
		}
		for _, g := range list {
			if b.sizes[g.Dataset] != g.Stored {
				t.Errorf("%q has %d bytes, the ledger says %d", g.Dataset, g.Stored, b.sizes[g.Dataset])
			}
			g.Release()
		}
	}
	put(t, c, "a", Create, schema, 1, 2)
	put(t, c, "a", Append, schema, 3)
	put(t, c, "b", Create, schema, 4)
	agrees()
	put(t, c, "a", Replace, schema, 5)
	agrees()
	g := current(t, c, "a")
	_, list := batches(t, schema, 5)
	list[0].(*fakeBatch).stored = 8
	now, err := c.Recode(t.Context(), g, []Change{{0, 1, list}})
	if err != nil {
		t.Fatal(err)
	}
	now.Release()
	g.Release()
	agrees()

	b.full = errors.New("full")
	fakes, more := batches(t, schema, 6)
	for _, mode := range []Mode{Append, Replace} {
		p, err := c.Begin("a", mode, schema)
		if err != nil {
			t.Fatal(err)
		}
		s := &share{}
		p.Share = s
		if _, err := p.Commit(t.Context(), more, "zstd", nil); !errors.Is(err, b.full) || s.released {
			t.Errorf("it is committed (%v), or lets go of its share", err)
		}
		wantRefs(t, fakes, 1)
	}
	agrees()
	if err := c.Drop(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	agrees()

	tx, err := c.BeginTransaction("c", Append, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tx.Begin(schema)
	if err != nil {
		t.Fatal(err)
	}
	s := &share{}
	p.Share = s
	if _, err := p.Stage(t.Context(), more, "zstd", nil, ""); err != nil || s.released {
		t.Errorf("a part that waits: %v", err)
	}
	if _, err := c.CommitTransaction(t.Context(), "c", tx.ID, nil); !errors.Is(err, b.full) || s.released {
		t.Errorf("the commit: %v", err)
	}
	if _, err := tx.Abort(t.Context()); err != nil || !s.released {
		t.Errorf("after the end of its transaction a part has its share still: %v", err)
	}
	c.Clear()
	agrees()
}
