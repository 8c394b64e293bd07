package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func claimed(t testing.TB, c *Catalog, dataset, id string) *PutClaim {
	t.Helper()
	claim, facts, err := c.ClaimPut(t.Context(), dataset, id, Sent{})
	if err != nil || claim == nil {
		t.Fatalf("claim of %q: %s, %v", id, facts, err)
	}
	return claim
}

func wantKnown(t testing.TB, c *Catalog, dataset, id, want string) {
	t.Helper()
	if claim, facts, err := c.ClaimPut(t.Context(), dataset, id, Sent{}); claim != nil || string(facts) != want || err != nil {
		t.Errorf("%q of %q: %v, %s, %v; want the facts %s", id, dataset, claim, facts, err, want)
	}
}

func TestPutIDs(t *testing.T) {
	c := newCatalog()
	first := claimed(t, c, "d", "p")
	first.Done([]byte("facts"), nil)
	first.Abort() // which comes too late to do anything
	wantKnown(t, c, "d", "p", "facts")
	claimed(t, c, "e", "p").Abort() // another dataset's
	aborted := claimed(t, c, "d", "q")
	aborted.Abort()
	aborted.Done([]byte("no"), nil)
	claimed(t, c, "d", "q").Done([]byte("second"), nil)
	wantKnown(t, c, "d", "q", "second")
	var none *PutClaim
	none.Done(nil, nil)
	none.Abort()
}

// Of many puts of one id at a time one is stored, and all others have its facts.
func TestDuplicatePutsWait(t *testing.T) {
	c := newCatalog()
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored := 0
	for range 16 {
		wg.Go(func() {
			claim, facts, err := c.ClaimPut(t.Context(), "d", "p", Sent{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case claim == nil && string(facts) != "facts":
				t.Errorf("answered %q", facts)
			case claim != nil && stored < 3: // the first ones fail
				stored++
				claim.Abort()
			case claim != nil:
				stored++
				claim.Done([]byte("facts"), nil)
			}
		})
	}
	wg.Wait()
	if stored != 4 {
		t.Errorf("%d puts were let in, want the three that fail and the one that does not", stored)
	}
}

func TestDuplicateThatIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		claim := claimed(t, c, "d", "p")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, _, err := c.ClaimPut(ctx, "d", "p", Sent{})
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that waited: %v", err)
		}
		claim.Abort()
	})
}

func TestPutIDsAreForgotten(t *testing.T) {
	now := noon
	c := New(Options{Now: func() time.Time { return now }})
	claimed(t, c, "d", "old").Done([]byte("old"), nil)
	now = now.Add(keptPutTime - 1)
	wantKnown(t, c, "d", "old", "old")
	claimed(t, c, "d", "0").Done([]byte("0"), nil)
	now = now.Add(1)
	claimed(t, c, "d", "old").Abort()
	wantKnown(t, c, "d", "0", "0")
	for i := 1; i < keptPuts; i++ {
		id := fmt.Sprint(i)
		claimed(t, c, "d", id).Done([]byte(id), nil)
	}
	wantKnown(t, c, "d", "0", "0") // the last of 10,000
	claimed(t, c, "d", "next").Done([]byte("next"), nil)
	claimed(t, c, "d", "0").Abort()
	wantKnown(t, c, "d", "1", "1")
	if len(c.puts.byID) != keptPuts || c.puts.done.Len() != keptPuts {
		t.Errorf("%d ids and %d puts are kept", len(c.puts.byID), c.puts.done.Len())
	}
}

// Facts of very wide tables do not add up to any size: later ones are kept in short.
func TestPutFactsAreBounded(t *testing.T) {
	c := newCatalog()
	wide := make([]byte, keptPutBytes)
	claimed(t, c, "d", "wide").Done(wide, nil)
	claimed(t, c, "d", "more").Done([]byte("long"), func() []byte { return []byte("short") })
	wantKnown(t, c, "d", "more", "short")
	wantKnown(t, c, "d", "wide", string(wide))
}
