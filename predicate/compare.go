package predicate

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// errMissing means that a node that others need is nil.
var errMissing = fmt.Errorf("%w: a node is missing", ErrUnsupported)

// flipped are the comparisons with their sides changed.
var flipped = [...]Op{Equal: Equal, NotEqual: NotEqual, Less: Greater, LessEqual: GreaterEqual, Greater: Less, GreaterEqual: LessEqual}

// sides gives what is compared, and the literal it is compared with, as if that were on the right.
func (e Compare) sides(depth int) (of Expr, op Op, l Literal, err error) {
	if e.Op > GreaterEqual {
		return nil, 0, Literal{}, fmt.Errorf("%w: %s", ErrUnsupported, e.Op)
	}
	l, ok, err := constantOf(e.Right, depth)
	if err != nil || ok {
		return e.Left, e.Op, l, err
	}
	l, ok, err = constantOf(e.Left, depth)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s, a comparison without a constant", ErrUnsupported, clip(e.String()))
	}
	return e.Right, flipped[e.Op], l, err
}

// compare binds a comparison of a column, or of a literal, with a literal.
func (b *binder) compare(e Compare, depth int) (bound, error) {
	of, op, l, err := e.sides(depth)
	if err != nil {
		return nil, err
	}
	if r, ok, err := constantOf(of, depth); err != nil || ok {
		if err != nil {
			return nil, err
		}
		return compareLiterals(r, op, l)
	}
	o, err := b.operand(of, depth+1)
	if err != nil {
		return nil, err
	}
	if err := b.round(&o, 1); err != nil {
		return nil, err
	}
	return o.compare(op, l)
}

// round counts literals that an operand is compared with, if it rounds.
func (b *binder) round(o *operand, literals int) error {
	if o.round == nil {
		return nil
	}
	if b.rounded += literals; b.rounded > maxRounded {
		return fmt.Errorf("%w: more than %d literals are compared with casts that round, as that of column %s to %s", ErrLimit, maxRounded, o.name, o.kind())
	}
	return nil
}

// comparePredicate binds a comparison of a predicate with true, false or null.
func (b *binder) comparePredicate(e Compare, negated bool, depth int) (bound, error) {
	of, op, l, err := e.sides(depth)
	if err != nil {
		return nil, err
	}
	if !l.IsNull() && (l.kind != litBool || op != Equal && op != NotEqual) {
		return nil, fmt.Errorf("%w: %s, a predicate compared with something else than true or false", ErrUnsupported, clip(e.String()))
	}
	inner, err := b.predicate(of, negated != (l.bit != (op == Equal)), depth+1)
	if err == nil && l.IsNull() {
		return &constant{null}, nil
	}
	return inner, err
}

// isPredicate reports whether a node cannot be anything but true, false or null.
func isPredicate(e Expr) bool {
	switch e.(type) {
	case Column, Cast, Literal, nil:
		return false
	}
	return true
}

// compare binds the comparison of an operand with a literal.
func (o *operand) compare(op Op, l Literal) (bound, error) {
	switch {
	case o.family == famOther:
		return nil, o.mismatch(l)
	case o.family == famNull || l.IsNull():
		return &constant{null}, nil
	}
	negated := op == NotEqual
	if negated {
		op = Equal
	}
	s, err := o.matching(op, l)
	if err != nil {
		return nil, err
	}
	var out bound = &leaf{o.column, s, membership}
	if negated {
		out = negate(out)
	}
	return out, nil
}

// matching gives the values of an operand that compare so with a literal that is not null.
func (o *operand) matching(op Op, l Literal) (set, error) {
	if o.form == formBytes {
		s, err := o.bytes(l)
		if err != nil {
			return nil, err
		}
		return textsThat(op, s), nil
	}
	y, err := o.real(l)
	if err != nil || y.nan {
		return nil, err
	}
	less, atMost := o.place(y)
	switch op {
	case Less:
		return o.between(nil, less), nil
	case LessEqual:
		return o.between(nil, atMost), nil
	case Greater:
		return o.between(atMost, nil), nil
	case GreaterEqual:
		return o.between(less, nil), nil
	}
	return o.between(less, atMost), nil
}

func textsThat(op Op, s string) set {
	switch op {
	case Less:
		if s == "" {
			return nil
		}
		return &byteSet{hi: s, hiOpen: true}
	case LessEqual:
		return &byteSet{hi: s}
	case Greater:
		return &byteSet{lo: s, loOpen: true, endless: true}
	case GreaterEqual:
		return &byteSet{lo: s, endless: true}
	}
	return &byteSet{lo: s, hi: s}
}

// isNull binds an [IsNull].
func (b *binder) isNull(e IsNull, depth int) (bound, error) {
	if l, ok, err := constantOf(e.Of, depth); err != nil || ok {
		return &constant{triOf(l.IsNull())}, err
	}
	if isPredicate(e.Of) {
		of, err := b.predicate(e.Of, false, depth+1)
		if err != nil {
			return nil, err
		}
		return mapped(of, [3]tri{no: no, yes: no, null: yes}), nil
	}
	o, err := b.operand(e.Of, depth+1)
	if err != nil {
		return nil, err
	}
	switch o.field.Type.ID {
	case arrowipc.TypeNull:
		return &constant{yes}, nil
	case arrowipc.TypeUnion, arrowipc.TypeRunEndEncoded:
		return nil, fmt.Errorf("%w: column %s is %s, which has no nulls of its own", ErrType, o.name, o.kind())
	}
	if o.family == famNull {
		return &constant{yes}, nil
	}
	return &leaf{column: o.column, outcomes: outcomes{in: no, out: no, null: yes, nan: no}}, nil
}

// isNaN binds an [IsNaN].
func (b *binder) isNaN(e IsNaN, depth int) (bound, error) {
	o, err := b.operand(e.Of, depth+1)
	if err != nil {
		return nil, err
	}
	switch o.family {
	case famNull:
		return &constant{null}, nil
	case famFloat, famInt, famDecimal:
		return &leaf{column: o.column, outcomes: outcomes{in: no, out: no, null: null, nan: yes}}, nil
	}
	return nil, fmt.Errorf("%w: column %s is %s, which has no NaN", ErrType, o.name, o.kind())
}

// startsWith binds a [StartsWith].
func (b *binder) startsWith(e StartsWith, depth int) (bound, error) {
	o, err := b.operand(e.Of, depth+1)
	switch {
	case err != nil:
		return nil, err
	case o.family == famNull:
		return &constant{null}, nil
	case o.form != formBytes:
		return nil, fmt.Errorf("%w: column %s is %s, whose values begin with no text", ErrType, o.name, o.kind())
	case e.Prefix.IsNull():
		return &constant{null}, nil
	}
	prefix, err := o.bytes(e.Prefix)
	if err != nil {
		return nil, err
	}
	return &leaf{o.column, prefixSet(prefix), membership}, nil
}
