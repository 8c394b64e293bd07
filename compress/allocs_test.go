package compress

import "testing"

// Once a context has been made, a buffer is encoded and decoded without any allocation. Under the race detector the pools of
// the libraries lose what they are given now and then, for which a few are allowed.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	most := 0.0
	if underRace {
		most = 8
	}
	for _, w := range []way{{LZ4, 0}, {Zstd, 1}, {Zstd, 3}} {
		for _, n := range []int{1000, 256 << 10} {
			p := newPool(t, Options{})
			src := text(n)
			dst, plain := make([]byte, 0, Bound(n)), make([]byte, n)
			var stored []byte
			encode := func() { stored = mustAppend(t, p, dst, src, w) }
			decode := func() {
				if err := p.Decode(plain, stored, w.codec); err != nil {
					t.Fatal(err)
				}
			}
			encode()
			decode()
			if got := testing.AllocsPerRun(20, encode); got > most {
				t.Errorf("%v, %d bytes: %v allocations to encode", w, n, got)
			}
			if got := testing.AllocsPerRun(20, decode); got > most {
				t.Errorf("%v, %d bytes: %v allocations to decode", w, n, got)
			}
		}
	}
}
