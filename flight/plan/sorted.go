package plan

import (
	"fmt"
	"sort"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/statistics"
)

// FindRowColumn finds the column that a name or a dotted path means among those with one slot in each row. ErrColumn.
func FindRowColumn(s *arrowipc.Schema, columns []arrowipc.RowColumn, name string) (arrowipc.RowColumn, error) {
	path, err := newResolver(s.Fields).resolve(descriptors.Column{Name: name})
	if err != nil {
		return arrowipc.RowColumn{}, err
	}
	c := s.Layout.Columns[path[0]]
	for _, i := range path[1:] {
		c = c.Children[i]
	}
	for _, rc := range columns {
		if rc.Column == c {
			return rc, nil
		}
	}
	return arrowipc.RowColumn{}, fmt.Errorf("%w: %q has no single value in each row", ErrColumn, name)
}

// window is the run of stored batches in which a filter can match at all, the last excluded. Where the rows are in the
// order of a column, what the batches up to one, or from one on, hold of it is one interval that grows with them: the
// first and the last batch that can match are found by bisection. All others need not be judged.
func (r *Read) window() (first, last int) {
	batches := r.Generation.Batches
	key, at := r.sortColumn()
	if at < 0 || len(batches) < 2 {
		return 0, len(batches)
	}
	whole := r.Generation.Statistics[r.Filter.ordinals[at]]
	possible := func(c statistics.Column) bool {
		return r.Filter.predicate.Judge(func(i int) *statistics.Column {
			if i == at {
				return &c
			}
			return nil
		}) != predicate.None
	}
	of := func(i int) statistics.Column { return batches[i].Statistics()[r.Filter.ordinals[at]] }
	// The interval of the batches up to i, and from i on. Nulls and NaNs are at the end: a batch with neither has none
	// before it.
	upTo := func(i int) statistics.Column {
		c, own := whole, of(i)
		if own.Nulls == 0 && !own.HasNaN && own.HasMin && own.HasMax {
			c.Nulls, c.HasNaN = 0, false
			if key.descending {
				c.Min, c.MinExact = own.Min, own.MinExact
			} else {
				c.Max, c.MaxExact = own.Max, own.MaxExact
			}
		}
		return c
	}
	from := func(i int) statistics.Column {
		c, own := whole, of(i)
		switch {
		case !own.HasMin: // no value is left: nulls and NaNs come last
			c.HasMin, c.HasMax = false, false
		case !own.HasMax:
		case key.descending:
			c.Max, c.MaxExact = own.Max, own.MaxExact
		default:
			c.Min, c.MinExact = own.Min, own.MinExact
		}
		return c
	}
	first = sort.Search(len(batches), func(i int) bool { return possible(upTo(i)) })
	last = first + sort.Search(len(batches)-first, func(i int) bool { return !possible(from(first + i)) })
	return first, last
}

// sortKey is the most significant key of a dataset's order.
type sortKey struct{ descending bool }

// sortColumn gives the order's first key and its position among the filter's columns; -1 if the filter does not look at it.
func (r *Read) sortColumn() (sortKey, int) {
	o := r.Generation.Order
	if o == nil || r.Generation.Statistics == nil {
		return sortKey{}, -1
	}
	key := descriptors.ParseSortKey(o.SortedBy[0])
	column, err := FindRowColumn(r.Generation.Schema, r.Generation.RowColumns, key.Column)
	if err != nil {
		return sortKey{}, -1 // it was found when it was put; without it every batch is judged
	}
	for i, c := range r.Filter.columns {
		if c.Column == column.Column && r.Filter.ordinals[i] >= 0 {
			return sortKey{key.Descending}, i
		}
	}
	return sortKey{}, -1
}
