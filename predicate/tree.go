package predicate

import "github.com/flightcache/flightcache/arrowipc"

// Expr is a node of an unbound predicate: [Column], [Literal], [Cast], [Compare], [In], [Member], [IsNull], [IsNaN],
// [StartsWith], [And], [Or], [Not], [If] or [Case]. What it means does not depend on where it came from: where two
// languages differ there are two nodes. [Bind] tells which of them fit together.
//
// A tree is not changed by this package, and must not be while it is used. String spells it for messages.
type Expr interface {
	String() string
	node()
}

// Column refers to a column: by the names from the top level down to it, or by the ordinals of the fields on that way.
// One of the two is set; the resolver given to [Bind] reads it. A boolean column is a predicate by itself.
type Column struct {
	Path     []string
	Ordinals []int
}

// Cast gives the values of a column, or a literal, as another type. Only casts that keep every value are bound: others
// are [ErrUnsupported].
type Cast struct {
	Of Expr
	To arrowipc.Type
}

// Op is a comparison.
type Op uint8

// The comparisons.
const (
	Equal Op = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// Compare compares a column (or a cast one) with a literal, in either order; or, with Equal and NotEqual, a predicate
// with a boolean. It is null where either is null. Numbers compare as real numbers, whatever their types; timestamps as
// instants; text and binary byte by byte; false is less than true. NaN is neither equal to, nor less or greater than,
// anything.
type Compare struct {
	Op          Op
	Left, Right Expr
}

// In is SQL's IN, and what Acero makes of Substrait's singularOrList: Of = List[0] or Of = List[1] or …, null where Of
// is null, and where nothing matches and the list has a null. With an empty list it is false for all rows, nulls too.
// Its negation is Not{In}.
type In struct {
	Of   Expr
	List []Literal
}

// Member is Acero's is_in, a look-up in a set of values; it is never null. A null is a member where the list has a null;
// NaN is a member where the list has a NaN; 0.0 and -0.0 are two values.
type Member struct {
	Of   Expr
	List []Literal
}

// IsNull is true where Of is null and false elsewhere. Of is a column of any type (except unions and run-end encoded
// ones, which have no nulls of their own), a cast, a literal or a predicate. NaN is not null.
type IsNull struct{ Of Expr }

// IsNaN is true where Of is NaN, null where it is null and false elsewhere, for all values of integers and decimals.
type IsNaN struct{ Of Expr }

// StartsWith is true where the value of a text or binary column begins with Prefix, and null where either is null.
type StartsWith struct {
	Of     Expr
	Prefix Literal
}

// And is Kleene's conjunction: false where any is false, else null where any is null. Without Args it is true.
type And struct{ Args []Expr }

// Or is Kleene's disjunction: true where any is true, else null where any is null. Without Args it is false.
type Or struct{ Args []Expr }

// Not swaps true and false, and leaves null.
type Not struct{ Of Expr }

// If is Acero's if_else: Then where Cond is true, Else where it is false, null where it is null.
type If struct{ Cond, Then, Else Expr }

// When is one branch of a [Case].
type When struct{ Cond, Then Expr }

// Case is SQL's CASE WHEN, and Acero's case_when: the Then of the first When whose Cond is true, else Else. A nil Else is
// null.
type Case struct {
	Whens []When
	Else  Expr
}

func (Column) node()     {}
func (Literal) node()    {}
func (Cast) node()       {}
func (Compare) node()    {}
func (In) node()         {}
func (Member) node()     {}
func (IsNull) node()     {}
func (IsNaN) node()      {}
func (StartsWith) node() {}
func (And) node()        {}
func (Or) node()         {}
func (Not) node()        {}
func (If) node()         {}
func (Case) node()       {}
