package statistics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrBinary is the error of bytes that are no Column of the class, as [ConsumeColumn] wants them.
var ErrBinary = errors.New("malformed statistics")

// The flags of a Column's binary form.
const (
	flagNaN = 1 << iota
	flagMin
	flagMax
	flagMinExact
	flagMaxExact
	flagsEnd
)

// AppendColumn appends the binary form of c, a column of that class, to dst. Equal Columns have equal forms, to the bit of
// a float, and [ConsumeColumn] gives back the same Column.
//
// It is a byte of flags (1 has NaN, 2 has min, 4 has max, 8 min is exact, 16 max is exact), then rows and nulls as
// uvarints, then min and max, those that there are: of Bool and Unsigned a uvarint, of Signed a zigzag varint, of Float
// eight bytes, little-endian, of Decimal and Bytes a uvarint length and as many bytes. A decimal is 32 bytes, big-endian
// two's complement, or none for the zero Value.
func AppendColumn(dst []byte, c *Column, class Class) []byte {
	flags := byte(0)
	for i, set := range [...]bool{c.HasNaN, c.HasMin, c.HasMax, c.MinExact, c.MaxExact} {
		if set {
			flags |= 1 << i
		}
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(c.Rows))
	dst = binary.AppendUvarint(dst, uint64(c.Nulls))
	if c.HasMin {
		dst = c.Min.appendBinary(dst, class)
	}
	if c.HasMax {
		dst = c.Max.appendBinary(dst, class)
	}
	return dst
}

func (v Value) appendBinary(dst []byte, class Class) []byte {
	switch class {
	case Bool, Unsigned:
		return binary.AppendUvarint(dst, v.bits)
	case Signed: // zigzag
		return binary.AppendVarint(dst, int64(v.bits))
	case Float:
		return binary.LittleEndian.AppendUint64(dst, v.bits)
	case Decimal, Bytes:
		dst = binary.AppendUvarint(dst, uint64(len(v.bytes)))
		return append(dst, v.bytes...)
	}
	return dst
}

// ConsumeColumn reads the binary form of a column of that class from the front of b, and gives what follows it. Nothing
// of b is kept. What it takes is bounded like any Column: no value is longer than a measured one can be, nulls are not more
// than rows, and there is no exact bound without a bound. The error is [ErrBinary].
func ConsumeColumn(b []byte, class Class) (c Column, rest []byte, err error) {
	if len(b) == 0 {
		return Column{}, nil, fmt.Errorf("%w: it is cut off", ErrBinary)
	}
	flags, b := b[0], b[1:]
	r := reader{b: b}
	c.HasNaN = flags&flagNaN != 0
	c.HasMin, c.HasMax = flags&flagMin != 0, flags&flagMax != 0
	c.MinExact, c.MaxExact = flags&flagMinExact != 0, flags&flagMaxExact != 0
	c.Rows, c.Nulls = r.count(), r.count()
	if c.HasMin {
		c.Min = r.value(class)
	}
	if c.HasMax {
		c.Max = r.value(class)
	}
	switch {
	case r.failed:
		return Column{}, nil, fmt.Errorf("%w: a number or a value is cut off, or too large", ErrBinary)
	case flags >= flagsEnd:
		return Column{}, nil, fmt.Errorf("%w: flags %#x", ErrBinary, flags)
	case class == None && flags&(flagMin|flagMax) != 0, c.HasMax && !c.HasMin, c.MinExact && !c.HasMin, c.MaxExact && !c.HasMax:
		return Column{}, nil, fmt.Errorf("%w: flags %#x contradict each other", ErrBinary, flags)
	case c.Nulls > c.Rows:
		return Column{}, nil, fmt.Errorf("%w: %d nulls in %d rows", ErrBinary, c.Nulls, c.Rows)
	}
	return c, r.b, nil
}

// reader takes numbers and values from the front of b. Once it has failed, it gives zeros.
type reader struct {
	b      []byte
	failed bool
}

// uvarint takes a number in its shortest form, so that one Column has one form only.
func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.b, r.failed = nil, true
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) count() int64 {
	x := r.uvarint()
	if x > math.MaxInt64 {
		r.failed = true
		return 0
	}
	return int64(x)
}

func (r *reader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.b)) {
		r.b, r.failed = nil, true
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) value(class Class) Value {
	switch class {
	case Bool:
		x := r.uvarint()
		r.failed = r.failed || x > 1
		return Value{bits: x}
	case Unsigned:
		return Value{bits: r.uvarint()}
	case Signed:
		x := r.uvarint()
		return Value{bits: x>>1 ^ -(x & 1)} // zigzag, as binary.AppendVarint writes it
	case Float:
		if b := r.take(8); b != nil {
			return Value{bits: binary.LittleEndian.Uint64(b)}
		}
	case Decimal:
		n := r.uvarint()
		r.failed = r.failed || n != 0 && n != decimalBytes
		return Value{bytes: string(r.take(n))}
	case Bytes:
		n := r.uvarint()
		r.failed = r.failed || n > MaxBytes
		return Value{bytes: string(r.take(n))}
	}
	return Value{}
}
