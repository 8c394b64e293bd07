package statistics

import (
	"encoding/binary"
	"math/bits"
)

// wide is a 256-bit two's complement, least significant word first, whose top bit is turned: so its order is that of
// unsigned numbers.
type wide [4]uint64

// measureDecimals measures decimals of 16 and 32 bytes.
func measureDecimals(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var (
		least, greatest wide
		seen            bool
	)
	v.blocks(func(i, _ int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		for ; w != 0; w &= w - 1 {
			x := wideAt(v.fixed(int64(i + bits.TrailingZeros64(w))))
			if !seen {
				least, greatest, seen = x, x, true
				continue
			}
			if x.less(&least) {
				least = x
			}
			if greatest.less(&x) {
				greatest = x
			}
		}
	})
	if seen {
		c.bound(least.value(), greatest.value())
	}
	return c
}

// wideAt reads a decimal of 16 or 32 bytes.
func wideAt(b []byte) (x wide) {
	x[0], x[1] = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if len(b) == decimalBytes {
		x[2], x[3] = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	} else {
		sign := uint64(int64(x[1]) >> 63)
		x[2], x[3] = sign, sign
	}
	x[3] ^= signBit
	return x
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
