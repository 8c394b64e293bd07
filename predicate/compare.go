package predicate

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	return o.compare(op, l)
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

// constantOf gives a literal, or a cast of one.
func constantOf(e Expr, depth int) (l Literal, ok bool, err error) {
	switch e := e.(type) {
	case Literal:
		return e, true, nil
	case Cast:
		if depth > MaxDepth {
			return Literal{}, false, fmt.Errorf("%w: it is nested more than %d deep", ErrLimit, MaxDepth)
		}
		l, ok, err := constantOf(e.Of, depth+1)
		if ok && err == nil {
			l, err = l.cast(e.To)
		}
		return l, ok, err
	case nil:
		return Literal{}, false, errMissing
	}
	return Literal{}, false, nil
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

// in binds an [In] or a [Member].
func (b *binder) in(of Expr, list []Literal, e Expr, depth int) (bound, error) {
	if b.listed += len(list); b.listed > MaxList {
		return nil, fmt.Errorf("%w: more than %d literals in lists", ErrLimit, MaxList)
	}
	_, member := e.(Member)
	if isPredicate(of) {
		return nil, fmt.Errorf("%w: %s, a list of truth values", ErrUnsupported, clip(e.String()))
	}
	o, err := b.operand(of, depth+1)
	if err != nil {
		return nil, err
	}
	hasNull := slices.ContainsFunc(list, Literal.IsNull)
	values := slices.DeleteFunc(slices.Clone(list), Literal.IsNull)
	switch {
	case o.family == famOther:
		return nil, fmt.Errorf("%w: column %s is %s, whose values are in no list", ErrType, o.name, o.kind())
	case len(list) == 0:
		return &constant{no}, nil
	case o.family == famNull && member:
		return &constant{triOf(hasNull)}, nil
	case o.family == famNull:
		return &constant{null}, nil
	case o.round != nil && member:
		return nil, fmt.Errorf("%w: %s, look-ups of rounded values", ErrUnsupported, clip(e.String()))
	case o.round != nil:
		return o.anyOf(values, hasNull)
	}
	s, hasNaN, err := o.listed(values, member)
	if err != nil {
		return nil, err
	}
	out := outcomes{in: yes, out: no, null: null, nan: no}
	switch {
	case member:
		out.null, out.nan = triOf(hasNull), triOf(hasNaN)
	case hasNull:
		out.out, out.nan = null, null
	}
	return simple(&leaf{o.column, s, out}), nil
}

// anyOf is a list as a disjunction: a rounded value may stand for many of the column.
func (o *operand) anyOf(values []Literal, hasNull bool) (bound, error) {
	var args []bound
	for _, l := range values {
		a, err := o.compare(Equal, l)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	if hasNull {
		args = append(args, &constant{null})
	}
	return disjunction(args), nil
}

// listed gives the set of literals, and whether there is a NaN among them. Exact tells 0.0 and -0.0 apart.
func (o *operand) listed(values []Literal, exact bool) (s set, hasNaN bool, err error) {
	if o.form == formBytes {
		texts := make([]string, len(values))
		for i, l := range values {
			if texts[i], err = o.bytes(l); err != nil {
				return nil, false, err
			}
		}
		return byteList(texts), false, nil
	}
	var (
		keys  []int64
		wides []wide
	)
	for _, l := range values {
		y, err := o.real(l)
		if err != nil {
			return nil, false, err
		}
		if y.nan {
			hasNaN = true
			continue
		}
		less, atMost := o.place(y)
		switch s := o.between(less, atMost).(type) {
		case *wideSet:
			wides = append(wides, s.lo)
		case *keySet:
			lo, hi := s.lo, s.hi // two where it is zero
			if exact && lo != hi {
				if lo = hi; l.kind == litFloat && math.Signbit(l.float) {
					lo, hi = s.lo, s.lo
				}
			}
			keys = append(keys, lo)
			if hi != lo {
				keys = append(keys, hi)
			}
		}
	}
	if o.base.form == formWide {
		return wideList(wides), hasNaN, nil
	}
	return keyList(keys), hasNaN, nil
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

// compareLiterals decides a comparison of constants.
func compareLiterals(a Literal, op Op, b Literal) (bound, error) {
	if a.IsNull() || b.IsNull() {
		return &constant{null}, nil
	}
	order, unordered, ok := a.compare(b)
	if !ok {
		return nil, fmt.Errorf("%w: %s does not compare with %s", ErrType, a, b)
	}
	if unordered {
		return &constant{triOf(op == NotEqual)}, nil
	}
	holds := [...]bool{Equal: order == 0, NotEqual: order != 0, Less: order < 0, LessEqual: order <= 0, Greater: order > 0, GreaterEqual: order >= 0}
	return &constant{triOf(holds[op])}, nil
}

// compare orders two literals that are not null; unordered says that one is NaN, ok that they are of one kind.
func (l Literal) compare(o Literal) (order int, unordered, ok bool) {
	text := func(k literalKind) bool { return k == litText || k == litString || k == litBytes }
	number := func(k literalKind) bool { return k == litNumber || k == litFloat }
	switch {
	case text(l.kind) && text(o.kind):
		return strings.Compare(l.text, o.text), false, true
	case l.kind == litBool && o.kind == litBool:
		return int(triOf(l.bit)) - int(triOf(o.bit)), false, true
	case number(l.kind) && number(o.kind):
		a, b := l.real(), o.real()
		if a.nan || b.nan {
			return 0, true, true
		}
		if a.inf != 0 || b.inf != 0 {
			return a.inf - b.inf, false, true
		}
		return a.number.Cmp(b.number), false, true
	case l.kind == o.kind && l.zoned == o.zoned:
		return l.number.Cmp(o.number), false, true
	}
	return 0, false, false
}

// real is a number as a point.
func (l Literal) real() real {
	if l.kind == litFloat {
		return realOf(l.float)
	}
	return real{number: l.number}
}

// cast gives a literal as another type, if no cast of its value is lossy.
func (l Literal) cast(to arrowipc.Type) (Literal, error) {
	if l.IsNull() {
		return l, nil
	}
	o := operand{domain: domainOf(to), field: arrowipc.Field{Type: to}, name: "cast"}
	o.base = o.domain
	refuse := fmt.Errorf("%w: a cast of %s to %s, which would change it", ErrUnsupported, l, o.kind())
	switch o.form {
	case formNone:
		return Literal{}, refuse
	case formBytes:
		_, err := o.bytes(l)
		return l, err
	}
	y, err := o.real(l)
	if err != nil || y.nan {
		return l, err
	}
	if o.between(o.place(y)) == nil {
		return Literal{}, refuse
	}
	switch {
	case o.family == famTimestamp && l.kind == litDate, o.family == famDate && l.kind == litTimestamp:
		l = Literal{kind: litTimestamp, number: y.number, zoned: o.zoned}
	case o.family == famFloat:
		f := math.Inf(y.inf)
		if y.inf == 0 {
			f = nearest(y.number)
		}
		return Float(f), nil
	}
	return l, nil
}
