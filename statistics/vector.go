package statistics

import (
	"encoding/binary"
	"math"

	"github.com/flightcache/flightcache/arrowipc"
)

// Vector is one column's plain buffers, as in a record batch that has been checked: what offsets, views and indices say
// lies within the buffers. It is a leaf: it has no children. Buffers need not be aligned in memory, and may be longer than
// needed. They stay the caller's, and nothing that is made of a Vector refers to them.
type Vector struct {
	Field  *arrowipc.Field
	Kind   arrowipc.Kind // KindNull, KindBool, KindFixed, KindBinary, KindLargeBinary or KindView; any other is only counted
	Width  int           // bytes of a value, of KindFixed
	Length int64

	Validity []byte   // empty: every slot is valid
	Masks    [][]byte // validity of the structs around it: a slot is null where any says so; an empty one says nothing
	Values   []byte   // bits, fixed-width values, or views
	Offsets  []byte   // KindBinary and KindLargeBinary
	Data     []byte   // KindBinary and KindLargeBinary
	Buffers  [][]byte // KindView: the data buffers

	// Dictionary is set where Values are indices (Field.Dictionary then tells their type): the values they mean. Its own
	// Field is that of the values, and has no dictionary again.
	Dictionary *Vector
}

// Null reports whether slot i is null: by its own validity, by that of a struct around it, or because its dictionary value
// is null.
func (v *Vector) Null(i int64) bool {
	if v.Kind == arrowipc.KindNull || !bitAt(v.Validity, i) {
		return true
	}
	for _, mask := range v.Masks {
		if !bitAt(mask, i) {
			return true
		}
	}
	return v.Dictionary != nil && v.Dictionary.Null(v.index(i))
}

// Value is the value of slot i, which must not be null; that of a class without order is the zero Value. It copies bytes:
// one value at a time is the slow way.
func (v *Vector) Value(i int64) Value {
	if v.Dictionary != nil {
		return v.Dictionary.Value(v.index(i))
	}
	switch ClassOf(v.Field) {
	case Bool:
		return Boolean(bitAt(v.Values, i))
	case Signed:
		return Int(signedAt(v.fixed(i)))
	case Unsigned:
		return Uint(unsignedAt(v.fixed(i)))
	case Float:
		return Float64Value(floatAt(v.fixed(i)))
	case Decimal:
		return Value{bytes: widened(v.fixed(i))}
	case Bytes:
		return BytesValue(v.slice(i))
	}
	return Value{}
}

// index is the position in the dictionary that slot i names.
func (v *Vector) index(i int64) int64 {
	if v.Field.Dictionary.Signed {
		return signedAt(v.fixed(i))
	}
	return int64(unsignedAt(v.fixed(i)))
}

// fixed is the bytes of slot i of KindFixed.
func (v *Vector) fixed(i int64) []byte {
	w := int64(v.Width)
	return v.Values[i*w : (i+1)*w]
}

// slice is the bytes of slot i of class Bytes, where they lie.
func (v *Vector) slice(i int64) []byte {
	switch v.Kind {
	case arrowipc.KindFixed:
		return v.fixed(i)
	case arrowipc.KindBinary:
		o := v.Offsets[4*i:]
		return v.Data[int32(binary.LittleEndian.Uint32(o)):int32(binary.LittleEndian.Uint32(o[4:]))]
	case arrowipc.KindLargeBinary:
		o := v.Offsets[8*i:]
		return v.Data[int64(binary.LittleEndian.Uint64(o)):int64(binary.LittleEndian.Uint64(o[8:]))]
	case arrowipc.KindView:
		return viewed(v.Values[16*i:16*i+16], v.Buffers)
	}
	return nil
}

// viewInline is the most bytes that a view holds itself: BinaryView in the columnar format.
const viewInline = 12

// viewed is the bytes that a view shows.
func viewed(view []byte, buffers [][]byte) []byte {
	n := int(int32(binary.LittleEndian.Uint32(view)))
	if n <= viewInline {
		return view[4 : 4+n]
	}
	buffer := buffers[int32(binary.LittleEndian.Uint32(view[8:]))]
	offset := int(int32(binary.LittleEndian.Uint32(view[12:])))
	return buffer[offset : offset+n]
}

// signedAt is the integer of 1, 2, 4 or 8 bytes in b.
func signedAt(b []byte) int64 {
	shift := 64 - 8*len(b)
	return int64(unsignedAt(b)<<shift) >> shift
}

// unsignedAt is the integer of 1, 2, 4 or 8 bytes in b.
func unsignedAt(b []byte) uint64 {
	var u uint64
	for i, x := range b {
		u |= uint64(x) << (8 * i)
	}
	return u
}

// floatAt is the float of 2, 4 or 8 bytes in b.
func floatAt(b []byte) float64 {
	switch len(b) {
	case 2:
		return halfToDouble(binary.LittleEndian.Uint16(b))
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// bitAt is bit i of a bitmap; an empty one is all set.
func bitAt(bitmap []byte, i int64) bool {
	return len(bitmap) == 0 || bitmap[i>>3]>>(i&7)&1 != 0
}
