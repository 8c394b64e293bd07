package predicate

// tri is an outcome of three-valued logic.
type tri uint8

const (
	no tri = iota
	yes
	null
)

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
	switch len(out) {
	case 0:
		return &constant{no}
	case 1:
		return out[0]
	}
	return &disj{out}
}

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
