package arena

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"
)

const mib = 1 << 20

func TestAllocSizes(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 64 * mib})
	for _, tc := range []struct{ n, capacity int }{
		{0, 64}, {1, 64}, {64, 64}, {65, 128}, {512, 512}, {513, 640}, {640, 640}, {641, 768}, {1024, 1024},
		{1025, 1280}, {16383, 16384}, {16384, 16384},
		{16385, a.pagesFor(16385) * a.pageSize}, {mib, mib}, {mib + 1, mib + a.pageSize},
	} {
		b := alloc(t, a, tc.n)
		if cap(b.B) != tc.capacity {
			t.Errorf("Alloc(%d) has capacity %d, want %d", tc.n, cap(b.B), tc.capacity)
		}
		if p := uintptr(unsafe.Pointer(unsafe.SliceData(b.B))); p%64 != 0 {
			t.Errorf("Alloc(%d) is at %#x", tc.n, p)
		}
		b.Free()
	}
	if _, err := a.Alloc(-1); !errors.Is(err, ErrSize) {
		t.Errorf("Alloc(-1): %v", err)
	}
}

func TestClassesFit(t *testing.T) {
	last, sizes := -1, map[int]int{}
	for n := 0; n <= smallMax; n++ {
		class, size := classOf(n)
		if class < last || class >= classes || size < n || size%64 != 0 || size-n > max(64, n/4) {
			t.Fatalf("classOf(%d) = %d, %d after class %d", n, class, size, last)
		}
		if s, ok := sizes[class]; ok && s != size {
			t.Fatalf("class %d is of %d and of %d bytes", class, s, size)
		}
		last, sizes[class] = class, size
	}
	if len(sizes) != classes {
		t.Errorf("%d classes are used, not %d", len(sizes), classes)
	}
}

func TestSmallBlocksShareSlabs(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 64 * mib})
	var blocks []Block
	for range slabSize/1024 + 1 {
		blocks = append(blocks, alloc(t, a, 1000))
	}
	if s := a.Stats(); s.InUse != 2*slabSize || s.Allocated != int64(1000*len(blocks)) || s.Blocks != int64(len(blocks)) {
		t.Errorf("%d blocks: %+v", len(blocks), s)
	}
	// A slot that comes back goes out again before a fresh slab is made.
	first := &blocks[0].B[0]
	blocks[0].Free()
	last := len(blocks) - 1
	blocks[last].Free()
	blocks[0] = alloc(t, a, 1024)
	if &blocks[0].B[0] != first {
		t.Error("the free slot was not used again")
	}
	for i := range blocks[:last] {
		blocks[i].Free()
	}
}

func TestShrinkGivesPagesBack(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 64 * mib, WarmBytes: 8 * mib})
	b := alloc(t, a, 4*mib)
	copy(b.B, "kept")
	b.Shrink(700_000)
	want := int64(a.pagesFor(700_000) * a.pageSize)
	if s := a.Stats(); s.InUse != want || s.Allocated != 700_000 || int64(cap(b.B)) != want || len(b.B) != 700_000 {
		t.Errorf("shrunk: %+v, length %d, capacity %d", s, len(b.B), cap(b.B))
	}
	c := alloc(t, a, 4*mib)
	if unsafe.Pointer(&c.B[0]) != unsafe.Add(unsafe.Pointer(&b.B[0]), want) {
		t.Error("the next block does not begin where the shrunk one ends")
	}
	c.Free()
	b.Shrink(0)
	if s := a.Stats(); s.InUse != int64(a.pageSize) || s.Allocated != 0 {
		t.Errorf("shrunk to nothing: %+v", s)
	}
	b.Shrink(0)
	if string(b.B[:4]) != "kept" {
		t.Errorf("contents are %q", b.B[:4])
	}
	b.Free()

	small := alloc(t, a, 900)
	small.Shrink(10)
	if s := a.Stats(); s.Allocated != 10 || len(small.B) != 10 || cap(small.B) != 1024 {
		t.Errorf("a small block shrunk: %+v, capacity %d", s, cap(small.B))
	}
	small.Free()
}

func TestMisuse(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 64 * mib})
	for _, n := range []int{100, 100_000} {
		mustPanic(t, "grow", func() { b := alloc(t, a, n); defer b.Free(); b.Shrink(n + 1) })
		mustPanic(t, "negative", func() { b := alloc(t, a, n); defer b.Free(); b.Shrink(-1) })
		mustPanic(t, "no memory", func() { b := alloc(t, a, n); b.Free(); b.Free() })
		mustPanic(t, "freed before", func() {
			b := alloc(t, a, n)
			c := b
			b.Free()
			// The memory has a new owner by then, who must not lose it.
			d := alloc(t, a, n)
			defer d.Free()
			c.Free()
		})
		mustPanic(t, "freed before", func() { b := alloc(t, a, n); c := b; b.Free(); c.Shrink(1) })
	}
	mustPanic(t, "never allocated", func() { new(Block).Free() })
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, _ := recover().(string); !strings.Contains(s, text) {
			t.Errorf("panic %q, want one that says %q", s, text)
		}
	}()
	f()
}

