package arena

import "testing"

// mustTake takes n pages and fails unless they start where they should.
func mustTake(t *testing.T, p *pageSet, n, want int) {
	t.Helper()
	if got, ok := p.take(n); !ok || got != want {
		t.Errorf("take(%d) = %d, %t; want %d", n, got, ok, want)
	}
}

func TestTakePrefersWarmRuns(t *testing.T) {
	p := newPageSet(64, 1)
	mustTake(t, p, 64, 0)
	p.give(40, 8) // warm
	p.give(20, 6)
	p.give(0, 4)
	p.remove(p.byStart[0])
	p.backed.clear(0, 4)
	p.give(0, 4)          // cold
	mustTake(t, p, 4, 20) // the cold run fits best, but costs page faults
	mustTake(t, p, 7, 40)
	mustTake(t, p, 3, 0) // no warm run is long enough any more
}

func TestTakeBestFitLowestFirst(t *testing.T) {
	p := newPageSet(64, 1)
	mustTake(t, p, 64, 0)
	for _, start := range []int{50, 10, 30} {
		p.give(start, 5)
	}
	p.give(0, 4)
	mustTake(t, p, 5, 10)
	mustTake(t, p, 4, 0)
	mustTake(t, p, 1, 30)
	mustTake(t, p, 5, 50)
	if _, ok := p.take(5); ok {
		t.Error("took five pages where only four are together")
	}
}

func TestTakeUsesTheWarmEnd(t *testing.T) {
	p := newPageSet(64, 1)
	mustTake(t, p, 64, 0)
	p.give(0, 64)
	p.remove(p.byStart[0])
	p.backed.clear(0, 48)
	p.give(0, 64)
	mustTake(t, p, 10, 54)
	mustTake(t, p, 60-6, 0)
	if p.warm != 0 {
		t.Errorf("%d warm pages are left", p.warm)
	}
}

// The first touch of a huge page brings in all of it, so what is left of it is warm, and is used next.
func TestTouchWarmsTheWholeUnit(t *testing.T) {
	p := newPageSet(64, 8)
	mustTake(t, p, 3, 0)
	if p.warm != 5 {
		t.Errorf("%d pages are warm beside a block of 3 in a unit of 8", p.warm)
	}
	mustTake(t, p, 10, 3) // ends in the second unit
	if p.warm != 3 {
		t.Errorf("%d pages are warm, want the 3 left of the second unit", p.warm)
	}
	if err := p.check(64); err != nil {
		t.Error(err)
	}
	// A unit that is backed in part was split: touching it brings in single pages.
	p.give(3, 10)
	p.remove(p.byStart[3])
	p.backed.clear(4, 64)
	p.give(3, 61)
	mustTake(t, p, 3, 3)
	if p.warm != 0 {
		t.Errorf("%d pages are warm beside a block in a split unit", p.warm)
	}
}

func TestCarve(t *testing.T) {
	type piece struct{ start, n, warm int }
	for name, tc := range map[string]struct {
		lo, hi       int // the free pages
		cold         [][2]int
		want         int
		wholly       bool
		piece        piece
		nothingAtAll bool
	}{
		"the high end of what is asked": {0, 64, nil, 10, true, piece{48, 16, 16}, false},
		"edges are not whole units":     {3, 61, nil, 1000, true, piece{8, 48, 48}, false},
		"edges page by page":            {3, 61, nil, 4, false, piece{57, 4, 4}, false},
		"up to a cold unit":             {0, 64, [][2]int{{32, 40}}, 1000, true, piece{40, 24, 24}, false},
		"over cold pages of a unit":     {0, 64, [][2]int{{33, 39}, {60, 64}}, 1000, true, piece{0, 64, 54}, false},
		"up to a cold page":             {0, 64, [][2]int{{60, 64}, {33, 39}}, 1000, false, piece{39, 21, 21}, false},
		"no whole unit":                 {1, 15, nil, 1000, true, piece{}, true},
		"a unit that is cold":           {0, 16, [][2]int{{0, 16}}, 1000, false, piece{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPageSet(64, 8)
			mustTake(t, p, 64, 0)
			for _, c := range tc.cold {
				p.backed.clear(c[0], c[1])
			}
			p.give(tc.lo, tc.hi-tc.lo)
			before := p.warm
			start, n, warm, ok := p.carve(tc.want, tc.wholly)
			if got := (piece{start, n, warm}); ok == tc.nothingAtAll || got != tc.piece {
				t.Errorf("carved %+v, %t; want %+v", got, ok, tc.piece)
			}
			if err := p.check(64); err != nil {
				t.Error(err)
			}
			if !ok {
				return
			}
			if p.warm != before-warm {
				t.Errorf("%d pages are warm, want %d less than %d", p.warm, warm, before)
			}
			p.give(start, n)
			if len(p.byStart) != 1 || p.warm != before {
				t.Errorf("given back: %d runs, %d warm pages", len(p.byStart), p.warm)
			}
		})
	}
}

// A part of a huge page that was given back may be filled up by the kernel. Once it is free as a whole all of it counts, so that
// it goes back as a whole.
func TestAFreeUnitCountsAsAWhole(t *testing.T) {
	p := newPageSet(64, 8)
	mustTake(t, p, 3, 0)
	mustTake(t, p, 13, 3)
	p.free(3, 5)
	start, n, _, ok := p.carve(5, false)
	if !ok || start != 3 || n != 5 {
		t.Fatalf("carved %d pages from %d, %t; want 5 from 3", n, start, ok)
	}
	p.backed.clear(start, start+n)
	p.give(start, n)
	for _, step := range []struct{ start, pages, warm int }{{0, 3, 8}, {8, 2, 8 + 2}, {12, 4, 8 + 6}, {10, 2, 16}} {
		p.free(step.start, step.pages)
		if p.warm != step.warm {
			t.Errorf("with %d pages from %d free there are %d warm, want %d", step.pages, step.start, p.warm, step.warm)
		}
	}
	if err := p.check(64); err != nil {
		t.Error(err)
	}
}
