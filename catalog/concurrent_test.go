package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Appends of several writers at once lose nothing, and every reader sees each writer's batches in order and whole puts
// only.
func TestConcurrentAppends(t *testing.T) {
	const writers, puts, each = 8, 40, 3
	c, schema := newCatalog(), flat(t)
	all := make([][]*fakeBatch, writers)
	var stop atomic.Bool
	var work, readers sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := range puts {
				first := w*puts*each + i*each
				fakes := put(t, c, "d", Append, schema, first, first+1, first+2)
				all[w] = append(all[w], fakes...)
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				g, err := c.Current("d")
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := wholePuts(g, writers, puts*each, each); err != nil {
					t.Errorf("generation %s: %v", g.ID, err)
				}
				g.Release()
			}
		})
	}
	work.Wait()
	stop.Store(true)
	readers.Wait()

	g := current(t, c, "d")
	got := ids(g)
	slices.Sort(got)
	for i, id := range got {
		if i != id {
			t.Fatalf("batch %d is missing or twice", i)
		}
	}
	if len(got) != writers*puts*each {
		t.Errorf("%d batches, want %d", len(got), writers*puts*each)
	}
	wantTotals(t, g, schema, slices.Concat(all...))
	g.Release()
	wantRefs(t, slices.Concat(all...), 1)
	c.Clear()
	wantRefs(t, slices.Concat(all...), 0)
}

// wholePuts checks that a generation is a sequence of whole puts, those of each writer in order.
func wholePuts(g *Generation, writers, span, each int) error {
	next := make([]int, writers)
	list := ids(g)
	if len(list)%each != 0 {
		return fmt.Errorf("%d batches, not a multiple of %d", len(list), each)
	}
	for i := 0; i < len(list); i += each {
		w := list[i] / span
		for k := range each {
			if want := w*span + next[w] + k; list[i+k] != want {
				return fmt.Errorf("batch %d at %d, want %d", list[i+k], i+k, want)
			}
		}
		next[w] += each
	}
	return nil
}

// Of many creates at once one wins, and the others keep their batches.
func TestConcurrentCreates(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	var begun, done sync.WaitGroup
	var won atomic.Int64
	all := make([]*fakeBatch, 16)
	begun.Add(len(all))
	for i := range all {
		done.Go(func() {
			p, err := c.Begin("d", Create, schema)
			begun.Done()
			if err != nil {
				t.Error(err)
				return
			}
			begun.Wait()
			fakes, list := batches(t, schema, i)
			all[i] = fakes[0]
			g, err := p.Commit(context.Background(), list, "zstd", nil)
			switch {
			case err == nil:
				won.Add(1)
				g.Release()
			case errors.Is(err, ErrExists):
				fakes[0].Release()
			default:
				t.Error(err)
			}
		})
	}
	done.Wait()
	if won.Load() != 1 {
		t.Errorf("%d creates succeeded, want 1", won.Load())
	}
	c.Clear()
	wantRefs(t, all, 0)
}

// Puts, drops, lists and readers at once: when all have let go, nothing is held.
func TestConcurrentEverything(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	var mu sync.Mutex
	var all []*fakeBatch
	var work sync.WaitGroup
	for w := range 6 {
		work.Go(func() {
			for i := range 150 {
				name := []string{"a", "b"}[i%2]
				switch {
				case w < 3:
					fakes := put(t, c, name, []Mode{Append, Append, Replace}[(i+w)%3], schema, i, i+1)
					mu.Lock()
					all = append(all, fakes...)
					mu.Unlock()
				case w == 3 && i%10 == 0:
					if err := c.Drop(context.Background(), name); err != nil && !errors.Is(err, ErrNotFound) {
						t.Error(err)
					}
				case w == 4:
					for _, g := range c.List("") {
						g.FactsJSON()
						g.Release()
					}
				default:
					if g, err := c.Current(name); err == nil {
						for _, b := range g.Batches {
							if b.(*fakeBatch).refs.Load() < 1 {
								t.Errorf("a batch of a held generation has no reference")
							}
						}
						g.FactsJSON()
						g.Release()
					}
				}
			}
		})
	}
	work.Wait()
	c.Clear()
	wantRefs(t, all, 0)
}
