package flight

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
)

// maxEdge is the most bytes of an edge of an order that a record has. Where one is longer, the order stays good for reads, and the
// next append after a restart ends it.
const maxEdge = 1 << 20

// unknownEdge stands for an edge that was too long to be kept. Nothing follows it.
type unknownEdge struct{}

// record has the batches of a generation written to files, and gives the generation's record and those batches that are there.
func (d *Durable) record(k catalog.Kept) (*journal.Dataset, []*batchstore.Batch, error) {
	g := k.Generation
	batches := wholeBatches(g)
	places, err := d.store.Persist(g.Schema, batches)
	if err != nil {
		return nil, nil, err
	}
	r := &journal.Dataset{
		Name: g.Dataset, Generation: g.ID, Schema: g.Schema.Message(), Codec: g.Codec, Created: g.Created, Expires: g.Expires, Pinned: k.Pinned,
		OrderDropped: g.OrderDropped,
	}
	for _, b := range g.Batches {
		var p batchstore.Place
		if lost, is := b.(*lostBatch); is {
			p = lost.place
		} else {
			p, places = places[0], places[1:]
		}
		r.Runs = appendPlace(r.Runs, p, b.Rows())
	}
	if o := g.Order; o != nil {
		r.SortedBy = o.SortedBy
		if r.First, r.Last, err = edges(g.Schema, o); err != nil {
			return nil, nil, err
		}
	}
	return r, batches, nil
}

// appendPlace adds a batch's place to the runs of those before it.
func appendPlace(runs []journal.Run, p batchstore.Place, rows int64) []journal.Run {
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if last.Segment == p.Segment && last.First+last.Count == p.Index && last.Count < journal.MaxRunBatches {
			last.Count++
			last.Rows += rows
			return runs
		}
	}
	return append(runs, journal.Run{Segment: p.Segment, First: p.Index, Count: 1, Rows: rows})
}

// edges gives the edges of an order in their binary form, nil where there are none, and empty where they are not known.
func edges(s *arrowipc.Schema, o *catalog.Order) (first, last []byte, err error) {
	if o.First == nil {
		return nil, nil, nil
	}
	keys, err := namedKeys(s, o.SortedBy)
	if err != nil {
		return nil, nil, err
	}
	one, known1 := o.First.(batchstore.Edge)
	other, known2 := o.Last.(batchstore.Edge)
	if known1 && known2 {
		first, last = batchstore.AppendEdge(nil, one, keys), batchstore.AppendEdge(nil, other, keys)
		if len(first) <= maxEdge && len(last) <= maxEdge {
			return first, last, nil
		}
	}
	return []byte{}, []byte{}, nil
}

// order reads the order of a record; nil where it has none.
func order(s *arrowipc.Schema, r *journal.Dataset) (*catalog.Order, error) {
	if r.SortedBy == nil {
		return nil, nil
	}
	keys, err := namedKeys(s, r.SortedBy)
	if err != nil {
		return nil, err
	}
	o := &catalog.Order{SortedBy: r.SortedBy, Follows: follows(&batchstore.Order{Keys: keys})}
	switch {
	case r.First == nil:
	case len(r.First) == 0: // an edge that is known has a byte for each key at least
		o.First, o.Last = unknownEdge{}, unknownEdge{}
	default:
		first, err1 := batchstore.ParseEdge(r.First, keys)
		last, err2 := batchstore.ParseEdge(r.Last, keys)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%w: the edges of its order: %w", journal.ErrDamaged, firstError(err1, err2))
		}
		o.First, o.Last = first, last
	}
	return o, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// namedKeys finds the columns of an order by its keys' names. plan.ErrColumn.
func namedKeys(s *arrowipc.Schema, names []string) ([]batchstore.OrderKey, error) {
	return orderKeys(s, sortKeys(names))
}

// follows is batchstore.Order.Follows for the catalogue, which does not know what edges are. Nothing follows, or comes before,
// an edge that is not known.
func follows(o *batchstore.Order) func(last, first any) bool {
	return func(last, first any) bool {
		l, ok1 := last.(batchstore.Edge)
		f, ok2 := first.(batchstore.Edge)
		return ok1 && ok2 && o.Follows(l, f)
	}
}
