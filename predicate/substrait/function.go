package substrait

import (
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/predicate"
)

var comparisons = map[string]predicate.Op{
	"equal": predicate.Equal, "not_equal": predicate.NotEqual, "lt": predicate.Less, "lte": predicate.LessEqual,
	"gt": predicate.Greater, "gte": predicate.GreaterEqual,
}

// function reads a call.
func (p *parser) function(f *pb.Expression_ScalarFunction, depth int) (predicate.Expr, error) {
	s, err := p.symbolOf(f)
	if err != nil {
		return nil, err
	}
	if s.document == docBoolean && (s.name == "and" || s.name == "or") {
		if err := checkOptions(f, s); err != nil {
			return nil, err
		}
		args, err := p.junction(nil, f, s, depth)
		if err != nil {
			return nil, err
		}
		if s.name == "and" {
			return predicate.And{Args: args}, nil
		}
		return predicate.Or{Args: args}, nil
	}
	args, err := p.arguments(f, s, depth)
	if err != nil {
		return nil, err
	}
	e, want := call(s, args)
	switch {
	case want < 0:
		return nil, unsupported("the function %s of %s", quote(s.name), quote(s.document))
	case e == nil:
		return nil, malformed("the function %s has %d arguments; it takes %d", quote(s.name), len(args), want)
	}
	if err := checkOptions(f, s); err != nil {
		return nil, err
	}
	if sw, ok := e.(predicate.StartsWith); ok && sw.Of == nil {
		return nil, unsupported("the function starts_with with other than a literal as the start")
	}
	return e, nil
}

// symbolOf looks up the function that is called.
func (p *parser) symbolOf(f *pb.Expression_ScalarFunction) (symbol, error) {
	s, ok := p.functions[f.GetFunctionReference()]
	if !ok {
		return symbol{}, malformed("a call of the function %d, which is not declared", f.GetFunctionReference())
	}
	return s, nil
}

// call gives the node of a function that is not and, or; nil if it does not take as many arguments as want, which is below
// 0 for a function that is not known. A StartsWith without operands stands for one whose start is no literal.
func call(s symbol, args []predicate.Expr) (e predicate.Expr, want int) {
	if op, ok := comparisons[s.name]; ok && s.document == docComparison {
		if len(args) != 2 {
			return nil, 2
		}
		return predicate.Compare{Op: op, Left: args[0], Right: args[1]}, 2
	}
	switch s {
	case symbol{docString, "starts_with"}:
		if len(args) != 2 {
			return nil, 2
		}
		prefix, ok := args[1].(predicate.Literal)
		if !ok {
			return predicate.StartsWith{}, 2
		}
		return predicate.StartsWith{Of: args[0], Prefix: prefix}, 2
	case symbol{docComparison, "coalesce"}:
		if len(args) == 0 {
			return nil, 1
		}
		return coalesce(args), len(args)
	}
	if len(args) != 1 {
		args = []predicate.Expr{nil}
	}
	switch s {
	case symbol{docComparison, "is_null"}:
		e = predicate.IsNull{Of: args[0]}
	case symbol{docComparison, "is_not_null"}:
		e = predicate.Not{Of: predicate.IsNull{Of: args[0]}}
	case symbol{docComparison, "is_nan"}:
		e = predicate.IsNaN{Of: args[0]}
	case symbol{docBoolean, "not"}:
		e = predicate.Not{Of: args[0]}
	default:
		return nil, -1
	}
	if args[0] == nil {
		return nil, 1
	}
	return e, 1
}

// coalesce is the first of some predicates that is not null.
func coalesce(args []predicate.Expr) predicate.Expr {
	last := len(args) - 1
	if last == 0 {
		return args[0]
	}
	c := predicate.Case{Else: args[last]}
	for _, a := range args[:last] {
		c.Whens = append(c.Whens, predicate.When{Cond: predicate.Not{Of: predicate.IsNull{Of: a}}, Then: a})
	}
	return c
}

// junction appends the arguments of and, or or: those of an argument that is a call of the same function without options
// in its place. Kleene's and and or are associative, so that changes nothing but the depth.
func (p *parser) junction(args []predicate.Expr, f *pb.Expression_ScalarFunction, s symbol, depth int) ([]predicate.Expr, error) {
	for _, a := range f.GetArguments() {
		inner := a.GetValue().GetScalarFunction()
		if inner != nil && p.functions[inner.GetFunctionReference()] == s && len(inner.GetOptions()) == 0 && depth+1 < MaxDepth {
			var err error
			if args, err = p.junction(args, inner, s, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		e, err := p.argument(a, s, depth)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	return args, checkArgs(f, s)
}

func (p *parser) arguments(f *pb.Expression_ScalarFunction, s symbol, depth int) ([]predicate.Expr, error) {
	args := make([]predicate.Expr, len(f.GetArguments()))
	for i, a := range f.GetArguments() {
		var err error
		if args[i], err = p.argument(a, s, depth); err != nil {
			return nil, err
		}
	}
	return args, checkArgs(f, s)
}

func (p *parser) argument(a *pb.FunctionArgument, s symbol, depth int) (predicate.Expr, error) {
	if a.GetValue() == nil {
		return nil, unsupported("the function %s with an argument that is no value but %s", quote(s.name), oneof(a, "arg_type"))
	}
	return p.expression(a.GetValue(), depth)
}

// checkArgs refuses the arguments of Substrait before 0.6, which stand in a field of their own.
func checkArgs(f *pb.Expression_ScalarFunction, s symbol) error {
	if len(f.GetArgs()) > 0 { //nolint:staticcheck // it is deprecated, and read to be refused
		return unsupported("the function %s with arguments in the old form, args", quote(s.name))
	}
	return nil
}

// checkOptions refuses options but the one that says what starts_with does anyway.
func checkOptions(f *pb.Expression_ScalarFunction, s symbol) error {
	for _, o := range f.GetOptions() {
		caseSensitive := s.name == "starts_with" && o.GetName() == "case_sensitivity" &&
			len(o.GetPreference()) > 0 && o.GetPreference()[0] == "CASE_SENSITIVE"
		if !caseSensitive {
			value := ""
			if len(o.GetPreference()) > 0 {
				value = o.GetPreference()[0]
			}
			return unsupported("the function %s with the option %s set to %s", quote(s.name), quote(o.GetName()), quote(value))
		}
	}
	return nil
}
