package statistics

import "unsafe"

// MaxBytes is the most bytes of a bound of class Bytes.
const MaxBytes = 64

// Column is what is known of one column of one batch, or of a whole dataset. The zero Column is that of no rows.
type Column struct {
	Rows   int64
	Nulls  int64 // logical nulls: of dictionary-encoded columns those of values too, of struct leaves those of parents too
	HasNaN bool

	// HasMin says that Min holds: no value that is neither null nor NaN comes before it. Where it is false there is no
	// such value at all, or the class has no order.
	//
	// HasMax says that Max holds: no such value comes after it. Where only HasMin is true, no short value comes after all
	// of them (binary columns with values that begin with [MaxBytes] bytes of 0xFF).
	HasMin, HasMax bool
	Min, Max       Value
	// MinExact and MaxExact say that the bound is a value of the column, not one cut to fit.
	MinExact, MaxExact bool
}

// Merge adds the rows of o, a column of the same type, to c. The order in which columns are merged does not matter.
func (c *Column) Merge(o Column, class Class) {
	switch {
	case !o.HasMin: // it has no values to bound
	case !c.HasMin:
		c.HasMin, c.Min, c.MinExact = true, o.Min, o.MinExact
		c.HasMax, c.Max, c.MaxExact = o.HasMax, o.Max, o.MaxExact
	default:
		c.mergeMin(o, class)
		c.mergeMax(o, class)
	}
	c.Rows += o.Rows
	c.Nulls += o.Nulls
	c.HasNaN = c.HasNaN || o.HasNaN
}

func (c *Column) mergeMin(o Column, class Class) {
	switch order := compareBounds(class, o.Min, c.Min); {
	case order < 0:
		c.Min, c.MinExact = o.Min, o.MinExact
	case order == 0: // one that was cut and one that is a value: the bound is a value
		c.MinExact = c.MinExact || o.MinExact
	}
}

func (c *Column) mergeMax(o Column, class Class) {
	if !c.HasMax || !o.HasMax {
		c.HasMax, c.Max, c.MaxExact = false, Value{}, false
		return
	}
	switch order := compareBounds(class, o.Max, c.Max); {
	case order > 0:
		c.Max, c.MaxExact = o.Max, o.MaxExact
	case order == 0:
		c.MaxExact = c.MaxExact || o.MaxExact
	}
}

// Bytes is the memory that c takes, in bytes.
func (c Column) Bytes() int64 {
	return int64(unsafe.Sizeof(c)) + int64(len(c.Min.bytes)) + int64(len(c.Max.bytes))
}
