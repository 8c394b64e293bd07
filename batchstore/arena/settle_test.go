package arena

import (
	"testing"
	"testing/synctest"
	"time"
)

// What was freed can be used again for a while without a page fault, and goes back when nobody has used it for as long.
func TestWarmForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArena(t, Options{ReserveBytes: 1 << 30, WarmBytes: 16 * mib, WarmTime: time.Second, HugePages: true})
		released := 0
		a.release = func(p []byte) error {
			released += len(p)
			return decommit(p)
		}
		for range 10 { // one who puts, again and again
			var blocks []Block
			for range 100 {
				blocks = append(blocks, alloc(t, a, 2*mib))
			}
			time.Sleep(400 * time.Millisecond)
			for i := range blocks {
				blocks[i].Free()
			}
			time.Sleep(400 * time.Millisecond)
			if s := a.Stats(); s.Warm != 200*mib || released != 0 {
				t.Fatalf("%d bytes are warm, %d were given back", s.Warm, released)
			}
		}
		b := alloc(t, a, 50*mib) // the rest is not needed any more
		time.Sleep(2*time.Second + time.Millisecond)
		if s := a.Stats(); s.Warm > 16*mib || s.Warm < 8*mib || s.InUse != 50*mib {
			t.Errorf("%d bytes are warm beside a block", s.Warm)
		}
		b.Free()
		if s := a.Stats(); s.Warm < 50*mib {
			t.Errorf("%d bytes are warm", s.Warm)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		if s := a.Stats(); s.Warm > 16*mib || s.Warm < 8*mib {
			t.Errorf("%d bytes are warm in the end", s.Warm)
		}
		a.mu.Lock()
		settling := a.settling
		a.mu.Unlock()
		if settling {
			t.Error("it comes again though nothing is left to do")
		}
	})
}

// What is warm for a while makes way at once for blocks that it does not fit, where both have a bound.
func TestWarmMakesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, huge := range []bool{false, true} {
			a := newArena(t, Options{
				ReserveBytes: 1 << 30, WarmBytes: 16 * mib, TotalBytes: 256 * mib, WarmTime: time.Hour, HugePages: huge,
			})
			var blocks, apart []Block
			for range 64 {
				blocks = append(blocks, alloc(t, a, 2*mib))
				apart = append(apart, alloc(t, a, 2*mib-16<<10)) // so that no two of the others are neighbours
			}
			for i := range blocks {
				blocks[i].Free()
			}
			if s := a.Stats(); s.Warm < 120*mib || s.InUse+s.Warm > 256*mib {
				t.Errorf("%d bytes are warm, %d live", s.Warm, s.InUse)
			}
			for range 30 {
				apart = append(apart, alloc(t, a, 3*mib))
				if s := a.Stats(); s.InUse+s.Warm > 256*mib {
					t.Fatalf("%d bytes are warm, %d live", s.Warm, s.InUse)
				}
			}
			for i := range apart {
				apart[i].Free()
			}
			if s := a.Stats(); s.Warm < 100*mib || s.Warm > 256*mib {
				t.Errorf("%d bytes are warm in the end", s.Warm)
			}
		}
	})
}

// An arena that is closed before its time has come leaves nothing behind.
func TestCloseBeforeItSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := New(Options{ReserveBytes: 256 * mib, WarmTime: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		b := alloc(t, a, 64*mib)
		b.Free()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}
