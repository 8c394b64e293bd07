package predicate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// Leaf is a column that a predicate looks at.
type Leaf struct {
	Path    []string // names from the top level down
	Column  *arrowipc.Column
	Parents []*arrowipc.Column // the structs around it, outermost first: where one is null, the column is
}

// Resolver finds the column that a reference means. It has [ErrColumn] for what is not there, or not the only one of its
// name.
type Resolver func(Column) (Leaf, error)

// InSchema resolves by the names, or the ordinals, of a schema: of top-level fields, and through structs of theirs.
func InSchema(s *arrowipc.Schema) Resolver {
	return func(ref Column) (Leaf, error) {
		if (ref.Path == nil) == (ref.Ordinals == nil) {
			return Leaf{}, fmt.Errorf("%w: a reference needs names or ordinals", ErrColumn)
		}
		var l Leaf
		columns, where := s.Layout.Columns, "the schema"
		for i := range max(len(ref.Path), len(ref.Ordinals)) {
			if l.Column != nil {
				if l.Column.Kind != arrowipc.KindStruct {
					return Leaf{}, fmt.Errorf("%w %s: %s is %s, which has no fields to choose", ErrColumn, ref, where, l.Column.Field.TypeString())
				}
				l.Parents = append(l.Parents, l.Column)
				columns = l.Column.Children
			}
			at, err := ref.find(i, columns, where)
			if err != nil {
				return Leaf{}, err
			}
			l.Column = columns[at]
			l.Path = append(l.Path, l.Column.Field.Name)
			where = fmt.Sprintf("%q", strings.Join(l.Path, "."))
		}
		if l.Column == nil {
			return Leaf{}, fmt.Errorf("%w: a reference of no names", ErrColumn)
		}
		return l, nil
	}
}

// find gives the position among columns of the i-th step of a reference.
func (c Column) find(i int, columns []*arrowipc.Column, where string) (int, error) {
	if c.Path == nil {
		if n := c.Ordinals[i]; n >= 0 && n < len(columns) {
			return n, nil
		}
		return 0, fmt.Errorf("%w %s: %s has %d fields", ErrColumn, c, where, len(columns))
	}
	found := -1
	for at, column := range columns {
		if column.Field.Name != c.Path[i] {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%w %s: %s has more than one %q", ErrColumn, c, where, c.Path[i])
		}
		found = at
	}
	if found < 0 {
		return 0, fmt.Errorf("%w %s: %s has no %q", ErrColumn, c, where, c.Path[i])
	}
	return found, nil
}

// Predicate is a bound predicate. It is immutable and may be shared.
type Predicate struct {
	source  Expr
	root    bound
	columns []boundColumn
}

// boundColumn is one column of a predicate with what is known of its values.
type boundColumn struct {
	Leaf
	domain domain
	values *arrowipc.Column // of a dictionary-encoded column: what a column of its dictionary's values would be
}

func newBoundColumn(l Leaf, d domain) boundColumn {
	c := boundColumn{Leaf: l, domain: d}
	if f := l.Column.Field; f.Dictionary != nil {
		values := *f
		values.Dictionary = nil
		c.values = arrowipc.NewLayout([]*arrowipc.Field{&values}).Columns[0]
	}
	return c
}

// Bind resolves a predicate's columns, casts its literals to their types and simplifies it.
//
// A comparison with a number that the column's type cannot hold is decided exactly. Errors are [ErrColumn], [ErrType],
// [ErrLiteral], [ErrUnsupported] or [ErrLimit], those of resolve as they are; they name the column, its type and the
// literal.
func Bind(e Expr, resolve Resolver) (*Predicate, error) {
	b := binder{resolve: resolve, seen: map[*arrowipc.Column]int{}, p: &Predicate{}}
	root, err := b.predicate(e, false, 0)
	if err != nil {
		return nil, err
	}
	b.p.source, b.p.root = e, root
	b.p.drop()
	return b.p, nil
}

// Columns are the columns that the predicate looks at, each once: Judge and Eval know them by their positions here. What
// [Bind] found not to matter is not among them.
func (p *Predicate) Columns() []Leaf {
	out := make([]Leaf, len(p.columns))
	for i, c := range p.columns {
		out[i] = c.Leaf
	}
	return out
}

// String spells the predicate as it was before it was bound.
func (p *Predicate) String() string { return p.source.String() }

// drop leaves out the columns that no leaf looks at any more.
func (p *Predicate) drop() {
	used := make([]bool, len(p.columns))
	walk(p.root, func(l *leaf) { used[l.column] = true })
	place, kept := make([]int, len(used)), p.columns[:0:0]
	for i, u := range used {
		place[i] = len(kept)
		if u {
			kept = append(kept, p.columns[i])
		}
	}
	walk(p.root, func(l *leaf) { l.column = place[l.column] })
	p.columns = kept
}

// walk calls f for every leaf under b, once each.
func walk(b bound, f func(*leaf)) {
	switch b := b.(type) {
	case *leaf:
		f(b)
	case *conj:
		for _, a := range b.args {
			walk(a, f)
		}
	case *disj:
		for _, a := range b.args {
			walk(a, f)
		}
	case *choice:
		walk(b.cond, f)
		walk(b.then, f)
		walk(b.other, f)
	case *remap:
		walk(b.arg, f)
	}
}

