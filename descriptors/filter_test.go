package descriptors

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func number(text string) Literal { return Literal{Kind: LiteralNumber, Text: text} }
func text(s string) Literal      { return Literal{Kind: LiteralString, Text: s} }
func boolean(b bool) Literal     { return Literal{Kind: LiteralBool, Bool: b} }

func TestFiltersTake(t *testing.T) {
	k, s := Column{Name: "k"}, Column{Name: "s"}
	for _, c := range []struct {
		in   string
		want Filter
		text string // canonical
	}{
		{`[["k","=",5]]`, Filter{{{Column: k, Op: OpEqual, Value: number("5")}}}, `[["k","=",5]]`},
		{`[["k","==",5]]`, Filter{{{Column: k, Op: OpEqual, Value: number("5")}}}, `[["k","=",5]]`},
		{` [ [ [ "k" , "<" , -1.50e+3 ] ] ] `, Filter{{{Column: k, Op: OpLess, Value: number("-1.50e+3")}}}, `[["k","<",-1.50e+3]]`},
		{`[["k","!=",true],["s",">=","x"]]`, Filter{{
			{Column: k, Op: OpNotEqual, Value: boolean(true)}, {Column: s, Op: OpGreaterOrEqual, Value: text("x")},
		}}, `[["k","!=",true],["s",">=","x"]]`},
		{`[["k","<=",false],["s",">",null]]`, Filter{{
			{Column: k, Op: OpLessOrEqual, Value: boolean(false)}, {Column: s, Op: OpGreater},
		}}, `[["k","<=",false],["s",">",null]]`},
		{`[[["k","is null"],[3,"is not null"]],[["a.b","starts with","\u00fc\""]]]`, Filter{
			{{Column: k, Op: OpIsNull}, {Column: Column{Ordinal: 3, IsOrdinal: true}, Op: OpIsNotNull}},
			{{Column: Column{Name: "a.b"}, Op: OpStartsWith, Value: text("ü\"")}},
		}, `[[["k","is null"],[3,"is not null"]],[["a.b","starts with","ü\""]]]`},
		{`[["k","in",[1,"1",null,true,9007199254740993]],["s","not in",[]]]`, Filter{{
			{Column: k, Op: OpIn, Values: []Literal{number("1"), text("1"), {}, boolean(true), number("9007199254740993")}},
			{Column: s, Op: OpNotIn, Values: []Literal{}},
		}}, `[["k","in",[1,"1",null,true,9007199254740993]],["s","not in",[]]]`},
		{`[["in","in",["in"]]]`, Filter{{{Column: Column{Name: "in"}, Op: OpIn, Values: []Literal{text("in")}}}}, `[["in","in",["in"]]]`},
	} {
		in := `{"dataset":"x","filters":` + c.in + `}`
		got, err := ReadFromCommand([]byte(in))
		if err != nil || !reflect.DeepEqual(got.Filter, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.in, got.Filter, err, c.want)
			continue
		}
		if got.Filter.String() != c.text {
			t.Errorf("%s is written\n     %s\nwant %s", c.in, got.Filter, c.text)
		}
		checkRoundTrip(t, got, ReadFromCommand, len(in))
	}
}

