package predicate

// tri is an outcome of three-valued logic.
type tri uint8

const (
	no tri = iota
	yes
	null
)

// and is Kleene's conjunction.
func (t tri) and(u tri) tri {
	switch {
	case t == no || u == no:
		return no
	case t == null || u == null:
		return null
	}
	return yes
}

// or is Kleene's disjunction.
func (t tri) or(u tri) tri {
	switch {
	case t == yes || u == yes:
		return yes
	case t == null || u == null:
		return null
	}
	return no
}

func triOf(b bool) tri {
	if b {
		return yes
	}
	return no
}

// bound is a node of a bound predicate: *constant, *leaf, *conj, *disj, *choice or *remap. There is
// no negation: it is in the outcomes of leaves.
type bound any

// constant has one outcome for all rows.
type constant struct{ value tri }

// outcomes says what a leaf is for a value in its set, for one outside of it, for null and for NaN.
type outcomes struct{ in, out, null, nan tri }

// membership is what comparisons are, and isn't their negation.
var membership = outcomes{in: yes, out: no, null: null, nan: no}

// join is what two leaves of a column are together.
func (o outcomes) join(p outcomes, f func(a, b tri) tri) outcomes {
	return outcomes{in: f(o.in, p.in), out: f(o.out, p.out), null: f(o.null, p.null), nan: f(o.nan, p.nan)}
}

func (o outcomes) remap(f func(tri) tri) outcomes {
	return outcomes{in: f(o.in), out: f(o.out), null: f(o.null), nan: f(o.nan)}
}

// leaf looks at one column.
type leaf struct {
	column int // of Predicate.columns
	set    set
	outcomes
}

// conj is Kleene's conjunction, disj his disjunction, of at least two nodes.
type (
	conj struct{ args []bound }
	disj struct{ args []bound }
)

// choice is yes or no as one of two nodes says, by a third; null where that is null.
type choice struct{ cond, then, other bound }

// remap gives other outcomes to those of a node: to[no], to[yes], to[null].
type remap struct {
	arg bound
	to  [3]tri
}

func (m *remap) apply(t tri) tri { return m.to[t] }

// mapped gives a node whose outcomes are those of b, changed.
func mapped(b bound, to [3]tri) bound {
	m := &remap{arg: b, to: to}
	switch b := b.(type) {
	case *constant:
		return &constant{m.apply(b.value)}
	case *leaf:
		return simple(&leaf{b.column, b.set, b.remap(m.apply)})
	case *remap:
		return &remap{b.arg, [3]tri{to[b.to[no]], to[b.to[yes]], to[b.to[null]]}}
	}
	return m
}

// negate swaps yes and no, of a node that is none of others but a remap.
func negate(b bound) bound {
	return mapped(b, [3]tri{no: yes, yes: no, null: null})
}

// simple gives a constant for a leaf that has one outcome.
func simple(l *leaf) bound {
	if o := l.outcomes; o.out == o.null && o.out == o.nan && (o.out == o.in || l.set == nil) {
		return &constant{o.out}
	}
	return l
}

// conjunction is the Kleene conjunction, without what does not matter. Intervals of one column are intersected.
func conjunction(args []bound) bound {
	var out []bound
	intervals := map[int]int{} // the place in out of an interval of a column
	for _, a := range args {
		nodes := []bound{a}
		if c, ok := a.(*conj); ok {
			nodes = c.args
		}
		for _, n := range nodes {
			if c, ok := n.(*constant); ok {
				if c.value == no {
					return c
				}
				if c.value == yes {
					continue
				}
			}
			l, ok := n.(*leaf)
			if !ok || l.outcomes != membership || !isInterval(l.set) {
				out = append(out, n)
				continue
			}
			if at, known := intervals[l.column]; known {
				out[at] = &leaf{l.column, intersect(out[at].(*leaf).set, l.set), membership}
				continue
			}
			intervals[l.column] = len(out)
			out = append(out, n)
		}
	}
	out = absorb(out, tri.and)
	switch len(out) {
	case 0:
		return &constant{yes}
	case 1:
		return out[0]
	}
	return &conj{out}
}

// disjunction is the Kleene disjunction, without what does not matter. Tests of one column for single values become one
// list.
func disjunction(args []bound) bound {
	var out []bound
	lists := map[int]int{} // the place in out of a list of a column
	points := map[int][]set{}
	for _, a := range args {
		nodes := []bound{a}
		if d, ok := a.(*disj); ok {
			nodes = d.args
		}
		for _, n := range nodes {
			if c, ok := n.(*constant); ok {
				if c.value == yes {
					return c
				}
				if c.value == no {
					continue
				}
			}
			l, ok := n.(*leaf)
			if !ok || l.outcomes != membership || l.set == nil || !isPoints(l.set) {
				out = append(out, n)
				continue
			}
			if _, known := lists[l.column]; !known {
				lists[l.column] = len(out)
				out = append(out, n)
			}
			points[l.column] = append(points[l.column], l.set)
		}
	}
	for column, at := range lists {
		if sets := points[column]; len(sets) > 1 {
			out[at] = &leaf{column, union(sets), membership}
		}
	}
	out = absorb(out, tri.or)
	switch len(out) {
	case 0:
		return &constant{no}
	case 1:
		return out[0]
	}
	return &disj{out}
}

// absorb puts leaves that look at no value of their column, only at whether it is null or NaN, together with another leaf
// of the column: x is null or x > 5 is one leaf, of which statistics see that it holds for all rows.
func absorb(args []bound, join func(a, b tri) tri) []bound {
	place := map[int]int{} // of the last leaf of a column in out
	out := args[:0:0]
	for _, a := range args {
		l, ok := a.(*leaf)
		if !ok {
			out = append(out, a)
			continue
		}
		at, known := place[l.column]
		if known {
			other := out[at].(*leaf)
			if other.flat() {
				l, other = other, l
			}
			if l.flat() {
				out[at] = &leaf{l.column, other.set, l.join(other.outcomes, join)}
				continue
			}
		}
		place[l.column] = len(out)
		out = append(out, a)
	}
	for i, a := range out {
		if l, ok := a.(*leaf); ok {
			out[i] = simple(l)
		}
	}
	return out
}

// flat says that the leaf's outcome is the same for all values.
func (l *leaf) flat() bool { return l.in == l.out }

// choose is the choice, without a condition that is constant.
func choose(cond, then, other bound) bound {
	if c, ok := cond.(*constant); ok {
		switch c.value {
		case yes:
			return then
		case no:
			return other
		}
		return c
	}
	return &choice{cond, then, other}
}
