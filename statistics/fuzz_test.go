package statistics

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// FuzzMeasure makes vectors of all types, plain (which is even) and dictionary-encoded, of the bytes it is given: values
// one after the other, those of strings of the lengths given. The bounds must hold for each value.
func FuzzMeasure(f *testing.F) {
	all := shapes()
	long := bytes.Repeat([]byte("prefix of all values "), 70)
	for i := range all {
		f.Add(uint8(2*i), []byte{0xF7, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F}, long, bytes.Repeat([]byte{21}, 70))
		f.Add(uint8(2*i+1), []byte(nil), []byte("\xFF\xFE\x00\x80\x7F"), []byte{0, 1, 3, 1})
	}
	f.Fuzz(func(t *testing.T, which uint8, validity, values, lengths []byte) {
		s := all[int(which)/2%len(all)]
		v := vectorOf(s, validity, values, lengths)
		if which%2 == 1 && v.Length > 0 {
			v = indexed(v, lengths)
		}
		check(t, v)
	})
}

// vectorOf makes a vector of any bytes. A validity that is too short for it is left out.
func vectorOf(s shape, validity, values, lengths []byte) *Vector {
	v := &Vector{Field: &arrowipc.Field{Type: s.t}, Kind: s.kind, Width: s.width, Values: values}
	switch {
	case s.kind == arrowipc.KindBool:
		v.Length = int64(8 * len(values))
	case s.kind == arrowipc.KindFixed && s.width > 0:
		v.Length = int64(len(values) / s.width)
	case s.kind == arrowipc.KindView:
		v.Values = nil
		buffers := [][]byte{nil}
		for value := range cut(values, lengths) {
			v.Values = appendView(v.Values, buffers, 0, string(value))
		}
		v.Buffers, v.Length = buffers, int64(len(lengths))
	default:
		v.Data, v.Length = values, int64(len(lengths))
		at := 0
		for i := range len(lengths) + 1 {
			if s.kind == arrowipc.KindBinary {
				v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, uint32(at))
			} else {
				v.Offsets = binary.LittleEndian.AppendUint64(v.Offsets, uint64(at))
			}
			if i < len(lengths) {
				at = min(at+int(lengths[i]), len(values))
			}
		}
	}
	if int64(8*len(validity)) >= v.Length {
		v.Validity = validity
	}
	return v
}

// cut gives pieces of b of so many bytes, the last ones shorter where b ends.
func cut(b, lengths []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, n := range lengths {
			n := min(int(n), len(b))
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// indexed is a dictionary-encoded vector of values.
func indexed(values *Vector, indices []byte) *Vector {
	indices = slices.Clone(indices)
	for i := range indices {
		indices[i] = byte(int64(indices[i]) % min(values.Length, 128))
	}
	return &Vector{
		Field: &arrowipc.Field{Type: values.Field.Type, Dictionary: &arrowipc.Dictionary{IndexBits: 8, Signed: true}},
		Kind:  arrowipc.KindFixed, Width: 1, Length: int64(len(indices)), Values: indices, Dictionary: values,
	}
}
