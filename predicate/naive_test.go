package predicate

import (
	"math"
	"math/big"
	"math/rand"
	"strings"

	"github.com/flightcache/flightcache/statistics"
)

// naive evaluates a tree as it stands, one value at a time.
type naive struct {
	columns map[string]*statistics.Vector
}

// datum gives a value as nil, bool, string, *big.Rat or float64 (NaN, infinities and zeros only; other floats as *big.Rat).
func datum(v *statistics.Vector, i int64) any {
	if v.Null(i) {
		return nil
	}
	x, d := v.Value(i), domainOf(v.Field.Type)
	switch statistics.ClassOf(v.Field) {
	case statistics.Bool:
		return x.Boolean()
	case statistics.Float:
		return float(x.Float64())
	case statistics.Bytes:
		return x.Text()
	case statistics.Decimal:
		n := new(big.Rat).SetInt(x.Decimal())
		return n.Mul(n, d.unit)
	case statistics.Unsigned:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(x.Uint()))
	}
	n := big.NewRat(x.Int(), 1)
	return n.Mul(n, d.unit)
}

func float(f float64) any {
	if finite(f) && f != 0 {
		return new(big.Rat).SetFloat64(f)
	}
	return f
}

func literalDatum(l Literal, ofFloats bool) any {
	switch l.kind {
	case litNull:
		return nil
	case litBool:
		return l.bit
	case litFloat:
		return float(l.float)
	case litText, litString, litBytes:
		return l.text
	case litDate:
		return new(big.Rat).Mul(l.number, secondsInDay)
	}
	if f := l.number; ofFloats && !l.whole && l.kind == litNumber && !math.IsInf(nearest(f), 0) {
		return float(nearest(f))
	}
	return l.number
}

// order compares two data that are not nil; ok is false for NaN.
func order(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case bool:
		return int(triOf(a)) - int(triOf(b.(bool))), true
	case string:
		return strings.Compare(a, b.(string)), true
	}
	x, y := rank(a), rank(b)
	if x.nan || y.nan {
		return 0, false
	}
	if x.inf != 0 || y.inf != 0 {
		return x.inf - y.inf, true
	}
	return x.number.Cmp(y.number), true
}

func rank(a any) real {
	if f, ok := a.(float64); ok {
		return realOf(f)
	}
	return real{number: a.(*big.Rat)}
}

func (n *naive) compare(op Op, a, b any) tri {
	if a == nil || b == nil {
		return null
	}
	c, ok := order(a, b)
	switch op {
	case Equal:
		return triOf(ok && c == 0)
	case NotEqual:
		return triOf(!ok || c != 0)
	case Less:
		return triOf(ok && c < 0)
	case LessEqual:
		return triOf(ok && c <= 0)
	case Greater:
		return triOf(ok && c > 0)
	}
	return triOf(ok && c >= 0)
}

func (n *naive) column(e Expr) *statistics.Vector { return n.columns[e.(Column).Path[0]] }

func (n *naive) eval(e Expr, i int64) tri {
	switch e := e.(type) {
	case Literal:
		if e.IsNull() {
			return null
		}
		return triOf(e.bit)
	case Column:
		if b, ok := datum(n.column(e), i).(bool); ok {
			return triOf(b)
		}
		return null
	case Compare:
		if isPredicate(e.Left) {
			of, l := n.eval(e.Left, i), e.Right.(Literal)
			if of == null || l.IsNull() {
				return null
			}
			return triOf((of == triOf(l.bit)) == (e.Op == Equal))
		}
		if l, ok := e.Left.(Literal); ok {
			return n.eval(Compare{flipped[e.Op], e.Right, l}, i)
		}
		v := n.column(e.Left)
		return n.compare(e.Op, datum(v, i), literalDatum(e.Right.(Literal), domainOf(v.Field.Type).isFloat))
	case In:
		v, out := n.column(e.Of), no
		for _, l := range e.List {
			switch n.compare(Equal, datum(v, i), literalDatum(l, domainOf(v.Field.Type).isFloat)) {
			case yes:
				return yes
			case null:
				out = null
			}
		}
		return out
	case Member:
		v := n.column(e.Of)
		x := datum(v, i)
		for _, l := range e.List {
			y := literalDatum(l, domainOf(v.Field.Type).isFloat)
			if x == nil || y == nil {
				if x == nil && y == nil {
					return yes
				}
				continue
			}
			if a, ok := x.(float64); ok && a == 0 {
				var b float64
				switch {
				case l.kind == litFloat:
					b = l.float
				case l.number.Sign() != 0:
					continue
				}
				if b == 0 && math.Signbit(a) == math.Signbit(b) {
					return yes
				}
				continue
			}
			c, ok := order(x, y)
			if f, float := x.(float64); ok && c == 0 || float && f != f && !ok && rank(y).nan {
				return yes
			}
		}
		return no
	case IsNull:
		if isPredicate(e.Of) {
			return triOf(n.eval(e.Of, i) == null)
		}
		return triOf(n.column(e.Of).Null(i))
	case IsNaN:
		x := datum(n.column(e.Of), i)
		if x == nil {
			return null
		}
		f, ok := x.(float64)
		return triOf(ok && f != f)
	case StartsWith:
		x := datum(n.column(e.Of), i)
		if x == nil || e.Prefix.IsNull() {
			return null
		}
		return triOf(strings.HasPrefix(x.(string), e.Prefix.text))
	case And:
		return n.kleene(e.Args, no, i)
	case Or:
		return n.kleene(e.Args, yes, i)
	case Not:
		return [...]tri{no: yes, yes: no, null: null}[n.eval(e.Of, i)]
	case If:
		switch n.eval(e.Cond, i) {
		case yes:
			return n.eval(e.Then, i)
		case no:
			return n.eval(e.Else, i)
		}
		return null
	case Case:
		for _, w := range e.Whens {
			if n.eval(w.Cond, i) == yes {
				return n.eval(w.Then, i)
			}
		}
		if e.Else == nil {
			return null
		}
		return n.eval(e.Else, i)
	}
	panic("unknown node")
}

