package arena

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A full arena whose free pages are on their way to the system is not out of memory.
func TestAllocWaitsForTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArena(t, Options{ReserveBytes: 4 * mib})
		all := len(a.mem)
		b := alloc(t, a, all)
		result := make(chan error, 1)
		calls := 0
		a.release = func(p []byte) error {
			if calls++; calls == 1 {
				go func() {
					c, err := a.Alloc(all)
					if err == nil {
						c.Free()
					}
					result <- err
				}()
				synctest.Wait()
				if len(result) > 0 {
					t.Error("Alloc did not wait")
				}
				if s := a.Stats(); s.InUse != 0 || s.Warm != int64(all) {
					t.Errorf("while pages leave: %+v", s)
				}
			}
			return decommit(p)
		}
		b.Free()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if s := a.Stats(); s.Warm != 0 {
			t.Errorf("in the end: %+v", s)
		}
	})
}

func TestCloseWaitsForTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := New(Options{ReserveBytes: 4 * mib})
		if err != nil {
			t.Fatal(err)
		}
		b := alloc(t, a, mib)
		closed := make(chan error, 1)
		a.release = func(p []byte) error {
			go func() { closed <- a.Close() }()
			synctest.Wait()
			if len(closed) > 0 {
				t.Error("Close unmapped pages that were being given back")
				return nil
			}
			return decommit(p)
		}
		b.Free()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// Pages that the system does not take stay warm, usable and counted, and are offered again.
func TestTrimSurvivesRefusal(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 8 * mib})
	refuse := true
	a.release = func(p []byte) error {
		if refuse {
			return errors.New("refused")
		}
		return decommit(p)
	}
	b, c := alloc(t, a, mib), alloc(t, a, mib)
	b.Free()
	if s := a.Stats(); s.Warm != mib || s.InUse != mib {
		t.Errorf("refused: %+v", s)
	}
	b = alloc(t, a, mib)
	if s := a.Stats(); s.Warm != 0 {
		t.Errorf("used again: %+v", s)
	}
	b.Free()
	refuse = false
	c.Free()
	if s := a.Stats(); s.Warm != 0 {
		t.Errorf("accepted: %+v", s)
	}
}

// Freeing block after block costs one call to the system for each eighth of the limit, not one for each block.
func TestTrimGathers(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 64 * mib, WarmBytes: 16 * mib})
	calls := 0
	a.release = func(p []byte) error {
		calls++
		return decommit(p)
	}
	var blocks []Block
	for range 48 * 16 {
		blocks = append(blocks, alloc(t, a, mib/16))
	}
	for i := range blocks {
		blocks[i].Free()
	}
	if want := (48 - 16) / 2; calls > want+1 || calls == 0 {
		t.Errorf("%d calls for 32 MiB above the limit, want about %d", calls, want)
	}
}

// Free memory makes way for blocks as these come near the bound of both; an eighth of it stays all the same.
func TestTotalBytes(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 256 * mib, WarmBytes: 64 * mib, TotalBytes: 128 * mib})
	var blocks []Block
	for range 96 {
		blocks = append(blocks, alloc(t, a, mib))
	}
	free := func(n int) {
		for range n {
			blocks[0].Free()
			blocks = blocks[1:]
		}
	}
	free(16)
	if s := a.Stats(); s.InUse+s.Warm > 128*mib || s.Warm < 8*mib {
		t.Errorf("%d bytes live, %d warm", s.InUse, s.Warm)
	}
	for range 60 {
		blocks = append(blocks, alloc(t, a, mib))
	}
	free(4)
	if s := a.Stats(); s.InUse != 136*mib || s.Warm > 2*8*mib {
		t.Errorf("%d bytes live, %d warm", s.InUse, s.Warm)
	}
	free(100)
	if s := a.Stats(); s.InUse != 36*mib || s.Warm < 32*mib || s.Warm > 64*mib {
		t.Errorf("%d bytes live, %d warm", s.InUse, s.Warm)
	}
	free(len(blocks))
}

// Holes in huge pages that live blocks hold in part make way too, though giving them back splits the pages.
func TestTotalBytesOfHoles(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 512 * mib, WarmBytes: 64 * mib, TotalBytes: 128 * mib, HugePages: true})
	var blocks []Block
	for range 112 {
		blocks = append(blocks, alloc(t, a, mib))
	}
	for i := range blocks {
		if i%2 == 1 {
			blocks[i].Free()
		}
	}
	for range 15 {
		blocks = append(blocks, alloc(t, a, 4*mib))
	}
	blocks[0].Free()
	if s := a.Stats(); s.InUse != 115*mib || s.InUse+s.Warm > 128*mib {
		t.Errorf("%d bytes live, %d warm", s.InUse, s.Warm)
	}
	for i := range blocks {
		if i == 0 || i < 112 && i%2 == 1 {
			continue
		}
		blocks[i].Free()
	}
}
