package statistics

import (
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
)

// measureBytes measures values of class Bytes.
func measureBytes(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var (
		s     scan
		begun bool
		p     places
	)
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		if !begun {
			s.begin(v, int64(i+bits.TrailingZeros64(w)))
			begun = true
		}
		if v.Kind == arrowipc.KindView {
			s.views(v.Values[16*i:16*(i+n)], v.Buffers, w)
			return
		}
		data, ok := v.place(&p, i, n, w)
		s.run(data, &p, bits.OnesCount64(w), ok)
	})
	if begun {
		c.boundBytes(s.least, s.greatest, isText(v.Field))
	}
	return c
}

// places are where the valid values of one block lie in their data, from start to end.
type places [block]struct{ start, end int }

// place fills p with the values among the slots [i, i+n) that w selects, w not being 0. It reports false where offsets
// fall or are below zero: a batch that has been checked has none, and such values are not read without a check.
func (v *Vector) place(p *places, i, n int, w uint64) (data []byte, ordered bool) {
	if v.Kind == arrowipc.KindFixed {
		for k, count := 0, 0; w != 0; k, w = k+1, w>>1 {
			start := (i + k) * v.Width
			p[count&(block-1)] = struct{ start, end int }{start, start + v.Width}
			count += int(w & 1)
		}
		return v.Values, true
	}
	width := 4
	if v.Kind == arrowipc.KindLargeBinary {
		width = 8
	}
	var (
		ends    keys
		scratch [8 * block]byte
	)
	start := int(signedAt(v.Offsets[i*width : (i+1)*width]))
	ends.signed(blockOf(v.Offsets[width:], width, &scratch, i, n), width)
	below, count := start, 0 // the sign of below is that of any fall
	for _, end := range ends[:n] {
		end := int(end)
		p[count&(block-1)] = struct{ start, end int }{start, end}
		count += int(w & 1)
		w >>= 1
		below |= end - start
		start = end
	}
	return v.Data, below >= 0
}
