package flight

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/plan"
	"github.com/flightcache/flightcache/statistics"
)

// checkOrder has the put's rows checked against the order that its command declares. A put that declares none and appends
// to a dataset in some order is checked against that one: the dataset keeps it if it stays true.
func (p *put) checkOrder() error {
	keys, optional := p.command.SortedBy, false
	if keys == nil {
		optional, keys = true, sortKeys(p.commit.SortedBy())
	}
	if len(keys) == 0 {
		return nil
	}
	order, err := orderKeys(p.ingest.Schema(), keys)
	if err != nil {
		return err
	}
	p.ingest.CheckOrder(order, optional)
	for _, k := range keys {
		p.sortedBy = append(p.sortedBy, k.String())
	}
	return nil
}

// sortKeys reads the keys of an order as the catalogue has them.
func sortKeys(names []string) (keys []descriptors.SortKey) {
	for _, name := range names {
		keys = append(keys, descriptors.ParseSortKey(name))
	}
	return keys
}

// orderKeys finds the columns of an order. plan.ErrColumn.
func orderKeys(s *arrowipc.Schema, keys []descriptors.SortKey) ([]batchstore.OrderKey, error) {
	columns := arrowipc.RowColumns(s.Layout.Columns)
	out := make([]batchstore.OrderKey, 0, len(keys))
	for _, k := range keys {
		column, err := plan.FindRowColumn(s, columns, k.Column)
		if err != nil {
			return nil, fmt.Errorf("sorted_by: %w", err)
		}
		if statistics.ClassOf(column.Column.Field) == statistics.None {
			return nil, fmt.Errorf("sorted_by: %w: %q is %s, which has no order", plan.ErrColumn, k.Column, column.Column.Field.TypeString())
		}
		out = append(out, batchstore.OrderKey{Column: column, Descending: k.Descending})
	}
	return out, nil
}

// order is what the catalogue is told of the put's order; nil where there is none.
func (p *put) order() *catalog.Order {
	o := p.ingest.Order()
	if o == nil || !o.Sorted {
		return nil
	}
	c := &catalog.Order{SortedBy: p.sortedBy, Follows: follows(o)}
	if o.First != nil {
		c.First, c.Last = o.First, o.Last
	}
	return c
}
