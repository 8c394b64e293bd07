package predicate

import (
	"errors"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// ErrVector means that a vector is not one of the column that it is given for.
var ErrVector = errors.New("predicate: the vector does not fit its column")

// check reports a vector that is not one of a column, or whose buffers are too short for so many rows. That offsets, views
// and indices lie within their buffers is the caller's to have checked.
func (c *boundColumn) check(v *statistics.Vector, rows int64) error {
	name := Column{Path: c.Path}
	if v == nil {
		return fmt.Errorf("%w: column %s has none", ErrVector, name)
	}
	want := c.Column
	if v.Dictionary == nil != (want.Field.Dictionary == nil) {
		return fmt.Errorf("%w: column %s is %s, the vector's values are not", ErrVector, name, want.Field.TypeString())
	}
	err := fits(v, want.Kind, want.Width, rows)
	if err == nil && v.Dictionary != nil {
		if v.Dictionary.Dictionary != nil {
			return fmt.Errorf("%w: column %s has a dictionary of a dictionary", ErrVector, name)
		}
		err = fits(v.Dictionary, c.values.Kind, c.values.Width, v.Dictionary.Length)
	}
	if err != nil {
		return fmt.Errorf("%w: column %s: %w", ErrVector, name, err)
	}
	return nil
}

// fits reports a vector of another kind than one that is wanted, or with short buffers.
func fits(v *statistics.Vector, kind arrowipc.Kind, width int, rows int64) error {
	if v.Kind != kind || kind == arrowipc.KindFixed && v.Width != width || v.Length < rows || v.Length < 0 {
		return fmt.Errorf("the vector has %d values of kind %d and %d bytes, where %d of kind %d and %d bytes are needed", v.Length, v.Kind, v.Width, rows, kind, width)
	}
	var have, need int
	switch kind {
	case arrowipc.KindBool:
		have, need = len(v.Values), int(rows+7)/8
	case arrowipc.KindFixed:
		have, need = len(v.Values), int(rows)*width
	case arrowipc.KindBinary:
		have, need = len(v.Offsets), 4*int(rows+1)
	case arrowipc.KindLargeBinary:
		have, need = len(v.Offsets), 8*int(rows+1)
	case arrowipc.KindView:
		have, need = len(v.Values), 16*int(rows)
	}
	if have < need && rows > 0 {
		return fmt.Errorf("a buffer of %d bytes, where %d rows need %d", have, rows, need)
	}
	return nil
}
