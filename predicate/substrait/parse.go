package substrait

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/predicate"
)

// ErrMalformed means that the bytes are no message of the type substrait.ExtendedExpression, or one that contradicts
// itself: a reference to what it does not define, a literal of the wrong length, a node without its operands. The text says
// which. What is well formed and not understood is [predicate.ErrUnsupported], and what is too large [predicate.ErrLimit].
var ErrMalformed = errors.New("malformed Substrait expression")

// Limits of a message.
const (
	// MaxBytes is the longest message, in bytes.
	MaxBytes = 1 << 20
	// MaxDepth is how deep expressions may be nested. It is more than [predicate.MaxDepth], since conjunctions of
	// conjunctions become one, as do disjunctions: clients write a and b and c as two.
	MaxDepth = 2000
	// MaxNames is how many bytes the names of all references may have together. A message has a name once, and the tree has
	// it as often as it is referred to: without a limit, a long name would make a short message large.
	MaxNames = 4 << 20
)

// messagesPerNode is how many levels of protobuf messages one level of an expression has at most: Expression,
// ScalarFunction, FunctionArgument.
const messagesPerNode = 3

// parser is one message while it is read.
type parser struct {
	functions map[uint32]symbol // by anchor
	types     map[uint32]symbol // by anchor
	fields    []field           // of the base schema
	named     int               // bytes of the names that references became
}

// Parse reads a filter. The tree's columns are names, from the top level down. Errors are [ErrMalformed],
// [predicate.ErrUnsupported] (the text names the function or the form) and [predicate.ErrLimit].
func Parse(raw []byte) (predicate.Expr, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("%w: the Substrait message has %d bytes; at most %d are allowed", predicate.ErrLimit, len(raw), MaxBytes)
	}
	var m pb.ExtendedExpression
	if err := (proto.UnmarshalOptions{RecursionLimit: MaxDepth*messagesPerNode + 10}).Unmarshal(raw, &m); err != nil {
		return nil, malformed("it is not a substrait.ExtendedExpression, or nested too deep: %s", err.Error())
	}
	p := &parser{}
	if err := p.declare(&m); err != nil {
		return nil, err
	}
	if err := p.readSchema(m.GetBaseSchema()); err != nil {
		return nil, err
	}
	switch referred := m.GetReferredExpr(); {
	case len(referred) == 0:
		return nil, malformed("it has no expression")
	case len(referred) > 1:
		return nil, unsupported("a message of %d expressions; send one", len(referred))
	case referred[0].GetMeasure() != nil:
		return nil, unsupported("an aggregation as a filter")
	default:
		return p.expression(referred[0].GetExpression(), 0)
	}
}

// expression reads any node.
func (p *parser) expression(e *pb.Expression, depth int) (predicate.Expr, error) {
	if depth >= MaxDepth {
		return nil, fmt.Errorf("%w: the Substrait expression is nested more than %d deep", predicate.ErrLimit, MaxDepth)
	}
	switch form := e.GetRexType().(type) {
	case nil:
		return nil, malformed("an expression is missing, or of a form newer than this server")
	case *pb.Expression_Literal_:
		return p.literal(form.Literal)
	case *pb.Expression_Selection:
		return p.reference(form.Selection)
	case *pb.Expression_ScalarFunction_:
		return p.function(form.ScalarFunction, depth+1)
	case *pb.Expression_IfThen_:
		return p.ifThen(form.IfThen, depth+1)
	case *pb.Expression_SingularOrList_:
		return p.orList(form.SingularOrList, depth+1)
	case *pb.Expression_Cast_:
		return p.cast(form.Cast, depth+1)
	}
	return nil, unsupported("expressions of the form %s", oneof(e, "rex_type"))
}

// ifThen reads a choice. Acero writes if_else as one clause and case_when as any number, and reads one as if_else.
func (p *parser) ifThen(e *pb.Expression_IfThen, depth int) (predicate.Expr, error) {
	if len(e.GetIfs()) == 0 {
		return nil, malformed("an if_then without clauses")
	}
	var c predicate.Case
	for _, clause := range e.GetIfs() {
		cond, err := p.expression(clause.GetIf(), depth)
		if err != nil {
			return nil, err
		}
		then, err := p.expression(clause.GetThen(), depth)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, predicate.When{Cond: cond, Then: then})
	}
	c.Else = predicate.Null()
	if e.GetElse() != nil {
		var err error
		if c.Else, err = p.expression(e.GetElse(), depth); err != nil {
			return nil, err
		}
	}
	if len(c.Whens) == 1 {
		return predicate.If{Cond: c.Whens[0].Cond, Then: c.Whens[0].Then, Else: c.Else}, nil
	}
	return c, nil
}

// orList reads value = option or value = option or …, where a list of literals is an In.
func (p *parser) orList(e *pb.Expression_SingularOrList, depth int) (predicate.Expr, error) {
	value, err := p.expression(e.GetValue(), depth)
	if err != nil {
		return nil, err
	}
	list := make([]predicate.Literal, len(e.GetOptions()))
	for i, option := range e.GetOptions() {
		o, err := p.expression(option, depth)
		if err != nil {
			return nil, err
		}
		literal, ok := o.(predicate.Literal)
		if !ok {
			return nil, unsupported("a singular_or_list with other options than literals")
		}
		list[i] = literal
	}
	return predicate.In{Of: value, List: list}, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w in Substrait: %w", predicate.ErrUnsupported, fmt.Errorf(format, args...))
}

// oneof names the member of a message that is set.
func oneof(m proto.Message, name protoreflect.Name) string {
	r := m.ProtoReflect()
	if f := r.WhichOneof(r.Descriptor().Oneofs().ByName(name)); f != nil {
		return string(f.Name())
	}
	return "none"
}

// quote spells a name from the message, cut when it is long.
func quote(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%q…", s[:n])
}
