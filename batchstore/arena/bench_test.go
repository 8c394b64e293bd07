package arena

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var benchSizes = []struct {
	name string
	n    int
}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}, {"700KiB", 700 << 10}, {"4MiB", 4 << 20}}

func BenchmarkAllocFree(b *testing.B) {
	for _, s := range benchSizes {
		b.Run(s.name, func(b *testing.B) {
			a := newArena(b, DefaultOptions())
			for b.Loop() {
				block := alloc(b, a, s.n)
				block.Free()
			}
		})
	}
}

// BenchmarkCrowded replaces random blocks of a store that holds many, so that free runs are many too. Nothing is touched.
func BenchmarkCrowded(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			o := DefaultOptions()
			o.WarmBytes = 1 << 40 // the allocator's own cost, without the system's
			a := newArena(b, o)
			r := rand.New(rand.NewPCG(1, 1))
			blocks := make([]Block, count)
			for i := range blocks {
				blocks[i] = alloc(b, a, smallMax+r.IntN(1<<20))
			}
			for b.Loop() {
				i := r.IntN(count)
				blocks[i].Free()
				blocks[i] = alloc(b, a, smallMax+r.IntN(1<<20))
			}
			for i := range blocks {
				blocks[i].Free()
			}
		})
	}
}

// BenchmarkParallel has eight goroutines on two processors, as streams have.
func BenchmarkParallel(b *testing.B) {
	for _, s := range benchSizes {
		b.Run(s.name, func(b *testing.B) {
			a := newArena(b, DefaultOptions())
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					block, err := a.Alloc(s.n)
					if err != nil {
						b.Error(err)
						return
					}
					block.Free()
				}
			})
		})
	}
}

// BenchmarkTouch writes each page of a block of 4 MiB: warm, cold with huge pages, and cold with small ones.
func BenchmarkTouch(b *testing.B) {
	const n = 4 << 20
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"warm", Options{WarmBytes: DefaultWarm, HugePages: true}},
		{"cold huge", Options{HugePages: true}},
		{"cold small", Options{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := newArena(b, c.o)
			b.SetBytes(n)
			for b.Loop() {
				block := alloc(b, a, n)
				touch(block.B)
				block.Free()
			}
		})
	}
}
