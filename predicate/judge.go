package predicate

import (
	"math"

	"github.com/flightcache/flightcache/statistics"
)

// Verdict is what statistics tell of the rows of a batch.
type Verdict uint8

// The verdicts.
const (
	None Verdict = iota // no row matches: the batch need not be read
	Some                // some may
	All                 // every row matches: the batch need not be filtered
)

// String is the verdict's name.
func (v Verdict) String() string { return [...]string{"none", "some", "all"}[v] }

// possible is a set of outcomes that rows may have: a bit for each tri.
type possible uint8

func only(t tri) possible { return 1 << t }

// Judge tells whether rows of a batch match, by the statistics of the columns that [Predicate.Columns] gives, by their
// positions there. A nil Column is one of which nothing is known.
//
// The verdict is sound: None and All are never wrong. Columns are judged one by one, so that what two of them have to do
// with each other is not seen.
func (p *Predicate) Judge(stats func(column int) *statistics.Column) Verdict {
	j := judge{columns: p.columns, stats: stats}
	switch of := j.node(p.root); {
	case of&only(yes) == 0:
		return None
	case of == only(yes):
		return All
	}
	return Some
}

type judge struct {
	columns []boundColumn
	stats   func(int) *statistics.Column
}

// node gives the outcomes that rows may have.
func (j *judge) node(b bound) possible {
	switch b := b.(type) {
	case *constant:
		return only(b.value)
	case *leaf:
		return j.leaf(b)
	case *conj:
		return j.fold(b.args, no, yes)
	case *disj:
		return j.fold(b.args, yes, no)
	case *choice:
		return j.choice(b)
	case *remap:
		of := j.node(b.arg)
		var out possible
		for t := no; t <= null; t++ {
			if of&only(t) != 0 {
				out |= only(b.apply(t))
			}
		}
		return out
	}
	return only(no) | only(yes) | only(null)
}

// fold gives the outcomes of a conjunction or a disjunction: strong is the outcome of a node that decides it, weak that of
// one that does not matter. Null is between them.
func (j *judge) fold(args []bound, strong, weak tri) possible {
	out := only(weak)
	for _, a := range args {
		of := j.node(a)
		var next possible
		next |= (out | of) & only(strong)
		if out&of&only(weak) != 0 {
			next |= only(weak)
		}
		if out&only(null) != 0 && of&^only(strong) != 0 || of&only(null) != 0 && out&^only(strong) != 0 {
			next |= only(null)
		}
		if out = next; out == only(strong) {
			break
		}
	}
	return out
}

func (j *judge) choice(c *choice) possible {
	cond := j.node(c.cond)
	out := cond & only(null)
	if cond&only(yes) != 0 {
		out |= j.node(c.then)
	}
	if cond&only(no) != 0 {
		out |= j.node(c.other)
	}
	return out
}

// leaf gives the outcomes of a leaf.
func (j *judge) leaf(l *leaf) possible {
	domain, c := &j.columns[l.column].domain, j.stats(l.column)
	nulls, values, nan := true, true, domain.family == famFloat
	if c != nil {
		nulls, values = c.Nulls > 0, c.Rows > c.Nulls
		nan = nan && c.HasNaN
	}
	var out possible
	if nulls {
		out |= only(l.null)
	}
	if !values {
		return out
	}
	if nan {
		out |= only(l.nan)
	}
	b, some := domain.bounds(c)
	if !some {
		return out
	}
	in, outside := false, true
	if l.set != nil {
		in, outside = l.set.meet(b)
	}
	if in {
		out |= only(l.in)
	}
	if outside {
		out |= only(l.out)
	}
	return out
}

// bounds gives what is known of the values that are neither null nor NaN; some is false if there are none. Where a bound
// is not known it is that of the domain.
func (d *domain) bounds(c *statistics.Column) (b bounds, some bool) {
	hasMin, hasMax := c != nil && c.HasMin, c != nil && c.HasMax
	if c != nil && !hasMin && !hasMax && d.isFloat && c.HasNaN {
		return b, false // all are NaN
	}
	switch d.form {
	case formKeys:
		b.lo, b.hi = d.key(d.min), d.key(d.max)
		if hasMin {
			b.lo = d.bound(c.Min, math.Copysign(0, -1))
		}
		if hasMax {
			b.hi = d.bound(c.Max, 0)
		}
	case formWide:
		b.wideLo, b.wideHi = wideOf(d.min), wideOf(d.max)
		if hasMin {
			b.wideLo = wideOf(c.Min.Decimal())
		}
		if hasMax {
			b.wideHi = wideOf(c.Max.Decimal())
		}
	case formBytes:
		if hasMin {
			b.textLo = c.Min.Text()
		}
		if b.hasTextHi = hasMax; hasMax {
			b.textHi = c.Max.Text()
		}
	}
	return b, true
}

// bound gives a bound's key. A bound of zero stands for both zeros, the one given.
func (d *domain) bound(v statistics.Value, zero float64) int64 {
	switch {
	case d.isFloat:
		f := v.Float64()
		if f == 0 {
			f = zero
		}
		return floatKey(f)
	case d.biased:
		return int64(v.Uint() ^ 1<<63)
	case d.family == famBool:
		return int64(triOf(v.Boolean()))
	case d.family == famDecimal:
		return v.Decimal().Int64()
	}
	return v.Int()
}
