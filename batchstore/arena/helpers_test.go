package arena

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// newArena returns an arena of reserve bytes that the test must leave empty.
func newArena(t testing.TB, o Options) *Arena {
	t.Helper()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		checkEmpty(t, a)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func alloc(t testing.TB, a *Arena, n int) Block {
	t.Helper()
	b, err := a.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.B) != n || cap(b.B) < n {
		t.Fatalf("Alloc(%d) has length %d and capacity %d", n, len(b.B), cap(b.B))
	}
	return b
}

// checkEmpty fails unless every page is in one free run.
func checkEmpty(t testing.TB, a *Arena) {
	t.Helper()
	s := a.Stats()
	if s.Allocated != 0 || s.InUse != 0 || s.Blocks != 0 {
		t.Errorf("an empty arena has %+v", s)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.trimming {
		a.trimmed.Wait()
	}
	total := len(a.mem) / a.pageSize
	if r := a.pages.tree; len(a.pages.byStart) != 1 || r == nil || r.start != 0 || r.pages != total {
		t.Errorf("an empty arena has %d free runs", len(a.pages.byStart))
	}
	for class := range a.slabs {
		if n := len(a.slabs[class]); n != 0 {
			t.Errorf("an empty arena has %d slabs of class %d", n, class)
		}
	}
	if err := a.pages.check(total); err != nil {
		t.Error(err)
	}
}

// check verifies the set's own invariants; live pages are those in no run.
func (p *pageSet) check(total int) error {
	warm, count := 0, 0
	var last *run
	var walk func(r *run) error
	walk = func(r *run) error {
		if r == nil {
			return nil
		}
		if err := walk(r.left); err != nil {
			return err
		}
		if last != nil && !last.before(r) {
			return fmt.Errorf("run %d+%d is not before %d+%d", last.start, last.pages, r.start, r.pages)
		}
		last = r
		count++
		warm += r.warm
		wholly := 0
		for u := (r.start + p.unit - 1) / p.unit; (u+1)*p.unit <= r.end(); u++ {
			wholly += p.backed.count(u*p.unit, (u+1)*p.unit)
		}
		switch {
		case r.pages <= 0 || r.start < 0 || r.end() > total:
			return fmt.Errorf("run %d+%d is out of range", r.start, r.pages)
		case p.byStart[r.start] != r || p.byEnd[r.end()] != r:
			return fmt.Errorf("run %d+%d is not in the maps", r.start, r.pages)
		case p.byEnd[r.start] != nil || p.byStart[r.end()] != nil:
			return fmt.Errorf("run %d+%d was not joined with its neighbour", r.start, r.pages)
		case r.warm != p.backed.count(r.start, r.end()):
			return fmt.Errorf("run %d+%d has %d warm pages, not %d", r.start, r.pages, p.backed.count(r.start, r.end()), r.warm)
		case r.reclaimable != wholly:
			return fmt.Errorf("run %d+%d has %d reclaimable pages, not %d", r.start, r.pages, wholly, r.reclaimable)
		}
		was := *r
		r.refresh()
		if was.anyWarm != r.anyWarm || was.anyWholly != r.anyWholly {
			return fmt.Errorf("run %d+%d has stale flags", r.start, r.pages)
		}
		for _, c := range []*run{r.left, r.right} {
			if c != nil && c.priority > r.priority {
				return fmt.Errorf("run %d+%d is above one of higher priority", r.start, r.pages)
			}
		}
		return walk(r.right)
	}
	if err := walk(p.tree); err != nil {
		return err
	}
	if warm != p.warm || count != len(p.byStart) || count != len(p.byEnd) {
		return fmt.Errorf("%d runs, %d and %d in the maps; %d warm pages, counted as %d",
			count, len(p.byStart), len(p.byEnd), warm, p.warm)
	}
	return nil
}

// resident returns the resident memory of the process in bytes, and false where the system does not tell, or tells of the race
// detector's own as well: tens of megabytes, which come and stay at any time.
func resident(t testing.TB) (int64, bool) {
	if runtime.GOOS != "linux" || underRace {
		return 0, false
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, rss int64
	if _, err := fmt.Sscan(string(text), &size, &rss); err != nil {
		t.Fatal(err)
	}
	return rss * int64(os.Getpagesize()), true
}
