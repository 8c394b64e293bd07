package statistics

import (
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
)

// Measure looks at every slot of v once. The Column does not refer to v's buffers.
func Measure(v *Vector) Column {
	switch {
	case v.Kind == arrowipc.KindNull:
		return Column{Rows: v.Length, Nulls: v.Length}
	case v.Dictionary != nil:
		return measureDictionary(v)
	case v.Field.Dictionary != nil: // indices into what is not known
		return measureNulls(v)
	}
	switch ClassOf(v.Field) {
	case Bool:
		return measureBools(v)
	case Signed, Unsigned, Float:
		return measureNumbers(v)
	case Decimal:
		if v.Width <= 8 {
			return measureNumbers(v)
		}
		return measureDecimals(v)
	case Bytes:
		return measureBytes(v)
	}
	return measureNulls(v)
}

// measureNulls only counts.
func measureNulls(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	v.blocks(func(_, _ int, w uint64) { c.Nulls -= int64(bits.OnesCount64(w)) })
	return c
}

func measureBools(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	var falses, trues bool
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		x := bitsAt(v.Values, i, n)
		trues = trues || x&w != 0
		falses = falses || ^x&w != 0
	})
	if falses || trues {
		c.bound(Boolean(!falses), Boolean(trues))
	}
	return c
}

// bound sets both bounds, to values of the column.
func (c *Column) bound(least, greatest Value) {
	c.HasMin, c.Min, c.MinExact = true, least, true
	c.HasMax, c.Max, c.MaxExact = true, greatest, true
}