func TestExhaustionAndRecovery(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 8 * mib, WarmBytes: mib, HugePages: true})
	if r := a.Stats().Reserved; r < 8*mib || r > 10*mib {
		t.Fatalf("reserved %d bytes", r)
	}
	if _, err := a.Alloc(1 << 40); !errors.Is(err, ErrNoMemory) {
		t.Errorf("more than the reserve: %v", err)
	}
	for round := range 3 {
		var blocks []Block
		for {
			b, err := a.Alloc(300_000)
			if err != nil {
				if !errors.Is(err, ErrNoMemory) {
					t.Fatal(err)
				}
				break
			}
			clear(b.B)
			blocks = append(blocks, b)
		}
		if len(blocks) < 27 {
			t.Errorf("round %d: %d blocks", round, len(blocks))
		}
		for len(blocks) > 0 {
			i := (len(blocks) * 7 / 3) % len(blocks)
			blocks[i].Free()
			blocks = append(blocks[:i], blocks[i+1:]...)
		}
		// Everything at once, warm and cold.
		b := alloc(t, a, int(a.Stats().Reserved))
		if _, err := a.Alloc(1); !errors.Is(err, ErrNoMemory) {
			t.Errorf("a full arena: %v", err)
		}
		b.Free()
	}
}

func TestContains(t *testing.T) {
	a := newArena(t, Options{ReserveBytes: 4 * mib})
	b := alloc(t, a, 100)
	defer b.Free()
	end := a.mem[len(a.mem)-1:]
	for name, tc := range map[string]struct {
		p    []byte
		want bool
	}{
		"a block":             {b.B, true},
		"a part of it":        {b.B[10:20], true},
		"the end":             {end, true},
		"over the end":        {unsafe.Slice(&end[0], 2), false},
		"the mapping's front": {unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&a.mem[0]), -1)), 2), false},
		"heap":                {make([]byte, 10), false},
		"nil":                 {nil, false},
	} {
		if got := a.Contains(tc.p); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestClose(t *testing.T) {
	a, err := New(Options{ReserveBytes: 4 * mib})
	if err != nil {
		t.Fatal(err)
	}
	b, c := alloc(t, a, 1000), alloc(t, a, 100_000)
	err = a.Close()
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "2 blocks of 101000 bytes") {
		t.Errorf("close in use: %v", err)
	}
	b.B[0], c.B[0] = 1, 1 // still mapped
	b.Free()
	c.Free()
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []int{1, 100_000} {
		if _, err := a.Alloc(n); !errors.Is(err, ErrClosed) {
			t.Errorf("Alloc(%d) after close: %v", n, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want []string
	}{
		"default": {DefaultOptions(), nil},
		"zero":    {Options{}, nil},
		"both":    {Options{ReserveBytes: -1, WarmBytes: -1}, []string{"ReserveBytes is -1", "WarmBytes is -1"}},
		"huge":    {Options{ReserveBytes: 1 << 62}, []string{"ReserveBytes"}},
	} {
		err := tc.o.Validate()
		if (err == nil) != (tc.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v does not say %q", name, err, w)
			}
		}
		a, nerr := New(tc.o)
		if (nerr == nil) != (err == nil) {
			t.Errorf("%s: New: %v", name, nerr)
		}
		if a != nil {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestReserveMakesDoWithLess(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct {
		want, limit int64
		got         int64
	}{
		{1 << 38, 1 << 40, 1<<38 + hugeSize},
		{1 << 38, 5 << 30, 2<<30 + hugeSize}, // 4 GiB were granted
		{64 * mib, 10 * mib, 4*mib + hugeSize},
		{64 * mib, 3 * mib, 0},
		{1 << 38, 0, 0},
	} {
		mapped := map[int]bool{}
		got, err := reserve(tc.want, func(size int) ([]byte, error) {
			if int64(size) > tc.limit {
				return nil, refused
			}
			b, err := mapMemory(size)
			mapped[size] = err == nil
			return b, err
		})
		if tc.got == 0 {
			if !errors.Is(err, ErrNoMemory) || !errors.Is(err, refused) {
				t.Errorf("limit %d: %v", tc.limit, err)
			}
			continue
		}
		if err != nil || int64(len(got)) != tc.got {
			t.Errorf("limit %d: %d bytes, %v", tc.limit, len(got), err)
			continue
		}
		if err := unmapMemory(got); err != nil {
			t.Error(err)
		}
	}
}

func TestPoison(t *testing.T) {
	a, err := New(Options{ReserveBytes: 8 * mib, WarmBytes: 8 * mib, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	// Blocks that Alloc refuses have no owner who could free them, so Close would fail.
	defer func() { _ = unmapMemory(a.mapping) }()
	for _, n := range []int{200, 50_000} {
		keep := alloc(t, a, n) // keeps the slab
		b := alloc(t, a, n)
		for i := range b.B {
			b.B[i] = 'x'
		}
		stale := b.B
		b.Free()
		if !bytes.Equal(stale, bytes.Repeat([]byte{poisonByte}, n)) {
			t.Errorf("%d bytes: a freed block is not poisoned", n)
		}
		stale[7] = 'y'
		mustPanic(t, "written while it was free", func() {
			for range 10 {
				b := alloc(t, a, n)
				defer b.Free()
			}
		})
		stale[7] = poisonByte
		keep.Free()
	}
}
