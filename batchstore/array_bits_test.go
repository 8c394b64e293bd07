package batchstore

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBits compares word-wise copying and counting with bits taken one by one.
func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "src")
		var want []bool
		type part struct {
			from, n int64
			ones    bool
		}
		var parts []part
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			from := rapid.Int64Range(0, int64(len(src))*8).Draw(t, "from")
			if rapid.Bool().Draw(t, "byte") {
				from &^= 7
			}
			p := part{from, rapid.Int64Range(0, int64(len(src))*8-from).Draw(t, "n"), rapid.Bool().Draw(t, "ones")}
			parts = append(parts, p)
			ones := int64(0)
			for i := p.from; i < p.from+p.n; i++ {
				bit := src[i/8]&(1<<(i%8)) != 0
				if bit {
					ones++
				}
				want = append(want, bit || p.ones)
			}
			if got := countBits(src, p.from, p.n); got != ones {
				t.Fatalf("%d ones in %d bits from %d, want %d", got, p.n, p.from, ones)
			}
		}
		got := bytes.Repeat([]byte{0xff}, int(bitBytes(int64(len(want)))))
		w := bitWriter{dst: got}
		for _, p := range parts {
			if p.ones {
				w.ones(p.n)
			} else {
				w.copyBits(src, p.from, p.n)
			}
		}
		w.flush()
		expect := make([]byte, len(got))
		for i, bit := range want {
			if bit {
				expect[i/8] |= 1 << (i % 8)
			}
		}
		if !bytes.Equal(got, expect) {
			t.Fatalf("wrote %x, want %x", got, expect)
		}
	})
}

func TestBitBytes(t *testing.T) {
	for n, want := range map[int64]int64{0: 0, 1: 1, 8: 1, 9: 2, math.MaxInt64: 1 << 60} {
		if got := bitBytes(n); got != want {
			t.Errorf("%d bits need %d bytes, want %d", n, got, want)
		}
	}
}

// TestAscending compares the scan that collects sign bits with a plain one, at both widths.
func TestAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int32(), 0, 20).Draw(t, "offsets")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(v)
		}
		want := slices.IsSorted(v) && (len(v) == 0 || v[0] >= 0)
		var narrow, wide []byte
		for _, x := range v {
			narrow = append(narrow, ints(4, int64(x))...)
			wide = append(wide, ints(8, int64(x)<<32)...)
		}
		if ascending(narrow, 4) != want || ascending(wide, 8) != want {
			t.Fatalf("32 bits: %v, 64 bits: %v, want %v", ascending(narrow, 4), ascending(wide, 8), want)
		}
	})
}

// TestRebase compares moving offsets in words with moving them one by one.
func TestRebase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int64{4, 8}).Draw(t, "width")
		v := rapid.SliceOfN(rapid.Int64Range(0, 1<<20), 1, 20).Draw(t, "offsets")
		slices.Sort(v)
		from := rapid.Int64Range(0, int64(len(v))-1).Draw(t, "from")
		n := rapid.Int64Range(0, int64(len(v))-1-from).Draw(t, "n")
		delta := rapid.Int64Range(-v[from], 1<<20).Draw(t, "delta")
		got := make([]byte, (n+2)*width)
		rebase(got, 1, ints(width, v...), width, from, n, delta)
		want := ints(width, 0, 0)
		for _, x := range v[from+1 : from+1+n] {
			want = append(want, ints(width, x+delta)...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
