package statistics

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// shape is a type that vectors of are made.
type shape struct {
	t     arrowipc.Type
	kind  arrowipc.Kind
	width int
}

// shapes are all types that have a class, and one that has none.
func shapes() (s []shape) {
	fixed := func(t arrowipc.Type, width int) { s = append(s, shape{t, arrowipc.KindFixed, width}) }
	for _, bits := range []int{8, 16, 32, 64} {
		fixed(arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: true}, bits/8)
		fixed(arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits}, bits/8)
	}
	for _, bits := range []int{16, 32, 64} {
		fixed(arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: bits}, bits/8)
	}
	for _, bits := range []int{32, 64, 128, 256} {
		fixed(arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: bits, Precision: 9, Scale: 2}, bits/8)
	}
	fixed(arrowipc.Type{ID: arrowipc.TypeDate}, 4)
	fixed(arrowipc.Type{ID: arrowipc.TypeDate, Unit: 1}, 8)
	fixed(arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: 32}, 4)
	fixed(arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: 64, Unit: 3}, 8)
	fixed(arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: 2}, 8)
	fixed(arrowipc.Type{ID: arrowipc.TypeDuration}, 8)
	fixed(arrowipc.Type{ID: arrowipc.TypeInterval, Unit: 2}, 16)
	for _, width := range []int{0, 1, 7, 16, 80} {
		fixed(arrowipc.Type{ID: arrowipc.TypeFixedSizeBinary, ByteWidth: width}, width)
	}
	return append(s,
		shape{arrowipc.Type{ID: arrowipc.TypeBool}, arrowipc.KindBool, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeNull}, arrowipc.KindNull, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeUtf8}, arrowipc.KindBinary, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeBinary}, arrowipc.KindBinary, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeLargeUtf8}, arrowipc.KindLargeBinary, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeLargeBinary}, arrowipc.KindLargeBinary, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeUtf8View}, arrowipc.KindView, 0},
		shape{arrowipc.Type{ID: arrowipc.TypeBinaryView}, arrowipc.KindView, 0},
	)
}

// unaligned is b at an odd address, with something behind it.
func unaligned(b []byte) []byte {
	c := make([]byte, len(b)+2)
	at := 1 - int(addressParity(c))
	copy(c[at:], b)
	c[len(b)+at] = 0xA5
	return c[at : at+len(b)+1-at]
}

// makeVector makes n random slots. Null slots hold values too, which must not count.
func makeVector(r *rand.Rand, s shape, n int) *Vector {
	v := &Vector{Field: &arrowipc.Field{Type: s.t}, Kind: s.kind, Width: s.width, Length: int64(n)}
	v.Validity = makeValidity(r, n)
	for range r.IntN(3) {
		v.Masks = append(v.Masks, makeValidity(r, n))
	}
	switch s.kind {
	case arrowipc.KindBool:
		odds := r.IntN(3) // mostly one, to have columns of one value
		v.Values = unaligned(bitmap(n, func(int) bool { return odds == 0 || odds == 1 && r.IntN(2) == 0 }))
	case arrowipc.KindFixed:
		v.Values = unaligned(makeFixed(r, s, n))
	case arrowipc.KindBinary, arrowipc.KindLargeBinary, arrowipc.KindView:
		makeStrings(r, v, n)
	}
	return v
}

// makeValidity is a bitmap with no, few, many or only nulls, or none at all.
func makeValidity(r *rand.Rand, n int) []byte {
	switch r.IntN(6) {
	case 0, 1:
		return nil
	case 2:
		return unaligned(bitmap(n, func(int) bool { return true }))
	case 3:
		return unaligned(bitmap(n, func(i int) bool { return i%8 != 3 }))
	case 4:
		odds := 1 + r.IntN(50)
		return unaligned(bitmap(n, func(int) bool { return r.IntN(odds) == 0 }))
	}
	from, most := r.IntN(n+1), r.IntN(2) // a run, perhaps of nothing
	return unaligned(bitmap(n, func(i int) bool { return i >= from && most == 0 }))
}

// makeFixed is values of a width, extremes of the type among them.
func makeFixed(r *rand.Rand, s shape, n int) []byte {
	b := make([]byte, n*s.width)
	mode := r.IntN(4)
	for i := range n {
		x := b[i*s.width : (i+1)*s.width]
		switch mode {
		case 0: // small, of one sign
			if s.width > 0 {
				x[0] = byte(r.IntN(100))
			}
		case 1: // small, of both
			if r.IntN(2) == 0 {
				for k := range x {
					x[k] = 0xFF
				}
			}
			if s.width > 0 {
				x[0] = byte(r.IntN(256))
			}
		case 2: // any
			for k := range x {
				x[k] = byte(r.Uint32())
			}
		case 3: // extremes
			fill := []byte{0, 0xFF}[r.IntN(2)]
			for k := range x {
				x[k] = fill
			}
			if s.width > 0 {
				x[s.width-1] = []byte{0, 0x7F, 0x80, 0xFF}[r.IntN(4)]
			}
		}
		if s.t.ID == arrowipc.TypeFloatingPoint && r.IntN(4) == 0 {
			copy(x, specialFloat(r, s.width))
		}
	}
	return b
}