func (n *naive) kleene(args []Expr, strong tri, i int64) tri {
	out := 1 - strong
	for _, a := range args {
		switch n.eval(a, i) {
		case strong:
			return strong
		case null:
			out = null
		}
	}
	return out
}

// grower grows random trees over columns of a schema.
type grower struct {
	*rand.Rand
	columns []*statistics.Vector
}

// literal gives one that a column compares with: one of its own values, or one beside them.
func (g *grower) literal(v *statistics.Vector) Literal {
	if g.Intn(12) == 0 {
		return Null()
	}
	from, d := pool(v.Field.Type), domainOf(v.Field.Type)
	if len(from) == 0 {
		return Int(g.Int63())
	}
	switch x := from[g.Intn(len(from))].(type) {
	case bool:
		return Bool(x)
	case string:
		if g.Intn(2) == 0 {
			return Bytes([]byte(x))
		}
		return String(x + []string{"", "", "a", "\xff"}[g.Intn(4)])
	case float64:
		if g.Intn(3) == 0 {
			return Int(int64(g.Intn(5) - 2))
		}
		return Float(x)
	case *big.Int:
		y := new(big.Rat).SetInt(x)
		switch g.Intn(6) {
		case 0:
			y.Add(y, big.NewRat(1, 2))
		case 1:
			y.Sub(y, big.NewRat(1, 3))
		case 2:
			y.Mul(y, new(big.Rat).SetInt(new(big.Int).Lsh(one, 200)))
		}
		y.Mul(y, d.unit)
		kinds := map[family]literalKind{famInt: litNumber, famDecimal: litNumber, famDate: litDate, famTime: litTime, famTimestamp: litTimestamp, famDuration: litDuration}
		l := Literal{kind: kinds[d.family], number: y, zoned: d.zoned}
		if l.kind == litNumber && g.Intn(6) == 0 {
			return Float(nearest(y))
		}
		if l.kind == litDate {
			y.Quo(y, secondsInDay)
		}
		return l
	}
	panic("unknown value")
}

func (g *grower) list(v *statistics.Vector) []Literal {
	out := make([]Literal, g.Intn(6))
	for i := range out {
		out[i] = g.literal(v)
	}
	return out
}

// leaf grows a test of one column.
func (g *grower) leaf() Expr {
	v := g.columns[g.Intn(len(g.columns))]
	c, d := Column{Path: []string{v.Field.Name}}, domainOf(v.Field.Type)
	switch g.Intn(12) {
	case 0:
		return IsNull{c}
	case 1:
		return In{c, g.list(v)}
	case 2:
		return Member{c, g.list(v)}
	case 3:
		if d.isFloat || d.family == famInt || d.family == famNull {
			return IsNaN{c}
		}
		if d.form == formBytes {
			return StartsWith{c, g.literal(v)}
		}
		if d.family == famBool {
			return c
		}
	case 4:
		return Compare{Op(g.Intn(6)), g.literal(v), c}
	case 5:
		return []Literal{Null(), Bool(false), Bool(true)}[g.Intn(3)]
	}
	return Compare{Op(g.Intn(6)), c, g.literal(v)}
}

func (g *grower) tree(depth int) Expr {
	if depth == 0 || g.Intn(5) == 0 {
		return g.leaf()
	}
	args := func() []Expr {
		out := make([]Expr, g.Intn(4))
		for i := range out {
			out[i] = g.tree(depth - 1)
		}
		return out
	}
	switch g.Intn(8) {
	case 0, 1:
		return And{args()}
	case 2, 3:
		return Or{args()}
	case 4:
		return Not{g.tree(depth - 1)}
	case 5:
		return If{g.tree(depth - 1), g.tree(depth - 1), g.tree(depth - 1)}
	case 6:
		c := Case{}
		for range g.Intn(3) {
			c.Whens = append(c.Whens, When{g.tree(depth - 1), g.tree(depth - 1)})
		}
		if g.Intn(2) == 0 {
			c.Else = g.tree(depth - 1)
		}
		return c
	}
	of := g.tree(depth - 1)
	if isPredicate(of) && g.Intn(2) == 0 {
		return Compare{Op(g.Intn(2)), of, []Literal{Null(), Bool(false), Bool(true)}[g.Intn(3)]}
	}
	if !isPredicate(of) {
		of = Not{of}
	}
	return IsNull{of}
}