func TestFiltersRefuse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`null`, "filters: want [[column, operator, value], …], or a list of such lists"},
		{`{}`, "got an object"},
		{`"k = 5"`, `got "k = 5"`},
		{`[]`, "filters: it is empty; leave the key out for all rows"},
		{`[[]]`, "filters[0]: it is empty"},
		{`[["k","=",5],[]]`, "filters[1]: it is empty"},
		{`[[["k","=",5]],[]]`, "filters[1]: it is empty"},
		{`[[[]]]`, "filters[0][0]: want a name, dotted path or ordinal (0 or more) as the column, got a list"},
		{`["k","=",5]`, `filters[0]: want a list: filters are [[column, operator, value], …], or a list of such lists for "or", got "k"`},
		{`[{"k":5}]`, "filters[0]: want a list"},
		{`[["k","=",5],[["s","=",6]]]`, "filters[1]: terms and lists of terms are mixed"},
		{`[[["k","=",5]],["s","=",6]]`, "filters[1]: terms and lists of terms are mixed"},
		{`[[["k","=",5],"s"]]`, `filters[0][1]: want a term [column, operator, value], got "s"`},
		{`[[["k","=",5],["s"]]]`, "filters[0][1]: the operator is missing"},
		{`[[["k","=",5]],[["s","=",6],["t","~",7]]]`, `filters[1][1]: want an operator, one of =, !=, <, <=, >, >=, in, not in, is null, is not null, starts with, got "~"`},
		{`[[-1,"=",5]]`, "filters[0]: want a name, dotted path or ordinal (0 or more) as the column, got -1"},
		{`[[null,"=",5]]`, "as the column, got null"},
		{`[[1.5,"=",5]]`, "got 1.5"},
		{`[["k",5,5]]`, "filters[0]: want an operator"},
		{`[["k","IN",[5]]]`, `got "IN"`},
		{`[["k","===",5]]`, `got "==="`},
		{`[["k","="]]`, `filters[0]: the operator "=" has no value`},
		{`[["k","=",5,6]]`, `filters[0]: something follows; the operator "=" takes one value`},
		{`[["k","is null",null]]`, `filters[0]: something follows; the operator "is null" takes no value`},
		{`[["k","=",[5]]]`, `filters[0]: want one value for the operator "=", got a list; a list goes with "in"`},
		{`[["k","=",{"v":5}]]`, "filters[0]: want a number, a string, true, false or null, got an object"},
		{`[["k","in",5]]`, `filters[0]: want a list of values for the operator "in", got 5`},
		{`[["k","in"]]`, `filters[0]: the operator "in" has no value`},
		{`[[["k","in",[1,[2]]]]]`, "filters[0][0][1]: want a number"},
		{`[["k","not in",[1],2]]`, `takes one value`},
		{`[["k","starts with",5]]`, `filters[0]: want a string for the operator "starts with", got 5`},
		{`[["k","starts with",null]]`, "got null"},
		{`[["k","starts with",["a"]]]`, "got a list"},
		{`[["k","=",` + strings.Repeat("9", MaxNumberBytes+1) + `]]`, "filters[0]: a number has 1101 bytes; at most 1100"},
		{`[["k","=",01]]`, "filters[0]: something follows"},
		{`[["k","=",NaN]]`, "not JSON"},
		{`[["k","=",5}]`, "not JSON"},
		{`[["k" "=",5]]`, "not JSON"},
		{`[["k"`, "filters[0]: the operator is missing"},
		{`[["k","in",[1,2`, "not JSON"},
		{`[[["k","=",5]`, "not JSON"},
		{`[["k","=",5]`, "not JSON"},
	} {
		_, err := ReadFromCommand([]byte(`{"dataset":"x","filters":` + c.in + `}`))
		checkRefused(t, err, ErrBadCommand, c.want)
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.60s: a message of %d bytes", c.in, len(err.Error()))
		}
	}
}

func TestFiltersCutShort(t *testing.T) {
	for _, whole := range []string{
		`{"dataset":"x","filters":[["k","in",[1,null]],["s","is null"]]}`, `{"dataset":"x","filters":[[["k","=",5]],[["s","=",6]]]}`,
	} {
		for n := len(`{"dataset":"x","filters":`); n < len(whole); n++ {
			_, err := ReadFromCommand([]byte(whole[:n]))
			checkRefused(t, err, ErrBadCommand, "")
		}
	}
}

func TestFiltersTakeTheLongestList(t *testing.T) {
	for n, want := range map[int]string{99_999: "", 100_000: "filters[0][99999]: the filters have more than 100000 literals"} {
		in := `{"dataset":"x","filters":[["k","in",[0` + strings.Repeat(",1", n-1) + `]]]}`
		c, err := ReadFromCommand([]byte(in))
		if want != "" {
			checkRefused(t, err, ErrBadCommand, want)
		} else if err != nil || len(c.Filter[0][0].Values) != n {
			t.Errorf("%d values: %v", n, err)
		}
	}
}

func drawFilter(t *rapid.T) Filter {
	literal := rapid.Custom(func(t *rapid.T) Literal {
		switch LiteralKind(rapid.IntRange(0, 3).Draw(t, "kind")) {
		case LiteralBool:
			return boolean(rapid.Bool().Draw(t, "bool"))
		case LiteralNumber:
			return number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,9})?([eE][-+]?[0-9]{1,4})?`).Draw(t, "number"))
		case LiteralString:
			return text(rapid.String().Draw(t, "text"))
		}
		return Literal{}
	})
	term := rapid.Custom(func(t *rapid.T) Term {
		term := Term{Column: drawColumn(t), Op: rapid.SampledFrom(ops).Draw(t, "op")}
		switch term.Op.operands() {
		case operandsOne:
			term.Value = literal.Draw(t, "value")
		case operandsText:
			term.Value = text(rapid.String().Draw(t, "text"))
		case operandsList:
			term.Values = append([]Literal{}, rapid.SliceOfN(literal, 0, 4).Draw(t, "values")...)
		case operandsNone:
		}
		return term
	})
	return rapid.SliceOfN(rapid.SliceOfN(term, 1, 3), 1, 3).Draw(t, "filter")
}
