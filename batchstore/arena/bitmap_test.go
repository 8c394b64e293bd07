package arena

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBitmapAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const total = 3*64*64 + 100
	for range 20 {
		var b bitmap
		model := make([]bool, total)
		for range 200 {
			lo := r.IntN(total)
			hi := min(total, lo+1<<r.IntN(14)) // also from one word, or one summary word, into the next
			count, last := 0, -1
			for i := lo; i < hi; i++ {
				if model[i] {
					count, last = count+1, i
				}
			}
			if got := b.count(lo, hi); got != count {
				t.Fatalf("count(%d, %d) = %d, want %d", lo, hi, got, count)
			}
			if got := b.last(lo, hi); got != last {
				t.Fatalf("last(%d, %d) = %d, want %d", lo, hi, got, last)
			}
			set := r.IntN(5) < 2
			if set {
				if got := b.set(lo, hi); got != hi-lo-count {
					t.Fatalf("set(%d, %d) = %d, want %d", lo, hi, got, hi-lo-count)
				}
			} else {
				b.clear(lo, hi)
			}
			for i := lo; i < hi; i++ {
				model[i] = set
			}
		}
	}
}

func TestBitmapEmpty(t *testing.T) {
	var b bitmap
	b.clear(0, 1000)
	if b.count(0, 1000) != 0 || b.last(0, 1000) != -1 || b.set(5, 5) != 0 || b.last(7, 3) != -1 {
		t.Error("an empty set has pages")
	}
	// Far pages cost the bits up to them, and a search between them no step per page.
	b.set(1<<26-1, 1<<26)
	b.set(3, 4)
	if got := b.last(0, 1<<26-1); got != 3 {
		t.Errorf("last = %d", got)
	}
}
