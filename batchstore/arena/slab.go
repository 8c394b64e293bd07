package arena

import "math/bits"

const (
	// smallMax is the largest block that is a slot of a slab; a run of pages would waste up to a page on it.
	smallMax = 16 << 10

	// slabSize is the size of every slab, whatever its slots: at least 16 of them, and little enough that 28 sizes with
	// one slab each stay under 8 MiB.
	slabSize = 256 << 10

	// classes is how many slot sizes there are: multiples of 64 up to 512, then four to each doubling up to smallMax,
	// so that a slot is at most a quarter larger than what needs it, or 64 bytes.
	classes = 8 + 4*5
)

// classOf returns the class of the smallest slot that holds n bytes, 0 <= n <= smallMax, and the slot's size.
func classOf(n int) (class, size int) {
	n = max(n, 1)
	if n <= 512 {
		class = (n - 1) / 64
		return class, (class + 1) * 64
	}
	// The doubling that n lies in starts above 1<<shift; its four slots are a quarter of that apart.
	shift := bits.Len(uint(n-1)) - 1
	step := 1 << (shift - 2)
	quarter := (n - 1 - 1<<shift) / step
	return 8 + (shift-9)*4 + quarter, 1<<shift + (quarter+1)*step
}

// slab is a run of pages cut into slots of one size. It is guarded by the Arena's mutex.
type slab struct {
	start int // byte offset in the arena
	size  int // of a slot
	class int
	live  int      // slots handed out
	fresh int      // slots from here on were never used
	free  []uint16 // slots that came back; the last one, likely still in a cache, goes out first
	place int      // index among the class's slabs with room, or -1
}

func (s *slab) full() bool { return len(s.free) == 0 && s.fresh == slabSize/s.size }

// take hands out a slot of a slab that is not full and returns its byte offset.
func (s *slab) take() int {
	slot := s.fresh
	if n := len(s.free); n > 0 {
		slot = int(s.free[n-1])
		s.free = s.free[:n-1]
	} else {
		s.fresh++
	}
	s.live++
	return s.start + slot*s.size
}

// give takes back the slot at a byte offset.
func (s *slab) give(offset int) {
	s.free = append(s.free, uint16((offset-s.start)/s.size))
	s.live--
}

// slabSet holds the slabs of one class that have room, in no order. Full slabs are known to their blocks only.
type slabSet []*slab

func (c *slabSet) add(s *slab) {
	s.place = len(*c)
	*c = append(*c, s)
}

func (c *slabSet) drop(s *slab) {
	last := len(*c) - 1
	(*c)[s.place] = (*c)[last]
	(*c)[s.place].place = s.place
	(*c)[last] = nil
	*c = (*c)[:last]
	s.place = -1
}
