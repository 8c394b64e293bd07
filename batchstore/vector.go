package batchstore

import (
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// vector gives a column's own buffers as the statistics and the predicates take them. The values are those of a dictionary-
// encoded column's dictionary, nil for others. It refers to the batch's buffers.
func (s *source) vector(column arrowipc.RowColumn, values *statistics.Vector) *statistics.Vector {
	c := column.Column
	v := &statistics.Vector{
		Field: c.Field, Kind: c.Kind, Width: c.Width, Length: s.node(c).Length, Validity: s.validity(c), Dictionary: values,
	}
	for _, parent := range column.Parents {
		if mask := s.validity(parent); mask != nil {
			v.Masks = append(v.Masks, mask)
		}
	}
	switch c.Kind {
	case arrowipc.KindBool, arrowipc.KindFixed:
		v.Values = s.buf(c, 1)
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		v.Offsets, v.Data = s.buf(c, 1), s.buf(c, 2)
	case arrowipc.KindView:
		v.Values, v.Buffers = s.buf(c, 1), s.viewData(c)
	}
	return v
}
