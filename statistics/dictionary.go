package statistics

import (
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
		return measureSparse(v)
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
	return c.withBounds(Measure(&inUse))
}

// withBounds is c with the bounds of o.
func (c Column) withBounds(o Column) Column {
	o.Rows, o.Nulls = c.Rows, c.Nulls
	return o
}

// nullTable has a 1 for each slot that is null; nil where there are none.
func (v *Vector) nullTable() []byte {
	if len(v.Validity) == 0 && len(v.Masks) == 0 && v.Dictionary == nil {
		return nil
	}
	table := make([]byte, v.Length)
	for i := range v.Length {
		if v.Null(i) {
			table[i] = 1
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

// measureSparse looks up each value by itself.
func measureSparse(v *Vector) Column {
	c := Column{Rows: v.Length}
	class, text := ClassOf(v.Field), isText(v.Field)
	for i := range v.Length {
		if v.Null(i) {
			c.Nulls++
			continue
		}
		if class != None {
			c.Merge(single(v.Value(i), class, text), class)
		}
	}
	c.Rows = v.Length
	return c
}

// single is what is known of one value that is not null, apart from the counts.
func single(x Value, class Class, text bool) (c Column) {
	switch {
	case class == Bytes:
		b := []byte(x.bytes)
		c.boundBytes(b, b, text)
	case class == Float && nanBit(x.bits) != 0:
		c.HasNaN = true
	default:
		c.bound(x, x)
	}
	return c
}

// indices reads a block of indices.
func (v *Vector) indices(k *keys, values []byte) {
	if v.Field.Dictionary.Signed || v.Width == 8 { // no index is so large that its sign would matter
		k.signed(values, v.Width)
	} else {
		k.unsigned(values, v.Width)
	}
}
