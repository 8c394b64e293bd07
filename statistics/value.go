package statistics

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// Value is one value of a class that the context knows. It is small and comparable with ==, except that equal floats of
// different sign bits (-0.0 and 0.0) are different Values; [Compare] knows.
type Value struct {
	bits  uint64 // Bool, Signed, Unsigned, Float: the value's bits
	bytes string // Decimal: 32 bytes, big-endian two's complement; Bytes: the bytes
}

// decimalBytes is the size of a Value of class Decimal: that of the widest decimal.
const decimalBytes = 32

// Boolean is the Value of class Bool.
func Boolean(b bool) Value {
	if b {
		return Value{bits: 1}
	}
	return Value{}
}

// Int is the Value of class Signed. Dates, times, timestamps and durations are in the unit of their field.
func Int(i int64) Value { return Value{bits: uint64(i)} }

// Uint is the Value of class Unsigned.
func Uint(u uint64) Value { return Value{bits: u} }

// Float64Value is the Value of class Float. Halves and singles are held as the double of the same value.
func Float64Value(f float64) Value { return Value{bits: math.Float64bits(f)} }

// DecimalValue is the Value of class Decimal with an unscaled value: 1.50 of scale 2 is 150. It reports false for one that
// 256 bits cannot hold.
func DecimalValue(unscaled *big.Int) (v Value, ok bool) {
	// A negative number fits where its complement does: -2^255 is the complement of 2^255-1.
	magnitude, flip := unscaled, byte(0)
	if unscaled.Sign() < 0 {
		magnitude, flip = new(big.Int).Not(unscaled), 0xFF
	}
	if magnitude.BitLen() > 8*decimalBytes-1 {
		return Value{}, false
	}
	var b [decimalBytes]byte
	magnitude.FillBytes(b[:])
	for i := range b {
		b[i] ^= flip
	}
	return Value{bytes: string(b[:])}, true
}

// BytesValue is the Value of class Bytes. It copies b.
func BytesValue(b []byte) Value { return Value{bytes: string(b)} }

// TextValue is [BytesValue] of a string.
func TextValue(s string) Value { return Value{bytes: s} }

// Boolean is the value, of class Bool.
func (v Value) Boolean() bool { return v.bits != 0 }

// Int is the value, of class Signed.
func (v Value) Int() int64 { return int64(v.bits) }

// Uint is the value, of class Unsigned.
func (v Value) Uint() uint64 { return v.bits }

// Float64 is the value, of class Float.
func (v Value) Float64() float64 { return math.Float64frombits(v.bits) }

// Decimal is the unscaled value, of class Decimal. It is the caller's.
func (v Value) Decimal() *big.Int {
	b := []byte(v.bytes)
	if len(b) == 0 || b[0] < 0x80 {
		return new(big.Int).SetBytes(b)
	}
	for i := range b {
		b[i] ^= 0xFF
	}
	x := new(big.Int).SetBytes(b)
	return x.Not(x)
}

// Text is the value, of class Bytes, as a string. Of binary columns it need not be UTF-8.
func (v Value) Text() string { return v.bytes }

// Compare orders two Values of a class: negative where a comes first, 0 where they are equal, positive where b does.
//
// -0.0 and 0.0 are equal. NaN compares equal to itself and comes before all other floats, only that the order is one; a
// caller that means IEEE asks for NaN first. All Values of class None are equal.
func Compare(c Class, a, b Value) int {
	switch c {
	case Bool, Unsigned:
		return cmp.Compare(a.bits, b.bits)
	case Signed:
		return cmp.Compare(int64(a.bits), int64(b.bits))
	case Float:
		return cmp.Compare(a.Float64(), b.Float64())
	case Decimal:
		return compareDecimals(a.bytes, b.bytes)
	case Bytes:
		return strings.Compare(a.bytes, b.bytes)
	}
	return 0
}

// compareDecimals compares two's complements. The zero Value stands for 0.
func compareDecimals(a, b string) int {
	negative := func(s string) bool { return len(s) > 0 && s[0] >= 0x80 }
	if negative(a) != negative(b) {
		if negative(a) {
			return -1
		}
		return 1
	}
	if len(a) != len(b) { // one of them is the zero Value
		return strings.Compare(strings.TrimLeft(a, "\x00"), strings.TrimLeft(b, "\x00"))
	}
	return strings.Compare(a, b)
}

// compareBounds is [Compare] with -0.0 before 0.0, so that which of the two a bound is does not depend on an order of
// merging.
func compareBounds(c Class, a, b Value) int {
	if c == Float {
		return cmp.Compare(orderedFloat(a.bits), orderedFloat(b.bits))
	}
	return Compare(c, a, b)
}
