package arena

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"
)

// noise is what Go's own heap may add to resident memory while a test runs.
const noise = 24 * mib

func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func TestFreedMemoryGoesBack(t *testing.T) {
	const size, warm = 256 * mib, 16 * mib
	for name, tc := range map[string]struct {
		block int
		huge  bool
	}{
		"huge pages, blocks of a megabyte and odd": {mib + 70_000, true},
		"small pages":               {mib + 70_000, false},
		"one block":                 {size, true},
		"small blocks, huge pages":  {9_000, true},
		"small blocks, small pages": {200, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, Options{ReserveBytes: 1 << 34, WarmBytes: warm, HugePages: tc.huge})
			debug.FreeOSMemory()
			before, ok := resident(t)
			if !ok {
				t.Log("resident memory is not known; only the arena's own figures are checked")
			}
			var blocks []Block
			for n := 0; n < size && len(blocks) < 50_000; n += tc.block {
				b := alloc(t, a, tc.block)
				touch(b.B)
				blocks = append(blocks, b)
			}
			used := a.Stats().InUse
			if during, ok := resident(t); ok && during < before+used-noise {
				t.Errorf("%d bytes in use are not resident: %d before, %d now", used, before, during)
			}
			for i := range blocks {
				blocks[i].Free()
			}
			debug.FreeOSMemory()
			if s := a.Stats(); s.Warm > warm {
				t.Errorf("%d bytes are warm", s.Warm)
			}
			if after, ok := resident(t); ok && after > before+warm+noise {
				t.Errorf("%d bytes are resident, %d before, %d may be warm", after, before, warm)
			}
		})
	}
}

// Blocks that stay spread over all of the memory must not keep all of it resident.
func TestFragmentsGoBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const warm = 16 * mib
	a := newArena(t, Options{ReserveBytes: 1 << 34, WarmBytes: warm, HugePages: true})
	debug.FreeOSMemory()
	before, _ := resident(t)
	var blocks []Block
	for range 400 {
		// A body is encoded into the room that it needs at most, which is then cut.
		b := alloc(t, a, 4*mib)
		n := 500_000 + r.IntN(400_000)
		touch(b.B[:n])
		b.Shrink(n)
		blocks = append(blocks, b)
	}
	check := func(when string) {
		t.Helper()
		s := a.Stats()
		if s.Warm > 2*warm+4*mib {
			t.Errorf("%s: %d bytes are warm", when, s.Warm)
		}
		if after, ok := resident(t); ok && after > before+s.InUse+s.Warm+noise {
			t.Errorf("%s: %d bytes are resident, %d before, %+v", when, after, before, s)
		}
	}
	check("all live")
	if s := a.Stats(); s.InUse > 2*s.Allocated {
		t.Errorf("blocks that were cut keep their memory: %+v", s)
	}
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for i := range blocks[100:] {
		blocks[100+i].Free()
	}
	check("a quarter live")
	for i := range blocks[:100] {
		blocks[i].Free()
	}
	check("none live")
}
