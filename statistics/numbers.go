package statistics

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// keys are the values of one block as integers in the order of the values.
type keys [block]int64

// measureNumbers measures values of up to 8 bytes: each block is turned into keys, then all types take the same way.
func measureNumbers(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	class, width := ClassOf(v.Field), v.Width
	var (
		k keys
		e extremes
	)
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		values := v.Values[i*width : (i+n)*width]
		switch class {
		case Unsigned:
			unsignedKeys(&k, values, width)
		case Float:
			if nan := floatKeys(&k, values, width) & w; nan != 0 {
				c.HasNaN = true
				w &^= nan
			}
		default:
			signedKeys(&k, values, width)
		}
		e.add(&k, w)
	})
	if e.seen {
		c.bound(keyValue(class, e.least), keyValue(class, e.greatest))
	}
	return c
}

// keyValue is the value of a key.
func keyValue(class Class, key int64) Value {
	switch class {
	case Unsigned:
		return Uint(uint64(key) ^ signBit)
	case Float:
		return Value{bits: floatBits(key)}
	case Decimal:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(key))
		return Value{bytes: widened(b[:])}
	}
	return Int(key)
}

const signBit = 1 << 63

// signedKeys reads signed integers of a width.
func signedKeys(k *keys, values []byte, width int) {
	switch width {
	case 1:
		for i, x := range values {
			k[i&(block-1)] = int64(int8(x))
		}
	case 2:
		for i := 0; len(values) >= 2; i, values = i+1, values[2:] {
			k[i&(block-1)] = int64(int16(binary.LittleEndian.Uint16(values)))
		}
	case 4:
		for i := 0; len(values) >= 4; i, values = i+1, values[4:] {
			k[i&(block-1)] = int64(int32(binary.LittleEndian.Uint32(values)))
		}
	case 8:
		for i := 0; len(values) >= 8; i, values = i+1, values[8:] {
			k[i&(block-1)] = int64(binary.LittleEndian.Uint64(values))
		}
	}
}

// unsignedKeys reads unsigned integers of a width. With the top bit turned, their order is that of signed ones.
func unsignedKeys(k *keys, values []byte, width int) {
	switch width {
	case 1:
		for i, x := range values {
			k[i&(block-1)] = int64(uint64(x) ^ signBit)
		}
	case 2:
		for i := 0; len(values) >= 2; i, values = i+1, values[2:] {
			k[i&(block-1)] = int64(uint64(binary.LittleEndian.Uint16(values)) ^ signBit)
		}
	case 4:
		for i := 0; len(values) >= 4; i, values = i+1, values[4:] {
			k[i&(block-1)] = int64(uint64(binary.LittleEndian.Uint32(values)) ^ signBit)
		}
	case 8:
		for i := 0; len(values) >= 8; i, values = i+1, values[8:] {
			k[i&(block-1)] = int64(binary.LittleEndian.Uint64(values) ^ signBit)
		}
	}
}

// floatKeys reads floats of a width, and tells which are NaN.
func floatKeys(k *keys, values []byte, width int) (nan uint64) {
	switch width {
	case 2:
		for i := 0; len(values) >= 2; i, values = i+1, values[2:] {
			x := math.Float64bits(halfToDouble(binary.LittleEndian.Uint16(values)))
			k[i&(block-1)] = orderedFloat(x)
			nan |= nanBit(x) << (i & (block - 1))
		}
	case 4:
		for i := 0; len(values) >= 4; i, values = i+1, values[4:] {
			x := math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(values))))
			k[i&(block-1)] = orderedFloat(x)
			nan |= nanBit(x) << (i & (block - 1))
		}
	case 8:
		for i := 0; len(values) >= 8; i, values = i+1, values[8:] {
			x := binary.LittleEndian.Uint64(values)
			k[i&(block-1)] = orderedFloat(x)
			nan |= nanBit(x) << (i & (block - 1))
		}
	}
	return nan
}

// orderedFloat turns the bits of a double into an integer of the same order, -0.0 before 0.0 (totalOrder of IEEE 754):
// the magnitudes of negative ones run the other way.
func orderedFloat(x uint64) int64 { return int64(x ^ uint64(int64(x)>>63)>>1) }

// floatBits undoes orderedFloat.
func floatBits(key int64) uint64 { return uint64(orderedFloat(uint64(key))) }

// nanBit is 1 for the bits of a NaN: its magnitude is beyond that of infinity, whose bits without the sign are here.
func nanBit(x uint64) uint64 {
	const infinity = 0x7FF0_0000_0000_0000
	return (infinity - x&^signBit) >> 63
}

// halfToDouble is the value of a half-precision float (binary16 of IEEE 754).
func halfToDouble(h uint16) float64 {
	const bias, infinite = 15, 31
	fraction, exponent := float64(h&0x3FF), int(h>>10&0x1F)
	var x float64
	switch {
	case exponent == 0: // subnormal
		x = math.Ldexp(fraction, 1-bias-10)
	case exponent < infinite:
		x = math.Ldexp(fraction+0x400, exponent-bias-10)
	case fraction == 0:
		x = math.Inf(1)
	default:
		return math.NaN()
	}
	if h>>15 != 0 {
		return math.Copysign(x, -1)
	}
	return x
}

// extremes are the least and the greatest key seen.
type extremes struct {
	least, greatest int64
	seen            bool
}

// add takes the keys that w selects.
func (e *extremes) add(k *keys, w uint64) {
	if w == 0 {
		return
	}
	if !e.seen {
		first := k[bits.TrailingZeros64(w)]
		e.seen, e.least, e.greatest = true, first, first
	}
	// Two lanes, because each minimum waits for the one before it.
	least0, greatest0 := e.least, e.greatest
	least1, greatest1 := least0, greatest0
	if w == ^uint64(0) {
		for i := 0; i < block; i += 2 {
			a, b := k[i], k[i+1]
			least0, greatest0 = min(least0, a), max(greatest0, a)
			least1, greatest1 = min(least1, b), max(greatest1, b)
		}
	} else {
		// A slot that is not selected counts as a key that was seen, which changes nothing and needs no branch.
		seen := e.least
		for i := 0; i < block; i += 2 {
			a := seen ^ (seen^k[i])&-int64(w&1)
			b := seen ^ (seen^k[i+1])&-int64(w>>1&1)
			w >>= 2
			least0, greatest0 = min(least0, a), max(greatest0, a)
			least1, greatest1 = min(least1, b), max(greatest1, b)
		}
	}
	e.least, e.greatest = min(least0, least1), max(greatest0, greatest1)
}
