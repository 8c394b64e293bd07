package predicate

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// shownList is how many literals of a list are spelt out.
const shownList = 8

var opNames = [...]string{"=", "!=", "<", "<=", ">", ">="}

// String is the operator as DNF filters write it.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", o)
}

// String is the dotted path, or the ordinals as #0.1.
func (c Column) String() string {
	if c.Path != nil {
		return strings.Join(c.Path, ".")
	}
	parts := make([]string, len(c.Ordinals))
	for i, n := range c.Ordinals {
		parts[i] = strconv.Itoa(n)
	}
	return "#" + strings.Join(parts, ".")
}

// String spells the literal; long texts are cut.
func (l Literal) String() string {
	switch l.kind {
	case litNull:
		return "null"
	case litBool:
		return strconv.FormatBool(l.bit)
	case litFloat:
		return strconv.FormatFloat(l.float, 'g', -1, 64)
	case litText, litString:
		return strconv.Quote(clip(l.text))
	case litBytes:
		return "0x" + clip(hex.EncodeToString([]byte(l.text[:min(len(l.text), 64)])))
	case litDate:
		return "date " + l.spelt() + "d"
	case litTime:
		return "time " + l.spelt() + "s"
	case litTimestamp:
		if l.zoned {
			return "timestamp " + l.spelt() + "s UTC"
		}
		return "timestamp " + l.spelt() + "s"
	case litDuration:
		return "duration " + l.spelt() + "s"
	}
	return l.spelt()
}

// spelt is the number in decimal digits, if it has few, else as a power of two near it.
func (l Literal) spelt() string {
	if l.number.IsInt() {
		if l.number.Num().BitLen() > 512 {
			return fmt.Sprintf("about 2**%d", l.number.Num().BitLen())
		}
		return l.number.Num().String()
	}
	if n, exact := l.number.FloatPrec(); exact && n < 100 && l.number.Num().BitLen() < 512 {
		return l.number.FloatString(n)
	}
	return strconv.FormatFloat(nearest(l.number), 'g', -1, 64)
}

// String is the conversion as cast(… as type).
func (c Cast) String() string {
	return "cast(" + spell(c.Of) + " as " + (&arrowipc.Field{Type: c.To}).TypeString() + ")"
}

// String is the two sides about the operator.
func (e Compare) String() string {
	return inner(e.Left) + " " + e.Op.String() + " " + inner(e.Right)
}

// String is the argument and the first literals of the list.
func (n In) String() string { return inner(n.Of) + " in " + list(n.List) }

// String is the argument and the first literals of the list.
func (n Member) String() string { return "is_in(" + spell(n.Of) + ", " + list(n.List) + ")" }

// String is the argument, is null.
func (n IsNull) String() string { return inner(n.Of) + " is null" }

// String is the argument, is nan.
func (n IsNaN) String() string { return inner(n.Of) + " is nan" }

// String is the argument and the prefix, as a literal.
func (n StartsWith) String() string { return inner(n.Of) + " starts with " + n.Prefix.String() }

// String is the arguments joined by and; without any it is true.
func (n And) String() string { return join(n.Args, " and ", "true") }

// String is the arguments joined by or; without any it is false.
func (n Or) String() string { return join(n.Args, " or ", "false") }

// String is not before the argument.
func (n Not) String() string { return "not " + inner(n.Of) }

// String is the three arguments as if_else(…).
func (n If) String() string {
	return "if_else(" + spell(n.Cond) + ", " + spell(n.Then) + ", " + spell(n.Else) + ")"
}

// String is the cases in order, and the else if there is one.
func (n Case) String() string {
	var b strings.Builder
	b.WriteString("case")
	for _, w := range n.Whens {
		b.WriteString(" when " + spell(w.Cond) + " then " + spell(w.Then))
	}
	if n.Else != nil {
		b.WriteString(" else " + spell(n.Else))
	}
	b.WriteString(" end")
	return b.String()
}

// spell is the text of a node, or what stands for one that is missing.
func spell(e Expr) string {
	if e == nil {
		return "?"
	}
	return e.String()
}

// inner spells a node within another, in parentheses where it is not one word.
func inner(e Expr) string {
	switch e.(type) {
	case nil, Column, Literal, Cast, Member, If, Case:
		return spell(e)
	}
	return "(" + spell(e) + ")"
}

func join(args []Expr, sep, none string) string {
	if len(args) == 0 {
		return none
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = inner(a)
	}
	return strings.Join(parts, sep)
}

func list(values []Literal) string {
	parts := make([]string, 0, shownList+1)
	for _, v := range values[:min(len(values), shownList)] {
		parts = append(parts, v.String())
	}
	if n := len(values) - shownList; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
