package statistics

import (
	"encoding/binary"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
)

// measureBytes measures values of class Bytes.
func measureBytes(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var (
		s       scan
		begun   bool
		offsets [block + 1]int
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
		s.run(v.bytesOf(&offsets, i, n), &offsets, n, w)
	})
	if begun {
		c.boundBytes(s.least, s.greatest, isText(v.Field))
	}
	return c
}

// bytesOf gives the bytes of the slots [i, i+n), and where in them each begins and ends.
func (v *Vector) bytesOf(offsets *[block + 1]int, i, n int) []byte {
	switch v.Kind {
	case arrowipc.KindBinary:
		o := v.Offsets[4*i : 4*(i+n+1)]
		for k := 0; k <= block && len(o) >= 4; k, o = k+1, o[4:] {
			offsets[k] = int(int32(binary.LittleEndian.Uint32(o)))
		}
		return v.Data
	case arrowipc.KindLargeBinary:
		o := v.Offsets[8*i : 8*(i+n+1)]
		for k := 0; k <= block && len(o) >= 8; k, o = k+1, o[8:] {
			offsets[k] = int(binary.LittleEndian.Uint64(o))
		}
		return v.Data
	}
	for k := range n + 1 { // fixed-size binary
		offsets[k] = (i + k) * v.Width
	}
	return v.Values
}
