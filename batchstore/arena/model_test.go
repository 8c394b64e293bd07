package arena

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// held is a live block and what the model knows of it.
type held struct {
	b  Block
	n  int
	id uint64
}

// stamp writes the block's id where a neighbour that overlaps would too: blocks start at multiples of 64.
func (h *held) stamp() {
	for i := 0; i+8 <= h.n; i += 64 {
		binary.LittleEndian.PutUint64(h.b.B[i:], h.id)
	}
}

func (h *held) verify(t testing.TB) {
	t.Helper()
	if len(h.b.B) != h.n {
		t.Fatalf("block %d has %d bytes, not %d", h.id, len(h.b.B), h.n)
	}
	for i := 0; i+8 <= h.n; i += 64 {
		if got := binary.LittleEndian.Uint64(h.b.B[i:]); got != h.id {
			t.Fatalf("block %d of %d bytes holds block %d at %d", h.id, h.n, got, i)
		}
	}
}

// model plays allocations and frees against an arena of its own, and checks it after each.
type model struct {
	t    testing.TB
	a    *Arena
	live []*held
	ids  uint64
}

func (m *model) alloc(n int) {
	b, err := m.a.Alloc(n)
	if err != nil {
		if !errors.Is(err, ErrNoMemory) {
			m.t.Fatal(err)
		}
		// The one who says that there is no room has to be right.
		count := m.a.pagesFor(n)
		if n <= smallMax {
			count = m.a.pagesFor(slabSize)
		}
		if r := bestFit(m.a.pages.tree, count, false); r != nil {
			m.t.Fatalf("Alloc(%d) failed with %d free pages at %d: %v", n, r.pages, r.start, err)
		}
		return
	}
	if !m.a.Contains(b.B) {
		m.t.Fatalf("a block of %d bytes is outside", n)
	}
	m.ids++
	h := &held{b: b, n: n, id: m.ids}
	h.stamp()
	m.live = append(m.live, h)
	m.check(false)
}

func (m *model) free(i int) {
	h := m.live[i]
	h.verify(m.t)
	used := m.a.usedPages
	h.b.Free()
	m.live[i] = m.live[len(m.live)-1]
	m.live = m.live[:len(m.live)-1]
	m.check(m.a.usedPages < used)
}

func (m *model) shrink(i, n int) {
	h := m.live[i]
	n = min(n, h.n)
	h.verify(m.t)
	used := m.a.usedPages
	h.b.Shrink(n)
	h.n = n
	h.verify(m.t)
	m.check(m.a.usedPages < used)
}

// check compares the statistics with what is live, and the set's invariants. When pages came back the warm limits hold
// too; an allocation may have warmed the rest of a unit since.
func (m *model) check(cameBack bool) {
	m.t.Helper()
	want := Stats{Reserved: int64(len(m.a.mem)), Blocks: int64(len(m.live))}
	slabs := map[*slab]bool{}
	for _, h := range m.live {
		want.Allocated += int64(h.n)
		if s := h.b.handle.slab; s == nil {
			want.InUse += int64(cap(h.b.B))
		} else if !slabs[s] {
			slabs[s] = true
			want.InUse += slabSize
		}
	}
	got := m.a.Stats()
	want.Warm = got.Warm
	if got != want {
		m.t.Fatalf("statistics are %+v, want %+v", got, want)
	}
	p := m.a.pages
	if err := p.check(len(m.a.mem) / m.a.pageSize); err != nil {
		m.t.Fatal(err)
	}
	if !cameBack {
		return
	}
	if p.warm > m.a.warmPages && longestWarm(p.tree, true) != nil {
		m.t.Fatalf("%d warm pages are above %d, and whole units could go", p.warm, m.a.warmPages)
	}
	if p.warm > 2*m.a.warmPages {
		m.t.Fatalf("%d warm pages are above twice %d", p.warm, m.a.warmPages)
	}
}

func (m *model) finish() {
	for len(m.live) > 0 {
		m.free(len(m.live) / 2)
	}
	checkEmpty(m.t, m.a)
	if err := m.a.Close(); err != nil {
		m.t.Error(err)
	}
}

