package statistics

import (
	"encoding/binary"
	"math/bits"
)

// wide is a 256-bit two's complement, least significant word first, whose top bit is turned: so its order is that of
// unsigned numbers.
type wide [4]uint64

// wides are the least and the greatest decimal seen.
type wides struct {
	least, greatest wide
	seen            bool
}

// measureDecimals measures decimals of 16 and 32 bytes.
func measureDecimals(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var e wides
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		values := v.Values[i*v.Width : (i+n)*v.Width]
		if !e.seen {
			e.least = wideAt(v.fixed(int64(i + bits.TrailingZeros64(w))))
			e.greatest, e.seen = e.least, true
		}
		if v.Width == 16 {
			e.add128(values, w)
		} else {
			e.add256(values, w)
		}
	})
	if e.seen {
		c.bound(e.least.value(), e.greatest.value())
	}
	return c
}

// add256 takes the values of 32 bytes that w selects.
func (e *wides) add256(values []byte, w uint64) {
	for ; len(values) >= 32; values, w = values[32:], w>>1 {
		if w&1 == 0 {
			continue
		}
		x := wideAt(values[:32])
		if x.less(&e.least) {
			e.least = x
		}
		if e.greatest.less(&x) {
			e.greatest = x
		}
	}
}

// add128 takes the values of 16 bytes that w selects. All have the sign in their upper half, so two words decide.
func (e *wides) add128(values []byte, w uint64) {
	leastHigh, leastLow := int64(e.least[1]), e.least[0]
	greatestHigh, greatestLow := int64(e.greatest[1]), e.greatest[0]
	for ; len(values) >= 16; values, w = values[16:], w>>1 {
		if w&1 == 0 {
			continue
		}
		low, high := binary.LittleEndian.Uint64(values), int64(binary.LittleEndian.Uint64(values[8:]))
		if high < leastHigh || high == leastHigh && low < leastLow {
			leastHigh, leastLow = high, low
		}
		if high > greatestHigh || high == greatestHigh && low > greatestLow {
			greatestHigh, greatestLow = high, low
		}
	}
	e.least, e.greatest = extended(leastHigh, leastLow), extended(greatestHigh, greatestLow)
}

// wideAt reads a decimal of 16 or 32 bytes.
func wideAt(b []byte) wide {
	low, high := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if len(b) < 32 {
		return extended(int64(high), low)
	}
	return wide{low, high, binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]) ^ signBit}
}

// extended is a 128-bit two's complement as a wide.
func extended(high int64, low uint64) wide {
	sign := uint64(high >> 63)
	return wide{low, uint64(high), sign, sign ^ signBit}
}

func (x *wide) less(y *wide) bool {
	switch {
	case x[3] != y[3]:
		return x[3] < y[3]
	case x[2] != y[2]:
		return x[2] < y[2]
	case x[1] != y[1]:
		return x[1] < y[1]
	}
	return x[0] < y[0]
}

func (x *wide) value() Value {
	var b [decimalBytes]byte
	binary.BigEndian.PutUint64(b[:], x[3]^signBit)
	binary.BigEndian.PutUint64(b[8:], x[2])
	binary.BigEndian.PutUint64(b[16:], x[1])
	binary.BigEndian.PutUint64(b[24:], x[0])
	return Value{bytes: string(b[:])}
}

// widened is a little-endian two's complement as the bytes of a Value of class Decimal.
func widened(b []byte) string {
	var x [decimalBytes]byte
	sign := byte(int8(b[len(b)-1]) >> 7)
	for i := range x {
		x[i] = sign
	}
	for i, y := range b {
		x[decimalBytes-1-i] = y
	}
	return string(x[:])
}