// binder binds one predicate.
type binder struct {
	resolve Resolver
	seen    map[*arrowipc.Column]int // positions in p.columns
	p       *Predicate
	nodes   int
	listed  int // literals of lists
	rounded int // literals that are compared with rounded values
}

// enter counts a node at a depth.
func (b *binder) enter(depth int) error {
	b.nodes++
	if depth > MaxDepth {
		return fmt.Errorf("%w: it is nested more than %d deep", ErrLimit, MaxDepth)
	}
	if b.nodes > MaxNodes {
		return fmt.Errorf("%w: it has more than %d nodes; say x in [...] rather than x = 1 or x = 2", ErrLimit, MaxNodes)
	}
	return nil
}

// predicate binds an expression that is true, false or null; negated, its negation. That is carried down to the leaves, so
// that no tree is built only to be turned over.
func (b *binder) predicate(e Expr, negated bool, depth int) (bound, error) {
	if err := b.enter(depth); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case And:
		return b.junction(e.Args, !negated, negated, depth)
	case Or:
		return b.junction(e.Args, negated, negated, depth)
	case Not:
		return b.predicate(e.Of, !negated, depth+1)
	case If:
		return b.branch(e, negated, depth)
	case Case:
		return b.branches(e, negated, depth)
	case Compare:
		if isPredicate(e.Left) || isPredicate(e.Right) {
			return b.comparePredicate(e, negated, depth)
		}
	case Cast:
		if e.To.ID == arrowipc.TypeBool {
			return b.predicate(e.Of, negated, depth+1)
		}
	}
	test, err := b.test(e, depth)
	if err == nil && negated {
		test = b.p.interval(negate(test))
	}
	return test, err
}

// junction binds a conjunction or a disjunction of nodes, each negated or not.
func (b *binder) junction(args []Expr, and, negated bool, depth int) (bound, error) {
	nodes := make([]bound, len(args))
	for i, a := range args {
		var err error
		if nodes[i], err = b.predicate(a, negated, depth+1); err != nil {
			return nil, err
		}
	}
	if and {
		return conjunction(nodes), nil
	}
	return disjunction(nodes), nil
}

// test binds a node that has no predicates below it, but for an IsNull.
func (b *binder) test(e Expr, depth int) (bound, error) {
	switch e := e.(type) {
	case Literal:
		switch e.kind {
		case litNull:
			return &constant{null}, nil
		case litBool:
			return &constant{triOf(e.bit)}, nil
		}
		return nil, fmt.Errorf("%w: %s is no boolean", ErrType, e)
	case Column:
		return b.boolean(e, depth)
	case Cast:
		return nil, fmt.Errorf("%w: %s is no boolean", ErrType, e)
	case Compare:
		return b.compare(e, depth)
	case In:
		return b.in(e.Of, e.List, e, depth)
	case Member:
		return b.in(e.Of, e.List, e, depth)
	case IsNull:
		return b.isNull(e, depth)
	case IsNaN:
		return b.isNaN(e, depth)
	case StartsWith:
		return b.startsWith(e, depth)
	case nil:
		return nil, errMissing
	}
	return nil, fmt.Errorf("%w: %T as a node", ErrUnsupported, e)
}

func (b *binder) branch(e If, negated bool, depth int) (bound, error) {
	cond, err := b.predicate(e.Cond, false, depth+1)
	if err != nil {
		return nil, err
	}
	then, err := b.predicate(e.Then, negated, depth+1)
	if err != nil {
		return nil, err
	}
	other, err := b.predicate(e.Else, negated, depth+1)
	if err != nil {
		return nil, err
	}
	return choose(cond, then, other), nil
}

// branches binds a Case: one choice in another, whose conditions are false where they are null.
func (b *binder) branches(e Case, negated bool, depth int) (bound, error) {
	if len(e.Whens)+depth > MaxDepth {
		return nil, fmt.Errorf("%w: a case of %d branches at depth %d, where nodes are nested at most %d deep", ErrLimit, len(e.Whens), depth, MaxDepth)
	}
	var other bound = &constant{null}
	if e.Else != nil {
		var err error
		if other, err = b.predicate(e.Else, negated, depth+1); err != nil {
			return nil, err
		}
	}
	for _, w := range slices.Backward(e.Whens) {
		cond, err := b.predicate(w.Cond, false, depth+1)
		if err != nil {
			return nil, err
		}
		then, err := b.predicate(w.Then, negated, depth+1)
		if err != nil {
			return nil, err
		}
		other = choose(mapped(cond, [3]tri{no: no, yes: yes, null: no}), then, other)
	}
	return other, nil
}

// boolean binds a boolean column that is a predicate by itself.
func (b *binder) boolean(c Column, depth int) (bound, error) {
	o, err := b.operand(c, depth)
	if err != nil {
		return nil, err
	}
	switch o.family {
	case famNull:
		return &constant{null}, nil
	case famBool:
		return &leaf{o.column, &keySet{lo: 1, hi: 1}, membership}, nil
	}
	return nil, fmt.Errorf("%w: column %s is %s, and no predicate by itself", ErrType, c, o.kind())
}
