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
	latest map[*arrowipc.Column]vectored // by the column of a dictionary's values
	joined int64                         // bytes of dictionaries in several parts that were put together so far
}

// maxJoined bounds the bytes that a put's dictionaries are put together in. A dictionary that grows by deltas is joined
// anew for each of its sizes: without a bound, many small deltas would cost their square.
const maxJoined = 256 << 20

// vectored is a dictionary's values as a vector. Only the last of each dictionary is kept: batches that follow each other
// mostly have the same, and a dictionary that grows would else be kept in each of its sizes.
type vectored struct {
	values *dictionaryValues
	vector *statistics.Vector
}

func newMeasurer(l *arrowipc.Layout) *measurer {
	return &measurer{columns: arrowipc.RowColumns(l.Columns), latest: map[*arrowipc.Column]vectored{}}
}

// measure gives the statistics of a plain batch's columns. Values are those of the dictionaries that its indices mean.
func (m *measurer) measure(b *plainBatch, values map[int64]*dictionaryValues) ([]statistics.Column, error) {
	s := newSource(b)
	out := make([]statistics.Column, len(m.columns))
	if !measuring {
		return out, nil
	}
	for i, column := range m.columns {
		d := column.Column.Field.Dictionary
		if d == nil {
			out[i] = statistics.Measure(s.vector(column, nil))
			continue
		}
		dictionary, err := m.dictionary(values[d.ID])
		if err != nil {
			return nil, err
		}
		if dictionary == nil {
			out[i] = countOnly(s, column, values[d.ID])
			continue
		}
		out[i] = statistics.Measure(s.vector(column, dictionary))
	}
	return out, nil
}

// countOnly counts the logical nulls of a dictionary-encoded column: those of its indices, of the structs around it, and of
// the values that indices mean. Its values are not compared.
func countOnly(s *source, column arrowipc.RowColumn, values *dictionaryValues) statistics.Column {
	v := s.vector(column, nil)
	rows, nulls := v.Length, int64(0)
	for i := range rows {
		if v.Null(i) {
			nulls++
			continue
		}
		part, at := values.find(indexAt(v.Values, column.Column, i))
		if bitmap := part.validity(values.column); !valid(bitmap, at) || values.column.Kind == arrowipc.KindNull {
			nulls++
		}
	}
	return statistics.Everything(column.Column.Field, rows, nulls)
}

// dictionary gives a dictionary's values as one vector; nil where they have no order, or are not worth it any more.
func (m *measurer) dictionary(v *dictionaryValues) (*statistics.Vector, error) {
	if statistics.ClassOf(v.column.Field) == statistics.None {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.latest[v.column]; x.values == v {
		return x.vector, nil
	}
	plan, err := concatSize([]*arrowipc.Column{v.column}, v.runs())
	if err != nil {
		return nil, err
	}
	plain := &plainBatch{}
	if len(v.parts) == 1 {
		plain = v.parts[0].plainBatch
	} else { // on Go's heap: who uses it keeps it
		if m.joined += plan.bodyLen; m.joined > maxJoined {
			return nil, nil
		}
		*plain, _ = plan.write(make([]byte, plan.bodyLen))
	}
	x := vectored{v, dictionaryVector(v.column, plain)}
	m.latest[v.column] = x
	return x.vector, nil
}
