package statistics

import (
	"bytes"
	"cmp"
	"math"
)

// Place is a slot's place among others in an ascending order: values first, then NaNs, then nulls.
type Place struct {
	rank  rank
	value Value
}

type rank uint8

const (
	rankValue rank = iota
	rankNaN
	rankNull
)

// Place is the place of slot i. It copies bytes.
func (v *Vector) Place(i int64) Place {
	r := v.rank(ClassOf(v.Field), i)
	if r != rankValue {
		return Place{rank: r}
	}
	return Place{value: v.Value(i)}
}

// ComparePlaces compares two places of one class: below 0 if a comes before b. Descending turns values round; NaNs and
// nulls stay last.
func ComparePlaces(class Class, a, b Place, descending bool) int {
	if a.rank != rankValue || b.rank != rankValue {
		return cmp.Compare(a.rank, b.rank)
	}
	c := Compare(class, a.value, b.value)
	if descending {
		return -c
	}
	return c
}

// CompareSlots is [ComparePlaces] of two slots of one vector, without copying.
func (v *Vector) CompareSlots(i, j int64, descending bool) int {
	class := ClassOf(v.Field)
	if a, b := v.rank(class, i), v.rank(class, j); a != rankValue || b != rankValue {
		return cmp.Compare(a, b)
	}
	c := v.compareValues(class, i, j)
	if descending {
		return -c
	}
	return c
}

func (v *Vector) rank(class Class, i int64) rank {
	if v.Null(i) {
		return rankNull
	}
	if class == Float && math.IsNaN(v.float(i)) {
		return rankNaN
	}
	return rankValue
}

func (v *Vector) float(i int64) float64 {
	if v.Dictionary != nil {
		return v.Dictionary.float(v.index(i))
	}
	return floatAt(v.fixed(i))
}

// compareValues compares two slots that are neither null nor NaN.
func (v *Vector) compareValues(class Class, i, j int64) int {
	if v.Dictionary != nil {
		return v.Dictionary.compareValues(class, v.index(i), v.index(j))
	}
	switch class {
	case Signed:
		return cmp.Compare(signedAt(v.fixed(i)), signedAt(v.fixed(j)))
	case Unsigned:
		return cmp.Compare(unsignedAt(v.fixed(i)), unsignedAt(v.fixed(j)))
	case Float:
		return cmp.Compare(floatAt(v.fixed(i)), floatAt(v.fixed(j)))
	case Bytes:
		return bytes.Compare(v.slice(i), v.slice(j))
	}
	return Compare(class, v.Value(i), v.Value(j))
}
