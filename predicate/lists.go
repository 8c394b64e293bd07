package predicate

import (
	"fmt"
	"math"
	"slices"
)

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
		if err := b.round(&o, len(values)); err != nil {
			return nil, err
		}
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
