package predicate

import (
	"encoding/binary"
	"math"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// loader says how the bytes of fixed-width values become keys.
type loader uint8

const (
	loadSigned loader = iota
	loadUnsigned
	loadBiased // 64-bit unsigned, as domain.key has it
	loadFloat
)

// loaderOf is that of a type's values.
func loaderOf(t arrowipc.Type) loader {
	switch {
	case t.ID == arrowipc.TypeFloatingPoint:
		return loadFloat
	case t.ID == arrowipc.TypeInt && !t.Signed && t.BitWidth == 64:
		return loadBiased
	case t.ID == arrowipc.TypeInt && !t.Signed:
		return loadUnsigned
	}
	return loadSigned
}

// load gives the keys of n values, at most 64, from the i-th on.
func load(keys *[64]int64, values []byte, i, n, width int, how loader) {
	b, out := values[i*width:(i+n)*width], keys[:n]
	switch width {
	case 1:
		load8(out, b, how)
	case 2:
		load16(out, b, how)
	case 4:
		load32(out, b, how)
	case 8:
		load64(out, b, how)
	}
}

func load8(out []int64, b []byte, how loader) {
	b = b[:len(out)]
	if how == loadSigned {
		for j := range out {
			out[j] = int64(int8(b[j]))
		}
		return
	}
	for j := range out {
		out[j] = int64(b[j])
	}
}

func load16(out []int64, b []byte, how loader) {
	for j := range out {
		u := binary.LittleEndian.Uint16(b)
		b = b[2:]
		switch how {
		case loadSigned:
			out[j] = int64(int16(u))
		case loadFloat:
			out[j] = floatKey(half(u))
		default:
			out[j] = int64(u)
		}
	}
}

func load32(out []int64, b []byte, how loader) {
	switch how {
	case loadSigned:
		for j := range out {
			out[j] = int64(int32(binary.LittleEndian.Uint32(b)))
			b = b[4:]
		}
	case loadFloat:
		for j := range out {
			out[j] = floatKey(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
			b = b[4:]
		}
	default:
		for j := range out {
			out[j] = int64(binary.LittleEndian.Uint32(b))
			b = b[4:]
		}
	}
}

func load64(out []int64, b []byte, how loader) {
	switch how {
	case loadBiased:
		for j := range out {
			out[j] = int64(binary.LittleEndian.Uint64(b) ^ 1<<63)
			b = b[8:]
		}
	case loadFloat:
		for j := range out {
			k := int64(binary.LittleEndian.Uint64(b))
			out[j] = k ^ int64(uint64(k>>63)>>1)
			b = b[8:]
		}
	default:
		for j := range out {
			out[j] = int64(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
	}
}

// half is the value of a half-precision float (IEEE 754 binary16).
func half(u uint16) float64 {
	exponent, fraction := int(u>>10&0x1F), float64(u&0x3FF)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 0x1F:
		if f = math.Inf(1); fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(fraction+0x400, exponent-25)
	}
	if u>>15 != 0 {
		f = math.Copysign(f, -1)
	}
	return f
}

// setNaN sets the bits of the slots that hold NaN.
func setNaN(out []uint64, v *statistics.Vector, rows int, to bool) {
	infinity := floatKey(math.Inf(1))
	var keys [64]int64
	for i := range out {
		n := min(64, rows-64*i)
		load(&keys, v.Values, 64*i, n, v.Width, loadFloat)
		var w uint64
		for j, k := range keys[:n] {
			// The keys of NaNs without a sign lie above that of infinity, of those with one below that of -infinity.
			w |= bit(k > infinity || k < ^infinity) << j
		}
		if to {
			out[i] |= w
		} else {
			out[i] &^= w
		}
	}
}

// bit is 1 for true.
func bit(b bool) uint64 {
	var u uint64
	if b {
		u = 1
	}
	return u
}
