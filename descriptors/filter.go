package descriptors

import "strconv"

// Filter says which rows a read wants, in disjunctive normal form: a row is wanted if all terms of at least one
// conjunction hold. It is the form that pyarrow.parquet.read_table takes as "filters". Nil is all rows.
type Filter [][]Term

// Op is the operator of a [Term], as the JSON of a command has it.
type Op string

// The operators. OpIsNull and OpIsNotNull compare with nothing, OpIn and OpNotIn with a list, OpStartsWith with a string,
// the others with one literal. A command may write "==" for OpEqual.
const (
	OpEqual          Op = "="
	OpNotEqual       Op = "!="
	OpLess           Op = "<"
	OpLessOrEqual    Op = "<="
	OpGreater        Op = ">"
	OpGreaterOrEqual Op = ">="
	OpIn             Op = "in"
	OpNotIn          Op = "not in"
	OpIsNull         Op = "is null"
	OpIsNotNull      Op = "is not null"
	OpStartsWith     Op = "starts with"
)

// ops are all operators, in the order in which a message lists them.
var ops = []Op{
	OpEqual, OpNotEqual, OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual, OpIn, OpNotIn, OpIsNull, OpIsNotNull, OpStartsWith,
}

// operands says what follows an operator.
type operands int

const (
	operandsOne  operands = iota // a literal
	operandsText                 // a string
	operandsList                 // a list of literals
	operandsNone                 // nothing
)

func (o Op) operands() operands {
	switch o {
	case OpIn, OpNotIn:
		return operandsList
	case OpIsNull, OpIsNotNull:
		return operandsNone
	case OpStartsWith:
		return operandsText
	}
	return operandsOne
}

// Term is one comparison of a filter: [column, operator, value].
type Term struct {
	// Column is what is compared.
	Column Column
	// Op is how.
	Op Op
	// Value is what it is compared with. It is unused, and the zero literal, for an operator that takes a list or nothing.
	Value Literal
	// Values is the list of OpIn and OpNotIn, which may be empty but is never nil; nil for the other operators.
	Values []Literal
}

// LiteralKind is the JSON type of a [Literal].
type LiteralKind uint8

// The kinds of literals.
const (
	LiteralNull   LiteralKind = iota // null
	LiteralBool                      // true or false
	LiteralNumber                    // a number, to the last digit that was written
	LiteralString                    // a string: a text, or what a column's type writes as one
)

// Literal is a scalar as the JSON of a command has it. What it means depends on the type of the column that it is compared
// with. The zero value is null.
type Literal struct {
	// Kind is the JSON type.
	Kind LiteralKind
	// Text is a string's characters, or a number as it was written, which is a JSON number (RFC 8259, section 6) of at most
	// [MaxNumberBytes]. Its exponent is not bounded. Unused by the other kinds.
	Text string
	// Bool is the value of a LiteralBool. Unused by the other kinds.
	Bool bool
}

// MaxNumberBytes is the longest number of a filter. The longest that a column can hold, a float64 written out in full,
// has fewer.
const MaxNumberBytes = 1100

// String returns the literal as JSON.
func (v Literal) String() string { return string(v.append(nil)) }

func (v Literal) append(buf []byte) []byte {
	switch v.Kind {
	case LiteralBool:
		return strconv.AppendBool(buf, v.Bool)
	case LiteralNumber:
		return append(buf, v.Text...)
	case LiteralString:
		return appendString(buf, v.Text)
	}
	return append(buf, "null"...)
}

// String returns the term as JSON, such as ["k","=",5].
func (t Term) String() string { return string(t.append(nil)) }

func (t Term) append(buf []byte) []byte {
	buf = append(buf, '[')
	buf = t.Column.append(buf)
	buf = append(buf, ',')
	buf = appendString(buf, string(t.Op))
	switch t.Op.operands() {
	case operandsList:
		buf = appendList(append(buf, ','), t.Values, Literal.append)
	case operandsOne, operandsText:
		buf = t.Value.append(append(buf, ','))
	case operandsNone:
	}
	return append(buf, ']')
}

// String returns the filter as JSON. A single conjunction is written without its outer list.
func (f Filter) String() string { return string(f.append(nil)) }

func (f Filter) append(buf []byte) []byte {
	if len(f) == 1 {
		return appendList(buf, f[0], Term.append)
	}
	return appendList(buf, f, func(terms []Term, buf []byte) []byte { return appendList(buf, terms, Term.append) })
}
