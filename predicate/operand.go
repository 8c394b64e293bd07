package predicate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// operand is a column, perhaps cast, that literals are compared with.
type operand struct {
	column int
	base   domain // of the column's own values, which are what is looked at
	domain        // of what it was cast to: that is what a literal must fit
	field  arrowipc.Field
	name   string
	// round is the step of domain that a step of base is cast to, where that is not the same value; it is monotone.
	round func(*big.Int) *big.Int
}

// operand binds a column, or a cast one.
func (b *binder) operand(e Expr, depth int) (operand, error) {
	if err := b.enter(depth); err != nil {
		return operand{}, err
	}
	switch e := e.(type) {
	case Column:
		return b.column(e)
	case Cast:
		o, err := b.operand(e.Of, depth+1)
		if err != nil {
			return operand{}, err
		}
		return o.cast(e.To)
	case nil:
		return operand{}, errMissing
	}
	return operand{}, fmt.Errorf("%w: %s, where a column is needed", ErrUnsupported, clip(e.String()))
}

// column binds a reference to a column.
func (b *binder) column(c Column) (operand, error) {
	l, err := b.resolve(c)
	if err != nil {
		return operand{}, err
	}
	f := l.Column.Field
	d := domainOf(f.Type)
	at, known := b.seen[l.Column]
	if !known {
		at = len(b.p.columns)
		b.seen[l.Column] = at
		b.p.columns = append(b.p.columns, newBoundColumn(l, d))
	}
	return operand{column: at, base: d, domain: d, field: *f, name: strings.Join(l.Path, ".")}, nil
}

// kind spells the type of an operand.
func (o *operand) kind() string { return o.field.TypeString() }

// mismatch says that an operand and a literal do not compare.
func (o *operand) mismatch(l Literal) error {
	return fmt.Errorf("%w: column %s is %s, and %s is not a value to compare it with", ErrType, o.name, o.kind(), l)
}

// misread says that a text is not what an operand reads in texts.
func (o *operand) misread(l Literal, want string) error {
	return fmt.Errorf("%w: column %s is %s, and %s is not %s", ErrLiteral, o.name, o.kind(), l, want)
}

// cast gives the operand as another type. Casts of integers and decimals to floats round; all others keep every value.
func (o operand) cast(to arrowipc.Type) (operand, error) {
	d := domainOf(to)
	from := o
	o.domain = d
	o.field = arrowipc.Field{Type: to}
	switch {
	case from.family == famNull && d.family != famOther:
		o.domain = from.domain
		return o, nil
	case d.family == famFloat && (from.family == famInt || from.family == famDecimal) && from.round == nil:
		o.round = from.rounding(to.BitWidth)
		if to.BitWidth != 16 {
			return o, nil
		}
	case keeps(&from, &d, &to):
		return o, nil
	}
	return operand{}, fmt.Errorf("%w: a cast of column %s from %s to %s, which may change values", ErrUnsupported, o.name, from.kind(), o.kind())
}

// rounding gives the key of the float nearest to a step's value.
func (o *operand) rounding(bits int) func(*big.Int) *big.Int {
	unit := o.unit
	return func(n *big.Int) *big.Int {
		v := new(big.Rat).SetInt(n)
		v.Mul(v, unit)
		f := nearest(v)
		if bits == 32 {
			single, _ := v.Float32()
			f = float64(single)
		}
		return big.NewInt(floatKey(f))
	}
}

// keeps reports whether every value of an operand is one of a type.
func keeps(o *operand, d *domain, to *arrowipc.Type) bool {
	from := &o.field.Type
	switch {
	case o.family != d.family:
		return o.family == famText && d.family == famBinary && to.ID != arrowipc.TypeFixedSizeBinary ||
			o.family == famInt && d.family == famDecimal && to.Scale >= 0 ||
			o.family == famDate && d.family == famTimestamp && !d.zoned && d.unit.Cmp(o.unit) <= 0
	case o.family == famInt:
		return d.min.Cmp(o.min) <= 0 && d.max.Cmp(o.max) >= 0
	case o.family == famFloat:
		return to.BitWidth >= from.BitWidth
	case o.family == famDecimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case o.family == famDate, o.family == famTime, o.family == famTimestamp, o.family == famDuration:
		return d.unit.Cmp(o.unit) <= 0 && d.zoned == o.zoned
	case o.family == famBinary && to.ID == arrowipc.TypeFixedSizeBinary:
		return from.ID == to.ID && from.ByteWidth == to.ByteWidth
	}
	return o.family != famOther
}

// place is that of the operand's domain, told in steps of the column's.
func (o *operand) place(y real) (less, atMost *big.Int) {
	less, atMost = o.domain.place(y)
	if o.round == nil {
		if o.isFloat || o.unit.Cmp(o.base.unit) == 0 {
			return less, atMost
		}
		return o.base.place(y)
	}
	return o.unround(less), o.unround(atMost)
}

// unround gives the greatest step of the column that is cast to at most cut, and one below its least if there is none.
func (o *operand) unround(cut *big.Int) *big.Int {
	lo, hi := new(big.Int).Sub(o.base.min, one), new(big.Int).Set(o.base.max)
	for lo.Cmp(hi) < 0 {
		middle := new(big.Int).Add(lo, hi)
		middle.Add(middle, one).Rsh(middle, 1) // rounds down, so middle is above lo
		if o.round(middle).Cmp(cut) <= 0 {
			lo = middle
		} else {
			hi.Sub(middle, one)
		}
	}
	return lo
}

// between gives the steps after the first up to the second; nil is no limit.
func (o *operand) between(after, upTo *big.Int) set {
	d := &o.base
	lo, hi := d.min, d.max
	if after != nil && after.Cmp(lo) >= 0 {
		lo = new(big.Int).Add(after, one)
	}
	if upTo != nil && upTo.Cmp(hi) < 0 {
		hi = upTo
	}
	switch {
	case lo.Cmp(hi) > 0:
		return nil
	case d.form == formWide:
		return &wideSet{lo: wideOf(lo), hi: wideOf(hi)}
	}
	return keysBetween(d.key(lo), d.key(hi))
}
