package descriptors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// wantFilter is what filters may be, for messages.
const wantFilter = `[[column, operator, value], …], or a list of such lists for "or"`

// filterParser takes the value of "filters" token by token. Its functions nest as deep as the grammar: filter,
// conjunction, term, list.
type filterParser struct {
	*decoder
	literals int // so far
}

func parseFilters(d *decoder, at string, c *ReadCommand) (err error) {
	p := filterParser{decoder: d}
	c.Filter, err = p.filter(at)
	return err
}

// filter takes a list of terms or a list of lists of terms: the first thing inside the second bracket tells which.
func (p *filterParser) filter(at string) (Filter, error) {
	if err := p.open(at, wantFilter); err != nil {
		return nil, err
	}
	var f Filter
	var flat []Term
	for n := 0; p.more(); n++ {
		place := index(at, n)
		if err := p.open(place, "a list: filters are "+wantFilter); err != nil {
			return nil, err
		}
		if !p.more() {
			return nil, p.bad("%s: it is empty; filters are %s", place, wantFilter)
		}
		tok, err := p.token()
		if err != nil {
			return nil, err
		}
		nested := tok == json.Delim('[')
		if n > 0 && nested == (flat != nil) {
			return nil, p.bad("%s: terms and lists of terms are mixed; filters are %s", place, wantFilter)
		}
		if nested {
			terms, err := p.conjunction(place)
			if err != nil {
				return nil, err
			}
			f = append(f, terms)
			continue
		}
		term, err := p.term(place, tok)
		if err != nil {
			return nil, err
		}
		flat = append(flat, term)
	}
	if flat != nil {
		f = Filter{flat}
	}
	if f == nil {
		return nil, p.bad("%s: it is empty; leave the key out for all rows", at)
	}
	return f, p.close()
}

// conjunction takes the terms of a list, behind the opening bracket of the first.
func (p *filterParser) conjunction(at string) ([]Term, error) {
	var terms []Term
	for {
		place := index(at, len(terms))
		tok, err := p.token()
		if err != nil {
			return nil, err
		}
		term, err := p.term(place, tok)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
		if !p.more() {
			return terms, p.close()
		}
		if err := p.open(index(at, len(terms)), "a term [column, operator, value]"); err != nil {
			return nil, err
		}
	}
}

// term takes the rest of a term, whose first element is the token column.
func (p *filterParser) term(at string, column json.Token) (t Term, err error) {
	var ok bool
	if t.Column, ok = columnOf(column); !ok {
		return Term{}, p.bad("%s: want a name, dotted path or ordinal (0 or more) as the column, got %s", at, describeToken(column))
	}
	if t.Op, err = p.operator(at); err != nil {
		return Term{}, err
	}
	if t.Op.operands() == operandsNone {
		if err := p.count(at); err != nil {
			return Term{}, err
		}
		return t, p.last(at, t.Op, "no value")
	}
	if !p.more() {
		return Term{}, p.bad("%s: the operator %q has no value; write [column, operator, value]", at, t.Op)
	}
	switch t.Op.operands() {
	case operandsList:
		t.Values, err = p.list(at, t.Op)
	default:
		t.Value, err = p.scalar(at, t.Op)
	}
	if err != nil {
		return Term{}, err
	}
	return t, p.last(at, t.Op, "one value")
}

// operator takes a term's operator.
func (p *filterParser) operator(at string) (Op, error) {
	if !p.more() {
		return "", p.bad("%s: the operator is missing; write [column, operator, value]", at)
	}
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	text, _ := tok.(string)
	if text == "==" {
		return OpEqual, nil
	}
	if op := Op(text); slices.Contains(ops, op) {
		return op, nil
	}
	return "", p.bad("%s: want an operator, one of %s, got %s", at, listOps(), describeToken(tok))
}

// last takes a term's closing bracket.
func (p *filterParser) last(at string, op Op, takes string) error {
	if p.more() {
		return p.bad("%s: something follows; the operator %q takes %s", at, op, takes)
	}
	return p.close()
}

// list takes the values of "in" and "not in".
func (p *filterParser) list(at string, op Op) ([]Literal, error) {
	if err := p.open(at, fmt.Sprintf("a list of values for the operator %q", op)); err != nil {
		return nil, err
	}
	if err := p.count(at); err != nil { // the term itself, for the list may be empty
		return nil, err
	}
	values := []Literal{}
	for p.more() {
		tok, err := p.token()
		if err != nil {
			return nil, err
		}
		v, err := p.literal(index(at, len(values)), tok)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, p.close()
}

// scalar takes the value of an operator that has one.
func (p *filterParser) scalar(at string, op Op) (Literal, error) {
	tok, err := p.token()
	if err != nil {
		return Literal{}, err
	}
	if _, ok := tok.(string); !ok && op.operands() == operandsText {
		return Literal{}, p.bad("%s: want a string for the operator %q, got %s", at, op, describeToken(tok))
	}
	if tok == json.Delim('[') {
		return Literal{}, p.bad("%s: want one value for the operator %q, got a list; a list goes with %q", at, op, OpIn)
	}
	return p.literal(at, tok)
}

// literal returns the literal of a token, counted.
func (p *filterParser) literal(at string, tok json.Token) (Literal, error) {
	if err := p.count(at); err != nil {
		return Literal{}, err
	}
	switch v := tok.(type) {
	case nil:
		return Literal{}, nil
	case bool:
		return Literal{Kind: LiteralBool, Bool: v}, nil
	case string:
		return Literal{Kind: LiteralString, Text: v}, nil
	case json.Number:
		if len(v) > MaxNumberBytes {
			return Literal{}, p.bad("%s: a number has %d bytes; at most %d are allowed", at, len(v), MaxNumberBytes)
		}
		return Literal{Kind: LiteralNumber, Text: v.String()}, nil
	}
	return Literal{}, p.bad("%s: want a number, a string, true, false or null, got %s", at, describeToken(tok))
}

// count counts one literal against the limit. A term without literals is counted as one.
func (p *filterParser) count(at string) error {
	if p.literals++; p.literals > p.limits.Literals {
		return p.bad("%s: the filters have more than %d literals; filter by fewer values", at, p.limits.Literals)
	}
	return nil
}

// open takes the opening bracket of what is wanted.
func (d *decoder) open(at, want string) error {
	tok, err := d.token()
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return d.bad("%s: want %s, got %s", at, want, describeToken(tok))
	}
	return nil
}

// close takes a closing bracket, which is next when more is false and the text is JSON.
func (d *decoder) close() error {
	_, err := d.token()
	return err
}

// index returns the place of a list's element.
func index(at string, n int) string { return fmt.Sprintf("%s[%d]", at, n) }

func listOps() string {
	var names []string
	for _, op := range ops {
		names = append(names, string(op))
	}
	return strings.Join(names, ", ")
}