// specialFloat is a zero, an infinity, a NaN or a subnormal of a width.
func specialFloat(r *rand.Rand, width int) []byte {
	switch width {
	case 2:
		return binary.LittleEndian.AppendUint16(nil, []uint16{0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 1, 0x8001}[r.IntN(8)])
	case 4:
		return binary.LittleEndian.AppendUint32(nil, []uint32{0, 1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFF80_0001, 1, 1<<31 | 1}[r.IntN(8)])
	}
	return binary.LittleEndian.AppendUint64(nil, []uint64{0, 1 << 63, math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
		math.Float64bits(math.NaN()), 0xFFF0_0000_0000_0001, 1, 1<<63 | 1}[r.IntN(8)])
}

// makeString makes the strings of one column: they have more or less in common.
func makeString(r *rand.Rand, text bool) func() string {
	alphabet := []string{"a", "b", "\x00", "\x7F", "é", "\uD7FF", "\U0010FFFF", "z"}
	if !text {
		alphabet = []string{"a", "\x00", "\xFF", "\xFF", "\x80"}
	}
	some := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	prefix := some([]int{0, 3, 8, 11, 20, 47, 48, 49, 70}[r.IntN(9)])
	if r.IntN(8) == 0 {
		prefix = strings.Repeat(alphabet[len(alphabet)-2], 70) // cannot be raised, where text
	}
	tail := []int{1, 2, 4, 9, 40}[r.IntN(5)]
	odds := []int{1 << 30, 200, 3}[r.IntN(3)]
	count := 0
	return func() string {
		count++
		switch r.IntN(odds) {
		case 0:
			return some(r.IntN(4))
		case 1:
			return prefix[:r.IntN(2)*len(prefix)]
		}
		if tail == 4 {
			return prefix + fmt.Sprint(1000+count)
		}
		return prefix + some(r.IntN(tail))
	}
}

// makeStrings fills the buffers of a vector of strings.
func makeStrings(r *rand.Rand, v *Vector, n int) {
	next := makeString(r, isText(v.Field))
	gap := r.IntN(2) * 5 // bytes before the first value
	v.Data = make([]byte, gap)
	offset := func() {
		if v.Kind == arrowipc.KindBinary {
			v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, uint32(len(v.Data)))
		} else {
			v.Offsets = binary.LittleEndian.AppendUint64(v.Offsets, uint64(len(v.Data)))
		}
	}
	offset()
	var views []byte
	buffers := [][]byte{nil, {1, 2, 3}}
	for range n {
		s := next()
		if v.Kind == arrowipc.KindView {
			views = appendView(views, buffers, r.IntN(2), s)
			continue
		}
		v.Data = append(v.Data, s...)
		offset()
	}
	if v.Kind == arrowipc.KindView {
		v.Values, v.Buffers, v.Data, v.Offsets = unaligned(views), buffers, nil, nil
		return
	}
	if r.IntN(2) == 0 {
		v.Data = append(v.Data, make([]byte, 100)...)
	}
	v.Offsets, v.Data = unaligned(v.Offsets), unaligned(v.Data)
}

// appendView appends a view of s, which goes into a buffer where it is long.
func appendView(views []byte, buffers [][]byte, buffer int, s string) []byte {
	views = binary.LittleEndian.AppendUint32(views, uint32(len(s)))
	if len(s) <= 12 {
		return append(views, (s + strings.Repeat("\x00", 12-len(s)))...)
	}
	views = append(views, s[:4]...)
	views = binary.LittleEndian.AppendUint32(views, uint32(buffer))
	views = binary.LittleEndian.AppendUint32(views, uint32(len(buffers[buffer])))
	buffers[buffer] = append(buffers[buffer], s...)
	return views
}

// makeIndexed makes a dictionary-encoded vector of n slots, of which not all values are in use.
func makeIndexed(r *rand.Rand, s shape, n int) *Vector {
	size := 1 + r.IntN([]int{1, 3, 100, 12*n + 1}[r.IntN(4)])
	width := []int{1, 2, 4, 8}[r.IntN(4)]
	if width == 1 {
		size = min(size, 128)
	}
	values := makeVector(r, s, size)
	v := &Vector{
		Field: &arrowipc.Field{Type: s.t, Dictionary: &arrowipc.Dictionary{IndexBits: 8 * width, Signed: r.IntN(2) == 0}},
		Kind:  arrowipc.KindFixed, Width: width, Length: int64(n), Validity: makeValidity(r, n), Dictionary: values,
	}
	used := 1 + r.IntN(size)
	for range n {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(r.IntN(used)))
		v.Values = append(v.Values, b[:width]...)
	}
	if len(v.Validity) > 0 && n > 0 && !bitAt(v.Validity, 0) { // what a null slot holds is no index
		for k := range width {
			v.Values[k] = 0
		}
	}
	v.Values = unaligned(v.Values)
	return v
}
