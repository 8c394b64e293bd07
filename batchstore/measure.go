package batchstore

import (
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// measurer takes the statistics of a put's batches. It is shared by the workers.
type measurer struct {
	columns []arrowipc.RowColumn // of the batches that are kept

	mu     sync.Mutex
	values map[*dictionaryValues]*statistics.Vector // dictionaries as vectors, made once each
}

func newMeasurer(l *arrowipc.Layout) *measurer {
	return &measurer{columns: arrowipc.RowColumns(l.Columns), values: map[*dictionaryValues]*statistics.Vector{}}
}

// measure gives the statistics of a plain batch's columns. Values are those of the dictionaries that its indices mean.
func (m *measurer) measure(b *plainBatch, values map[int64]*dictionaryValues) ([]statistics.Column, error) {
	s := newSource(b)
	out := make([]statistics.Column, len(m.columns))
	for i, column := range m.columns {
		var dictionary *statistics.Vector
		if d := column.Column.Field.Dictionary; d != nil {
			var err error
			if dictionary, err = m.dictionary(values[d.ID]); err != nil {
				return nil, err
			}
		}
		out[i] = statistics.Measure(s.vector(column, dictionary))
	}
	return out, nil
}

// dictionary gives a dictionary's values as one vector; nil where they have no single value each.
func (m *measurer) dictionary(v *dictionaryValues) (*statistics.Vector, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x, ok := m.values[v]; ok {
		return x, nil
	}
	columns := []*arrowipc.Column{v.column}
	if statistics.ClassOf(v.column.Field) == statistics.None || len(v.parts) > maxParts {
		m.values[v] = nil
		return nil, nil
	}
	plan, err := concatSize(columns, v.runs())
	if err != nil {
		return nil, err
	}
	plain := &plainBatch{}
	if len(v.parts) == 1 {
		plain = v.parts[0].plainBatch
	} else { // on Go's heap: it lives as long as the put, and is collected with it
		*plain, _ = plan.write(make([]byte, plan.bodyLen))
	}
	x := dictionaryVector(v.column, plain)
	m.values[v] = x
	return x, nil
}

// maxParts is the most deltas of a dictionary whose values are still put together to be measured: it is done anew for
// each. Beyond that the column has counts and no bounds.
const maxParts = 64
