package statistics

import (
	"encoding/binary"
	"math"
)

// keys are the values of one block as integers in the order of the values.
type keys [block]int64

// blockOf is the values of the slots [i, i+n) in a buffer of values of a width of up to 8 bytes, made up to a whole block:
// the loops over keys then have a fixed length.
func blockOf(buffer []byte, width int, scratch *[8 * block]byte, i, n int) []byte {
	values := buffer[i*width : (i+n)*width]
	if n < block {
		copy(scratch[:], values)
		values = scratch[:]
	}
	return values[:block*width]
}

// signed reads a block of signed integers.
func (k *keys) signed(values []byte, width int) {
	switch width {
	case 1:
		a := (*[block]byte)(values)
		for i := range k {
			k[i] = int64(int8(a[i]))
		}
	case 2:
		a := (*[2 * block]byte)(values)
		for i := range k {
			k[i] = int64(int16(binary.LittleEndian.Uint16(a[2*i:])))
		}
	case 4:
		for i := 0; i < block; i += 4 {
			a, b := (*[16]byte)(values[4*i:]), (*[4]int64)(k[i:])
			b[0] = int64(int32(binary.LittleEndian.Uint32(a[:])))
			b[1] = int64(int32(binary.LittleEndian.Uint32(a[4:])))
			b[2] = int64(int32(binary.LittleEndian.Uint32(a[8:])))
			b[3] = int64(int32(binary.LittleEndian.Uint32(a[12:])))
		}
	case 8:
		for i := 0; i < block; i += 4 {
			a, b := (*[32]byte)(values[8*i:]), (*[4]int64)(k[i:])
			b[0] = int64(binary.LittleEndian.Uint64(a[:]))
			b[1] = int64(binary.LittleEndian.Uint64(a[8:]))
			b[2] = int64(binary.LittleEndian.Uint64(a[16:]))
			b[3] = int64(binary.LittleEndian.Uint64(a[24:]))
		}
	}
}

// unsigned reads a block of unsigned integers. The widest have their top bit turned ([keyValue] turns it back): so they
// are in the order of signed ones. The narrower fit as they are.
func (k *keys) unsigned(values []byte, width int) {
	switch width {
	case 1:
		a := (*[block]byte)(values)
		for i := range k {
			k[i] = int64(a[i])
		}
	case 2:
		a := (*[2 * block]byte)(values)
		for i := range k {
			k[i] = int64(binary.LittleEndian.Uint16(a[2*i:]))
		}
	case 4:
		a := (*[4 * block]byte)(values)
		for i := range k {
			k[i] = int64(binary.LittleEndian.Uint32(a[4*i:]))
		}
	case 8:
		a := (*[8 * block]byte)(values)
		for i := range k {
			k[i] = int64(binary.LittleEndian.Uint64(a[8*i:]) ^ signBit)
		}
	}
}

// floats reads a block of floats, and tells which are NaN.
func (k *keys) floats(values []byte, width int) (nan uint64) {
	switch width {
	case 2:
		a := (*[2 * block]byte)(values)
		for i := range k {
			x := math.Float64bits(halfToDouble(binary.LittleEndian.Uint16(a[2*i:])))
			k[i] = orderedFloat(x)
			nan |= nanBit(x) << i
		}
	case 4:
		a := (*[4 * block]byte)(values)
		for i := range k {
			x := math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(a[4*i:]))))
			k[i] = orderedFloat(x)
			nan |= nanBit(x) << i
		}
	case 8:
		a := (*[8 * block]byte)(values)
		for i := range k {
			x := binary.LittleEndian.Uint64(a[8*i:])
			k[i] = orderedFloat(x)
			nan |= nanBit(x) << i
		}
	}
	return nan
}

const signBit = 1 << 63

// orderedFloat turns the bits of a double into an integer of the same order, -0.0 before 0.0 (totalOrder of IEEE 754):
// the magnitudes of negative ones run the other way.
func orderedFloat(x uint64) int64 { return int64(x ^ uint64(int64(x)>>63)>>1) }

// floatBits undoes orderedFloat.
func floatBits(key int64) uint64 { return uint64(orderedFloat(uint64(key))) }

// nanBit is 1 for the bits of a NaN: its magnitude is beyond that of infinity, whose bits are these.
func nanBit(x uint64) uint64 {
	const infinity = 0x7FF0_0000_0000_0000
	return (infinity - x&^signBit) >> 63
}

// halfToDouble is the value of a half-precision float (binary16 of IEEE 754). Its exponent and fraction, moved to where a
// single has them, are read with the single's bias, which is 112 more.
func halfToDouble(h uint16) float64 {
	const infinity = 0x7C00
	var x float64
	switch magnitude := h & 0x7FFF; {
	case magnitude < infinity:
		x = float64(math.Float32frombits(uint32(magnitude)<<13)) * 0x1p112
	case magnitude == infinity:
		x = math.Inf(1)
	default:
		x = math.NaN()
	}
	return math.Float64frombits(math.Float64bits(x) | uint64(h>>15)<<63)
}
