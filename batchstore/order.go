package batchstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// ErrOrder says that rows are not in the order that their put declares. The message names the row.
var ErrOrder = errors.New("rows are not in the declared order")

// OrderKey is one key of a declared order, the most significant first. Nulls come last, NaNs before them, both ways.
type OrderKey struct {
	Column     arrowipc.RowColumn // of the batches that are kept
	Descending bool
}

// Edge is a row's place in a declared order, by key.
type Edge []statistics.Place

// AppendEdge appends the binary form of an edge of an order of these keys to dst: the places one after the other, as
// [statistics.AppendPlace] writes them.
func AppendEdge(dst []byte, e Edge, keys []OrderKey) []byte {
	for i, k := range keys {
		dst = statistics.AppendPlace(dst, e[i], statistics.ClassOf(k.Column.Column.Field))
	}
	return dst
}

// ParseEdge reads what AppendEdge wrote. Nothing of b is kept. The error is statistics.ErrBinary.
func ParseEdge(b []byte, keys []OrderKey) (Edge, error) {
	e := make(Edge, len(keys))
	var err error
	for i, k := range keys {
		if e[i], b, err = statistics.ConsumePlace(b, statistics.ClassOf(k.Column.Column.Field)); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind an edge", statistics.ErrBinary, len(b))
	}
	return e, nil
}

// edges are the first and the last row of one batch, or of one piece of a group.
type edges struct {
	rows        int64
	first, last Edge
}

// orderCheck checks a put's rows against a declared order. Its methods may be called by several workers.
type orderCheck struct{ keys []OrderKey }

// Follows tells whether a row at b may come right after one at a.
func (o *orderCheck) follows(a, b Edge) bool { return o.compare(a, b) <= 0 }

func (o *orderCheck) compare(a, b Edge) int {
	for i, k := range o.keys {
		if c := statistics.ComparePlaces(statistics.ClassOf(k.Column.Column.Field), a[i], b[i], k.Descending); c != 0 {
			return c
		}
	}
	return 0
}

// batch checks a plain batch and gives its edges; at is the number of its first row among the put's.
func (o *orderCheck) batch(m *measurer, b *plainBatch, values map[int64]*dictionaryValues, at int64) (e edges, err error) {
	s := newSource(b)
	vectors := make([]*statistics.Vector, len(o.keys))
	for i, k := range o.keys {
		var dictionary *statistics.Vector
		if d := k.Column.Column.Field.Dictionary; d != nil {
			if dictionary, err = m.dictionary(values[d.ID]); err != nil {
				return e, err
			}
			if dictionary == nil {
				return e, fmt.Errorf("%w: the order of column %q cannot be told", ErrOrder, strings.Join(k.Column.Path, "."))
			}
		}
		vectors[i] = s.vector(k.Column, dictionary)
	}
	for row := int64(1); row < b.rows; row++ {
		for i, v := range vectors {
			c := v.CompareSlots(row-1, row, o.keys[i].Descending)
			if c > 0 {
				return e, o.violation(at + row)
			}
			if c < 0 {
				break
			}
		}
	}
	e.rows = b.rows
	for _, v := range vectors {
		e.first = append(e.first, v.Place(0))
		e.last = append(e.last, v.Place(b.rows-1))
	}
	return e, nil
}

func (o *orderCheck) violation(row int64) error {
	var keys []string
	for _, k := range o.keys {
		name := strings.Join(k.Column.Path, ".")
		if k.Descending {
			name = "-" + name
		}
		keys = append(keys, name)
	}
	return fmt.Errorf("%w: row %d comes before the row above it, by %s; sort the rows, or leave out sorted_by",
		ErrOrder, row, strings.Join(keys, ", "))
}

// join checks consecutive pieces against each other and gives the edges of them all; at is the number of the first row.
func (o *orderCheck) join(pieces []edges, at int64) (all edges, err error) {
	for _, e := range pieces {
		if all.rows > 0 && !o.follows(all.last, e.first) {
			return all, o.violation(at + all.rows)
		}
		if all.rows == 0 {
			all.first = e.first
		}
		all.last = e.last
		all.rows += e.rows
	}
	return all, nil
}

// Order tells what is known of the order of a put's rows: whether they are in the order that was asked for, and where
// they begin and end. It is valid after Finish.
type Order struct {
	Keys        []OrderKey
	Sorted      bool
	First, Last Edge // nil of no rows
}

// CheckOrder has the rows checked against an order, one by one; it is called before the first Add. A row that breaks it is
// ErrOrder, which names the row. With optional it is no error: Order then says that there is no order.
func (in *Ingest) CheckOrder(keys []OrderKey, optional bool) { in.keys, in.optional = keys, optional }

// Order tells what is known of the order of the rows. It is valid after Finish, and nil where none was asked for.
func (in *Ingest) Order() *Order { return in.order }

// finishOrder checks the groups against each other. An order that is only asked for, not declared, may turn out not to be.
func (in *Ingest) finishOrder() error {
	if len(in.keys) == 0 {
		return nil
	}
	check := orderCheck{in.keys}
	var pieces []edges
	for _, g := range in.groups {
		if g.unordered {
			in.order = &Order{Keys: check.keys}
			return nil
		}
		if g.edges.rows > 0 {
			pieces = append(pieces, g.edges)
		}
	}
	all, err := check.join(pieces, 0)
	if err != nil && !in.optional {
		return err
	}
	in.order = &Order{Keys: check.keys, Sorted: err == nil, First: all.first, Last: all.last}
	return nil
}

// checkOrder checks what was made of one group. It runs on a worker.
func (in *Ingest) checkOrder(g *group, e *builder) error {
	if e.order == nil {
		return nil
	}
	err := e.orderErr
	if err == nil {
		g.edges, err = e.order.join(e.edges, g.at)
	}
	if err != nil && in.optional {
		g.unordered = true
		return nil
	}
	return err
}

// Follows tells whether rows that begin at first may come after rows that end at last.
func (o *Order) Follows(last, first Edge) bool {
	check := orderCheck{o.Keys}
	return len(last) == len(first) && check.follows(last, first)
}
