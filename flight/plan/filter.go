package plan

import (
	"encoding/json"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/predicate/substrait"
	"github.com/flightcache/flightcache/statistics"
)

// Filter is a read's predicate, bound to a generation's schema. It is compiled once for a read and immutable.
type Filter struct {
	predicate *predicate.Predicate
	columns   []arrowipc.RowColumn // that the predicate looks at
	ordinals  []int                // of each among the generation's row columns; -1 for one that is not
	pruneOnly bool
}

// newFilter binds the filter of a command, nil if it has none. Errors are ErrColumn and those of predicate.
func newFilter(g *catalog.Generation, c *descriptors.ReadCommand) (*Filter, error) {
	var expr predicate.Expr
	resolve := predicate.InSchema(g.Schema)
	switch {
	case c.Filter != nil:
		r := newResolver(g.Schema.Fields)
		var err error
		if expr, err = disjunction(r, c.Filter); err != nil {
			return nil, err
		}
	case c.Substrait != nil:
		var err error
		if expr, err = substrait.Parse(c.Substrait); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	p, err := predicate.Bind(expr, resolve)
	if err != nil {
		return nil, err
	}
	f := &Filter{predicate: p, pruneOnly: c.PruneOnly}
	ordinal := make(map[*arrowipc.Column]int, len(g.RowColumns))
	for i, rc := range g.RowColumns {
		ordinal[rc.Column] = i
	}
	for _, l := range p.Columns() {
		f.columns = append(f.columns, arrowipc.RowColumn{Column: l.Column, Parents: l.Parents, Path: l.Path})
		i, ok := ordinal[l.Column]
		if !ok {
			i = -1
		}
		f.ordinals = append(f.ordinals, i)
	}
	return f, nil
}

// disjunction turns lists of terms into a predicate: a row is wanted if all terms of one of the lists hold.
func disjunction(r *resolver, lists descriptors.Filter) (predicate.Expr, error) {
	or := predicate.Or{}
	for i, terms := range lists {
		and := predicate.And{}
		for k, t := range terms {
			e, err := term(r, t)
			if err != nil {
				return nil, fmt.Errorf("filters[%d][%d]: %w", i, k, err)
			}
			and.Args = append(and.Args, e)
		}
		or.Args = append(or.Args, and)
	}
	return or, nil
}

var comparisons = map[descriptors.Op]predicate.Op{
	descriptors.OpEqual: predicate.Equal, descriptors.OpNotEqual: predicate.NotEqual,
	descriptors.OpLess: predicate.Less, descriptors.OpLessOrEqual: predicate.LessEqual,
	descriptors.OpGreater: predicate.Greater, descriptors.OpGreaterOrEqual: predicate.GreaterEqual,
}

func term(r *resolver, t descriptors.Term) (predicate.Expr, error) {
	path, err := r.resolve(t.Column)
	if err != nil {
		return nil, err
	}
	column := predicate.Column{Ordinals: path}
	switch t.Op {
	case descriptors.OpIsNull:
		return predicate.IsNull{Of: column}, nil
	case descriptors.OpIsNotNull:
		return predicate.Not{Of: predicate.IsNull{Of: column}}, nil
	case descriptors.OpIn, descriptors.OpNotIn:
		in := predicate.In{Of: column, List: make([]predicate.Literal, 0, len(t.Values))}
		for _, v := range t.Values {
			l, err := literal(v)
			if err != nil {
				return nil, err
			}
			in.List = append(in.List, l)
		}
		if t.Op == descriptors.OpNotIn {
			return predicate.Not{Of: in}, nil
		}
		return in, nil
	}
	l, err := literal(t.Value)
	if err != nil {
		return nil, err
	}
	if t.Op == descriptors.OpStartsWith {
		return predicate.StartsWith{Of: column, Prefix: l}, nil
	}
	return predicate.Compare{Op: comparisons[t.Op], Left: column, Right: l}, nil
}

func literal(v descriptors.Literal) (predicate.Literal, error) {
	switch v.Kind {
	case descriptors.LiteralBool:
		return predicate.Bool(v.Bool), nil
	case descriptors.LiteralNumber:
		return predicate.Number(v.Text)
	case descriptors.LiteralString:
		return predicate.Text(v.Text), nil
	}
	return predicate.Null(), nil
}

// Verdict tells what the statistics of stored batch i say of its rows: all are sent, none is, or they must be looked at.
func (r *Read) Verdict(i int) predicate.Verdict {
	if r.Filter == nil {
		return predicate.All
	}
	return r.verdicts[i]
}

// verdict judges a batch. Where a filter only prunes, a batch is sent whole or not at all.
func (f *Filter) verdict(b catalog.Batch) predicate.Verdict {
	measured := b.Statistics()
	v := f.predicate.Judge(func(i int) *statistics.Column {
		if k := f.ordinals[i]; k >= 0 && k < len(measured) {
			return &measured[k]
		}
		return nil
	})
	if v == predicate.Some && f.pruneOnly {
		return predicate.All
	}
	return v
}

// Selection runs the filter over one batch after the other. It belongs to one goroutine.
type Selection struct {
	filter    *Filter
	evaluator *predicate.Evaluator
}

// Selection prepares to run the filter.
func (f *Filter) Selection() *Selection { return &Selection{f, f.predicate.Evaluator()} }

// Columns are the columns that Select looks at, at their places in the stored batches.
func (s *Selection) Columns() []arrowipc.RowColumn { return s.filter.columns }

// Select sets the bit of each row that the predicate is true of. The error is predicate.ErrVector: vectors that are not
// those of the columns.
func (s *Selection) Select(vectors []*statistics.Vector, rows int64, selected []byte) error {
	_, err := s.evaluator.Eval(rows, func(i int) *statistics.Vector { return vectors[i] }, selected)
	return err
}

// judge counts what the filter leaves, by the batches' verdicts.
func (r *Read) judge() {
	chosen := r.Projection.Spans
	r.Decoded = 0
	undecided := false
	r.verdicts = make([]predicate.Verdict, len(r.Generation.Batches))
	first, last := r.window()
	for k, b := range r.Generation.Batches[first:last] {
		v := r.Filter.verdict(b)
		r.verdicts[first+k] = v // elsewhere they are None
		switch v {
		case predicate.None:
			continue
		case predicate.Some:
			undecided = true
			r.MaxRows += b.Rows()
		case predicate.All:
			r.MinRows += b.Rows()
			r.MaxRows += b.Rows()
			for _, span := range chosen {
				for i := span.Node0; i < span.Node1; i++ {
					r.Decoded += b.Node(i).Decoded
				}
			}
		}
		r.Kept++
	}
	r.Rows = r.MaxRows
	if undecided {
		r.Rows, r.Decoded = Unknown, Unknown
	}
}

// Counted sets the total of a read whose undecided batches were found to have so many rows that are wanted.
func (r *Read) Counted(rows int64) {
	for i, b := range r.Generation.Batches {
		if r.verdicts[i] == predicate.All {
			rows += b.Rows()
		}
	}
	rows = min(rows, r.MaxRows) // a limit may cut it
	r.Rows, r.MinRows, r.MaxRows = rows, rows, rows
}

// filterFacts are told of a filtered read, besides the generation's facts.
type filterFacts struct {
	BatchesKept int   `json:"batches_kept"` // stored batches that may have rows to send
	RowsMin     int64 `json:"rows_min"`
	RowsMax     int64 `json:"rows_max"`
}

// FactsJSON is the JSON of the generation's facts, and of a filtered read what statistics tell of it. Not to be modified.
func (r *Read) FactsJSON() []byte {
	facts := r.Generation.FactsJSON()
	if r.Filter == nil {
		return facts
	}
	// Integers always marshal. Both are objects: the second's members go behind the first's.
	more, _ := json.Marshal(filterFacts{BatchesKept: r.Kept, RowsMin: r.MinRows, RowsMax: r.MaxRows})
	out := make([]byte, 0, len(facts)+len(more))
	out = append(out, facts[:len(facts)-1]...)
	return append(append(out, ','), more[1:]...)
}
