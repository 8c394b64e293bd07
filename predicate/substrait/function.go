package substrait

import (
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/predicate"
)

// builtin is a function of so many arguments.
type builtin struct {
	args  int
	build func(args []predicate.Expr) (predicate.Expr, error)
}

// builtins are the functions that are known, but for and, or, which take any number of arguments.
var builtins = map[symbol]builtin{
	{docComparison, "equal"}:       comparison(predicate.Equal),
	{docComparison, "not_equal"}:   comparison(predicate.NotEqual),
	{docComparison, "lt"}:          comparison(predicate.Less),
	{docComparison, "lte"}:         comparison(predicate.LessEqual),
	{docComparison, "gt"}:          comparison(predicate.Greater),
	{docComparison, "gte"}:         comparison(predicate.GreaterEqual),
	{docComparison, "is_null"}:     unary(func(of predicate.Expr) predicate.Expr { return predicate.IsNull{Of: of} }),
	{docComparison, "is_not_null"}: unary(func(of predicate.Expr) predicate.Expr { return predicate.Not{Of: predicate.IsNull{Of: of}} }),
	{docComparison, "is_nan"}:      unary(func(of predicate.Expr) predicate.Expr { return predicate.IsNaN{Of: of} }),
	{docBoolean, "not"}:            unary(func(of predicate.Expr) predicate.Expr { return predicate.Not{Of: of} }),
	{docString, "starts_with"}:     {args: 2, build: startsWith},
}

func comparison(op predicate.Op) builtin {
	return builtin{args: 2, build: func(args []predicate.Expr) (predicate.Expr, error) {
		return predicate.Compare{Op: op, Left: args[0], Right: args[1]}, nil
	}}
}

func unary(build func(predicate.Expr) predicate.Expr) builtin {
	return builtin{args: 1, build: func(args []predicate.Expr) (predicate.Expr, error) { return build(args[0]), nil }}
}

func startsWith(args []predicate.Expr) (predicate.Expr, error) {
	prefix, ok := args[1].(predicate.Literal)
	if !ok {
		return nil, unsupported("the function starts_with with other than a literal as the start")
	}
	return predicate.StartsWith{Of: args[0], Prefix: prefix}, nil
}

// function reads a call.
func (p *parser) function(f *pb.Expression_ScalarFunction, depth int) (predicate.Expr, error) {
	s, ok := p.functions[f.GetFunctionReference()]
	if !ok {
		return nil, malformed("a call of the function %d, which is not declared", f.GetFunctionReference())
	}
	known, ok := builtins[s]
	if !ok && !isJunction(s) {
		return nil, unsupported("the function %s of %s", quote(s.name), quote(s.document))
	}
	if err := checkCall(f, s); err != nil {
		return nil, err
	}
	if isJunction(s) {
		args, err := p.junction(nil, f, s, depth)
		if err != nil {
			return nil, err
		}
		if s.name == "and" {
			return predicate.And{Args: args}, nil
		}
		return predicate.Or{Args: args}, nil
	}
	if n := len(f.GetArguments()); n != known.args {
		return nil, malformed("the function %s has %d arguments; it takes %d", quote(s.name), n, known.args)
	}
	args := make([]predicate.Expr, known.args)
	for i, a := range f.GetArguments() {
		var err error
		if args[i], err = p.argument(a, s, depth); err != nil {
			return nil, err
		}
	}
	return known.build(args)
}

func isJunction(s symbol) bool {
	return s.document == docBoolean && (s.name == "and" || s.name == "or")
}

// junction appends the arguments of and, or or: those of an argument that is a call of the same function in its place.
// Kleene's and and or are associative, so that changes nothing but the depth.
func (p *parser) junction(args []predicate.Expr, f *pb.Expression_ScalarFunction, s symbol, depth int) ([]predicate.Expr, error) {
	for _, a := range f.GetArguments() {
		inner := a.GetValue().GetScalarFunction()
		if inner != nil && p.functions[inner.GetFunctionReference()] == s && depth+1 < MaxDepth {
			err := checkCall(inner, s)
			if err == nil {
				args, err = p.junction(args, inner, s, depth+1)
			}
			if err != nil {
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
	return args, nil
}

func (p *parser) argument(a *pb.FunctionArgument, s symbol, depth int) (predicate.Expr, error) {
	if a.GetValue() == nil {
		return nil, unsupported("the function %s with an argument that is no value but %s", quote(s.name), oneof(a, "arg_type"))
	}
	return p.expression(a.GetValue(), depth)
}

// checkCall refuses arguments of the form before Substrait 0.6, which stand in a field of their own, and options but the
// one that says what starts_with does anyway.
func checkCall(f *pb.Expression_ScalarFunction, s symbol) error {
	if len(f.GetArgs()) > 0 { //nolint:staticcheck // it is deprecated, and read to be refused
		return unsupported("the function %s with arguments in the old form, args", quote(s.name))
	}
	for _, o := range f.GetOptions() {
		value := ""
		if len(o.GetPreference()) > 0 {
			value = o.GetPreference()[0]
		}
		if s.name != "starts_with" || o.GetName() != "case_sensitivity" || value != "CASE_SENSITIVE" {
			return unsupported("the function %s with the option %s set to %s", quote(s.name), quote(o.GetName()), quote(value))
		}
	}
	return nil
}
