package statistics

import (
	"encoding/binary"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
)

// measureDictionary measures dictionary-encoded values: which dictionary values are in use is found first, and those are
// measured once each.
func measureDictionary(v *Vector) Column {
	values := v.Dictionary
	if values.Kind == arrowipc.KindNull || v.Length == 0 {
		return Column{Rows: v.Length, Nulls: v.Length}
	}
	// A large dictionary with few rows is not worth going through as a whole.
	if values.Length/8 > v.Length {
		return Measure(v.decoded())
	}
	c := Column{Rows: v.Length, Nulls: v.Length}
	used := make([]byte, (values.Length+block-1)/block*block)
	nulls := values.nullTable()
	var (
		k       keys
		scratch [8 * block]byte
	)
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		v.indices(&k, blockOf(v.Values, v.Width, &scratch, i, n))
		for ; w != 0; w &= w - 1 {
			index := k[bits.TrailingZeros64(w)]
			used[index] = 1
			if nulls != nil {
				c.Nulls += int64(nulls[index])
			}
		}
	})
	inUse := *values
	inUse.Masks = append(values.Masks[:len(values.Masks):len(values.Masks)], packBits(used))
	bounds := Measure(&inUse)
	bounds.Rows, bounds.Nulls = c.Rows, c.Nulls
	return bounds
}

// nullTable has a 1 for each slot that is null; nil where none can be.
func (v *Vector) nullTable() []byte {
	if len(v.Validity) == 0 && len(v.Masks) == 0 {
		return nil
	}
	table := make([]byte, v.Length)
	for i := 0; i < len(table); i += block {
		part := table[i:min(i+block, len(table))]
		w := ^v.valid(i, len(part))
		for k := range part {
			part[k] = byte(w >> k & 1)
		}
	}
	return table
}

// packBits turns bytes that are 0 or 1, a multiple of 64 of them, into bits.
func packBits(b []byte) []byte {
	packed := make([]byte, len(b)/8)
	for i, x := range b {
		packed[i>>3] |= x << (i & 7)
	}
	return packed
}

// decoded is the values of v without a dictionary. Of a string no more is copied than is judged.
func (v *Vector) decoded() *Vector {
	values := v.Dictionary
	d := &Vector{Field: values.Field, Kind: values.Kind, Width: values.Width, Length: v.Length, Validity: make([]byte, (v.Length+7)/8)}
	variable := ClassOf(d.Field) == Bytes && values.Kind != arrowipc.KindFixed
	if variable {
		d.Kind, d.Offsets = arrowipc.KindLargeBinary, make([]byte, 8, 8*(v.Length+1))
	} else {
		d.Values = make([]byte, v.Length*int64(max(values.Width, 1))) // a bit takes less
	}
	for i := range v.Length {
		if !v.Null(i) {
			d.Validity[i>>3] |= 1 << (i & 7)
			index := v.index(i)
			switch {
			case variable:
				b := values.slice(index)
				d.Data = append(d.Data, b[:min(len(b), judged)]...)
			case values.Kind == arrowipc.KindFixed:
				copy(d.fixed(i), values.fixed(index))
			case values.Kind == arrowipc.KindBool && bitAt(values.Values, index):
				d.Values[i>>3] |= 1 << (i & 7)
			}
		}
		if variable {
			d.Offsets = binary.LittleEndian.AppendUint64(d.Offsets, uint64(len(d.Data)))
		}
	}
	return d
}

// indices reads a block of indices.
func (v *Vector) indices(k *keys, values []byte) {
	if v.Field.Dictionary.Signed || v.Width == 8 { // no index is so large that its sign would matter
		k.signed(values, v.Width)
	} else {
		k.unsigned(values, v.Width)
	}
}
