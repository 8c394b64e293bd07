package statistics

import (
	"encoding/binary"
	"math/bits"
)

// measureNumbers measures values of up to 8 bytes: each block is turned into keys, then all types take the same way.
func measureNumbers(v *Vector) Column {
	c := Column{Rows: v.Length, Nulls: v.Length}
	class := ClassOf(v.Field)
	var (
		k       keys
		scratch [8 * block]byte
		e       extremes
	)
	v.blocks(func(i, n int, w uint64) {
		c.Nulls -= int64(bits.OnesCount64(w))
		values := blockOf(v.Values, v.Width, &scratch, i, n)
		switch class {
		case Unsigned:
			k.unsigned(values, v.Width)
		case Float:
			if nan := k.floats(values, v.Width) & w; nan != 0 {
				c.HasNaN = true
				w &^= nan
			}
		default:
			k.signed(values, v.Width)
		}
		e.add(&k, w)
	})
	if e.seen {
		c.bound(keyValue(class, v.Width, e.least), keyValue(class, v.Width, e.greatest))
	}
	return c
}

// keyValue is the value of a key.
func keyValue(class Class, width int, key int64) Value {
	switch class {
	case Unsigned:
		if width == 8 {
			return Uint(uint64(key) ^ signBit)
		}
		return Uint(uint64(key))
	case Float:
		return Value{bits: floatBits(key)}
	case Decimal:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(key))
		return Value{bytes: widened(b[:])}
	}
	return Int(key)
}

// extremes are the least and the greatest key seen.
type extremes struct {
	least, greatest int64
	seen            bool
}

// selections has four words for each four bits of validity: all ones where the bit is set.
var selections = func() (s [16][4]int64) {
	for bits := range s {
		for i := range s[bits] {
			s[bits][i] = -int64(bits >> i & 1)
		}
	}
	return s
}()

// add takes the keys that w selects.
func (e *extremes) add(k *keys, w uint64) {
	if w == 0 {
		return
	}
	if !e.seen {
		first := k[bits.TrailingZeros64(w)]
		e.seen, e.least, e.greatest = true, first, first
	}
	// Two lanes, because each minimum waits for the one before it.
	least0, greatest0 := e.least, e.greatest
	least1, greatest1 := least0, greatest0
	if w == ^uint64(0) {
		for i := 0; i < block; i += 4 {
			x := (*[4]int64)(k[i:])
			least0, greatest0 = min(least0, x[0]), max(greatest0, x[0])
			least1, greatest1 = min(least1, x[1]), max(greatest1, x[1])
			least0, greatest0 = min(least0, x[2]), max(greatest0, x[2])
			least1, greatest1 = min(least1, x[3]), max(greatest1, x[3])
		}
	} else {
		// A slot that is not selected counts as a key that was seen, which changes nothing and needs no branch.
		seen := e.least
		for i := 0; i < block; i += 4 {
			x, selected := (*[4]int64)(k[i:]), &selections[w&15]
			w >>= 4
			a := seen ^ (seen^x[0])&selected[0]
			b := seen ^ (seen^x[1])&selected[1]
			c := seen ^ (seen^x[2])&selected[2]
			d := seen ^ (seen^x[3])&selected[3]
			least0, greatest0 = min(least0, a), max(greatest0, a)
			least1, greatest1 = min(least1, b), max(greatest1, b)
			least0, greatest0 = min(least0, c), max(greatest0, c)
			least1, greatest1 = min(least1, d), max(greatest1, d)
		}
	}
	e.least, e.greatest = min(least0, least1), max(greatest0, greatest1)
}