// size draws a block size: mostly small ones and bodies, some on a boundary.
func size(r *rand.Rand, limit int) int {
	switch r.IntN(8) {
	case 0, 1, 2:
		return r.IntN(smallMax + 1)
	case 3:
		return smallMax + r.IntN(2)
	case 4:
		return hugeSize - 1 + r.IntN(3)
	default:
		return r.IntN(limit)
	}
}

func TestModel(t *testing.T) {
	steps := 1500
	if underRace {
		steps = 500 // of one goroutine
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for name, o := range map[string]Options{
		"huge":     {ReserveBytes: 64 * mib, WarmBytes: 4 * mib, HugePages: true},
		"pages":    {ReserveBytes: 64 * mib, WarmBytes: 4 * mib},
		"cold":     {ReserveBytes: 32 * mib, HugePages: true},
		"all warm": {ReserveBytes: 32 * mib, WarmBytes: 1 << 40, HugePages: true},
		"poison":   {ReserveBytes: 16 * mib, WarmBytes: mib, HugePages: true, Poison: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(len(name))))
			a, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			m := &model{t: t, a: a}
			for step := range steps {
				// Phases of growth and of decline reach both a full arena and an empty one.
				grow := 6
				if step/250%2 == 1 {
					grow = 3
				}
				switch k := r.IntN(10); {
				case k < grow || len(m.live) == 0:
					m.alloc(size(r, int(o.ReserveBytes/16)))
				case k == 9:
					i := r.IntN(len(m.live))
					m.shrink(i, r.IntN(m.live[i].n+1))
				default:
					m.free(r.IntN(len(m.live)))
				}
			}
			m.finish()
		})
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add([]byte{0, 200, 0, 0, 255, 255, 2, 0, 10, 1, 0, 0}, true)
	f.Add([]byte{0, 0, 16, 0, 0, 16, 1, 1, 0, 0, 1, 16, 2, 0, 0, 1, 0, 0, 1, 0, 0}, false)
	f.Add([]byte{0, 255, 255, 0, 255, 255, 0, 255, 255, 1, 1, 0, 2, 0, 128, 0, 3, 0, 1, 0, 0}, true)
	f.Fuzz(func(t *testing.T, ops []byte, huge bool) {
		a, err := New(Options{ReserveBytes: 8 * mib, WarmBytes: mib, HugePages: huge})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, a: a}
		// An operation is a kind and a number; the number's unit reaches from bytes to several huge pages.
		for ; len(ops) >= 3 && m.ids < 300; ops = ops[3:] {
			n := int(binary.LittleEndian.Uint16(ops[1:]))
			switch kind := ops[0] % 4; {
			case kind == 0 || len(m.live) == 0:
				m.alloc(n << (ops[0] / 4 % 8))
			case kind == 1:
				m.shrink(n%len(m.live), n)
			default:
				m.free(n % len(m.live))
			}
		}
		m.finish()
	})
}

func TestConcurrentUse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	a := newArena(t, Options{ReserveBytes: 512 * mib, WarmBytes: 2 * mib, HugePages: true})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			var live []*held
			for step := range 400 {
				if len(live) < 12 {
					n := size(r, 3*mib)
					b, err := a.Alloc(n)
					if err != nil {
						t.Error(err)
						break
					}
					h := &held{b: b, n: n, id: uint64(worker)<<32 | uint64(step)}
					h.stamp()
					live = append(live, h)
				}
				i := r.IntN(len(live))
				h := live[i]
				h.verify(t)
				if r.IntN(3) == 0 {
					h.n = r.IntN(h.n + 1)
					h.b.Shrink(h.n)
				} else {
					h.b.Free()
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
				}
				if s := a.Stats(); s.Blocks < int64(len(live)) || s.InUse < s.Allocated {
					t.Errorf("%d blocks are live: %+v", len(live), s)
				}
			}
			for _, h := range live {
				h.verify(t)
				h.b.Free()
			}
		})
	}
	wg.Wait()
}
