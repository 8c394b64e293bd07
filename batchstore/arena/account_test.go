package arena

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestAllocWithin(t *testing.T) {
	a, err := New(Options{ReserveBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	freed := 0
	a.OnFree(func() {
		freed++
		a.Stats() // no lock is held
	})
	const page, slab = 4 << 10, slabSize
	size := func(n int) int64 { return int64(a.pagesFor(n) * a.pageSize) }
	full := func(n int, most, over int64) {
		t.Helper()
		_, err := a.AllocWithin(n, most, nil)
		if e, ok := errors.AsType[FullError](err); !ok || e.Over != over {
			t.Errorf("%d bytes within %d: %v, want %d over", n, most, err, over)
		}
	}
	full(1<<20, 1<<20-1, 1)
	full(1, slab-1, 1)
	full(1<<20, -5, 1<<20+5)
	full(math.MaxInt>>1, 0, (math.MaxInt>>1)+1)
	small, err := a.AllocWithin(100, slab, nil)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := a.AllocWithin(100, 0, nil) // in the slab that there is
	if err != nil {
		t.Fatal(err)
	}
	full(20<<10, slab, size(20<<10))
	large, err := a.AllocWithin(20<<10+1, slab+size(20<<10+1), nil)
	if err != nil {
		t.Fatal(err)
	}
	large.Shrink(page)
	for _, b := range []*Block{&small, &beside, &large} {
		b.Free()
	}
	if freed != 4 {
		t.Errorf("told %d times", freed)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// Accounts add up to what their blocks take, through moves, cuts and frees.
func TestAccounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	a, err := New(Options{ReserveBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	all := &Account{}
	accounts := []*Account{nil, {Parent: all}, {Parent: all}, {}}
	type held struct {
		b Block
		c *Account
	}
	var live []held
	for range 2000 {
		switch k := r.IntN(5); {
		case k < 2:
			c := accounts[r.IntN(len(accounts))]
			b, err := a.AllocWithin(r.IntN(40<<10), math.MaxInt64, c)
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, held{b, c})
		case len(live) == 0:
		case k == 2:
			h := &live[r.IntN(len(live))]
			h.c = accounts[r.IntN(len(accounts))]
			h.b.Move(h.c)
		case k == 3:
			h := &live[r.IntN(len(live))]
			h.b.Shrink(r.IntN(len(h.b.B) + 1))
		default:
			i := r.IntN(len(live))
			live[i].b.Free()
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		bytes, blocks := map[*Account]int64{}, map[*Account]int64{}
		for _, h := range live {
			for c := h.c; c != nil; c = c.Parent {
				bytes[c] += int64(cap(h.b.handle.memory()))
				blocks[c]++
			}
		}
		for i, c := range append(accounts[1:], all) {
			if c.Bytes() != bytes[c] || c.Blocks() != blocks[c] {
				t.Fatalf("account %d: %d bytes in %d blocks, want %d in %d", i, c.Bytes(), c.Blocks(), bytes[c], blocks[c])
			}
		}
	}
	for _, h := range live {
		h.b.Free()
	}
	var none Block
	none.Move(all)
	if all.Bytes() != 0 || all.Blocks() != 0 {
		t.Errorf("at the end: %d bytes in %d blocks", all.Bytes(), all.Blocks())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
