package arena

import (
	"fmt"
	"math"
	"os"
	"sync"
	"time"
	"unsafe"
)

// Arena hands out blocks of one reserved range of addresses. Make one with [New]; its owner calls Close.
type Arena struct {
	mapping   []byte // as the system gave it
	mem       []byte // the part of it that starts and ends at a multiple of hugeSize
	pageSize  int
	warmPages int
	warmTime  time.Duration

	totalPages int // 0: no bound
	poison     bool
	release    func([]byte) error // decommit, unless a test has it fail or block
	onFree     func()             // told of memory that was given back

	// mu guards what follows. It is a leaf: nothing is locked and no memory is given back while it is held.
	mu        sync.Mutex
	pages     *pageSet
	slabs     [classes]slabSet
	allocated int64
	blocks    int64
	usedPages int
	closed    bool
	trimming  bool       // a goroutine is in trim
	leaving   int        // backed pages that it is giving back
	settling  bool       // settle is to come
	idle      int        // the fewest warm pages since it was called for
	trimmed   *sync.Cond // pages came back from trim, or trim ended
}

// New reserves the range of addresses. The error wraps [ErrNoMemory] when the system grants none, or says which options
// are wrong.
func New(o Options) (*Arena, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	want := o.ReserveBytes
	if want == 0 {
		want = DefaultReserve
	}
	want = (want + hugeSize - 1) / hugeSize * hugeSize
	mapping, err := reserve(want, mapMemory)
	if err != nil {
		return nil, err
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mapping))) % hugeSize)
	size := (len(mapping) - skip) / hugeSize * hugeSize
	a := &Arena{
		mapping:  mapping,
		mem:      mapping[skip : skip+size : skip+size],
		pageSize: os.Getpagesize(),
		poison:   o.Poison,
		release:  decommit,
		onFree:   func() {},
		warmTime: o.WarmTime,
	}
	unit := 1
	if adviseHuge(a.mem, o.HugePages) {
		unit = hugeSize / a.pageSize
	}
	// A limit above all of the addresses never binds, and this way twice the limit cannot overflow.
	a.warmPages = int(min(o.WarmBytes, int64(size)) / int64(a.pageSize))
	a.totalPages = int(min(o.TotalBytes, int64(size)) / int64(a.pageSize))
	a.pages = newPageSet(size/a.pageSize, unit)
	a.trimmed = sync.NewCond(&a.mu)
	return a, nil
}

// reserve maps want bytes and a huge page more, so that an aligned range of want bytes lies in it; or less where that is
// refused. What the system will grant at most would leave the process nothing for its heap and stacks, so a reserve
// that had to be made smaller is half of the size that was granted.
func reserve(want int64, mapMemory func(size int) ([]byte, error)) ([]byte, error) {
	mapping, err := mapMemory(int(want + hugeSize))
	if err == nil {
		return mapping, nil
	}
	for size := want / 2; size >= 2*hugeSize; size /= 2 {
		probe, perr := mapMemory(int(size))
		if perr != nil {
			continue
		}
		if perr = unmapMemory(probe); perr != nil {
			return nil, fmt.Errorf("arena: reserve %d bytes: %w", size, perr)
		}
		if mapping, perr = mapMemory(int(size/2 + hugeSize)); perr == nil {
			return mapping, nil
		}
	}
	return nil, fmt.Errorf("arena: reserve %d bytes of addresses: %w: %w; raise the limit on address space (ulimit -v)",
		want, ErrNoMemory, err)
}

// Alloc returns a block of n bytes, n >= 0. Its contents are not cleared. The caller owns the block and frees it once.
// The error wraps [ErrNoMemory] when no free run is long enough, [ErrSize] when n is negative, or [ErrClosed].
func (a *Arena) Alloc(n int) (Block, error) {
	return a.AllocWithin(n, math.MaxInt64, nil)
}

// place finds memory for h.asked bytes.
func (a *Arena) place(h *handle) error {
	if h.asked <= smallMax {
		class, size := classOf(h.asked)
		s, err := a.roomySlab(class, size)
		if err != nil {
			return err
		}
		h.slab, h.size, h.offset = s, size, s.take()
		if s.full() {
			a.slabs[class].drop(s)
		}
	} else {
		if h.asked > len(a.mem) {
			return fmt.Errorf("arena: allocate %d bytes of %d: %w", h.asked, len(a.mem), ErrNoMemory)
		}
		count := a.pagesFor(h.asked)
		start, err := a.takePages(count)
		if err != nil {
			return err
		}
		h.size, h.offset = count*a.pageSize, start*a.pageSize
	}
	a.allocated += int64(h.asked)
	a.blocks++
	return nil
}

// roomySlab returns a slab of the class that has a free slot.
func (a *Arena) roomySlab(class, size int) (*slab, error) {
	if c := a.slabs[class]; len(c) > 0 {
		return c[len(c)-1], nil
	}
	start, err := a.takePages(a.pagesFor(slabSize))
	if err != nil {
		return nil, err
	}
	s := &slab{start: start * a.pageSize, size: size, class: class}
	a.slabs[class].add(s)
	return s, nil
}

// takePages takes n pages. When none are free it waits for pages that are on their way back from trim. Every block of a
// closed arena would need new pages, because a slab with room has a live block, so this is where Close is noticed.
func (a *Arena) takePages(n int) (int, error) {
	for {
		if a.closed {
			return 0, fmt.Errorf("arena: allocate %d bytes: %w", n*a.pageSize, ErrClosed)
		}
		if start, ok := a.pages.take(n); ok {
			a.usedPages += n
			a.idle = min(a.idle, a.pages.warm)
			return start, nil
		}
		if a.leaving == 0 {
			return 0, fmt.Errorf("arena: no free run of %d bytes; %d of %d bytes are in use: %w",
				n*a.pageSize, a.usedPages*a.pageSize, len(a.mem), ErrNoMemory)
		}
		a.trimmed.Wait()
	}
}

// givePages takes back n pages from start.
func (a *Arena) givePages(start, n int) {
	a.usedPages -= n
	a.pages.free(start, n)
	a.trim()
}

func (a *Arena) pagesFor(n int) int { return (n + a.pageSize - 1) / a.pageSize }

// Contains reports whether all of p lies in the arena's range, in a live block or not. It must not be called after
// Close, when the range may belong to somebody else.
func (a *Arena) Contains(p []byte) bool {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(a.mem)))
	// An address below base wraps to an offset that is too large.
	offset := uintptr(unsafe.Pointer(unsafe.SliceData(p))) - base
	return offset < uintptr(len(a.mem)) && uintptr(len(p)) <= uintptr(len(a.mem))-offset
}

// Close gives the range back to the system. While blocks are live it does nothing, returns an error that wraps
// [ErrInUse] and says how many there are, and may be called again. After it has succeeded it returns nil.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.trimming && a.blocks == 0 {
		a.trimmed.Wait()
	}
	if a.blocks > 0 {
		return fmt.Errorf("arena: close: %w: %d blocks of %d bytes were not freed", ErrInUse, a.blocks, a.allocated)
	}
	if a.closed {
		return nil
	}
	if err := unmapMemory(a.mapping); err != nil {
		return fmt.Errorf("arena: close: %w", err)
	}
	a.closed = true
	return nil
}
