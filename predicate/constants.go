package predicate

import (
	"fmt"
	"math"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

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
