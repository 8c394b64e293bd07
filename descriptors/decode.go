package descriptors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder reads one JSON object token by token and is stricter than encoding/json: keys are exact, strings are valid
// Unicode, numbers are whole, and nothing follows the object. It never skips a value and never builds a tree: a key's
// parser asks for the type that it wants, and any other ends the parse. So an input nests no deeper than the grammar.
type decoder struct {
	json   *json.Decoder
	what   string
	limits Limits
}

// newDecoder returns a decoder that stands behind the opening brace of raw.
func newDecoder(raw []byte, what string, limits Limits) (*decoder, error) {
	d := &decoder{json: json.NewDecoder(bytes.NewReader(raw)), what: what, limits: limits}
	d.json.UseNumber()
	if len(raw) > limits.CommandBytes {
		return nil, d.bad("it has %d bytes; at most %d are allowed", len(raw), limits.CommandBytes)
	}
	// encoding/json would replace what is not Unicode by U+FFFD, and so let two different inputs mean the same name.
	if !utf8.Valid(raw) {
		return nil, d.bad("it is not valid UTF-8")
	}
	if at := loneSurrogate(raw); at >= 0 {
		return nil, d.bad("the escape at byte %d is half of a surrogate pair; write the whole character", at)
	}
	tok, err := d.token()
	if err != nil {
		return nil, err
	}
	if tok != json.Delim('{') {
		return nil, d.bad("want a JSON object, got %s", describeToken(tok))
	}
	return d, nil
}

// loneSurrogate returns where in the JSON text raw a \u escape stands for half of a surrogate pair, or -1.
func loneSurrogate(raw []byte) int {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := escapedUnit(raw[i:])
		switch {
		case unit < 0xD800 || unit > 0xDFFF:
			i++ // past the escaped character, which may be a backslash
		case unit < 0xDC00 && isLowSurrogate(escapedUnit(raw[i+6:])):
			i += 11
		default:
			return i
		}
	}
	return -1
}

func isLowSurrogate(unit int) bool { return unit >= 0xDC00 && unit <= 0xDFFF }

// escapedUnit returns the UTF-16 code unit of the \uXXXX at the start of b, or -1 if there is none.
func escapedUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}

// bad returns an ErrBadCommand about the object as a whole.
func (d *decoder) bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrBadCommand, d.what, fmt.Errorf(format, args...))
}

// token returns the next token, or ErrBadCommand if the text is not JSON.
func (d *decoder) token() (json.Token, error) {
	tok, err := d.json.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, d.bad("the JSON ends too early, at byte %d", d.json.InputOffset())
	}
	if err != nil {
		return nil, d.bad("it is not JSON: %s, near byte %d", err.Error(), d.json.InputOffset())
	}
	return tok, nil
}

// more says whether the object or list has another member. It is true at a syntax error that token then reports.
func (d *decoder) more() bool { return d.json.More() }

// key returns the next key of the object.
func (d *decoder) key() (string, error) {
	tok, err := d.token()
	if err != nil {
		return "", err
	}
	name, _ := tok.(string) // encoding/json takes nothing else where a key stands
	return name, nil
}

// end takes the closing brace and checks that nothing follows.
func (d *decoder) end() error {
	if _, err := d.token(); err != nil {
		return err
	}
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return d.bad("something follows the object at byte %d; send one object", d.json.InputOffset())
	}
	return nil
}

// text takes a string, which may be empty.
func (d *decoder) text(at string) (string, error) {
	tok, err := d.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", d.bad("%s: want a string, got %s", at, describeToken(tok))
	}
	return s, nil
}

// choice takes one of the given strings.
func (d *decoder) choice(at string, allowed ...string) (string, error) {
	tok, err := d.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	for _, a := range allowed {
		if ok && s == a {
			return s, nil
		}
	}
	return "", d.bad("%s: want one of %s, got %s", at, strings.Join(allowed, ", "), describeToken(tok))
}

// boolean takes true or false.
func (d *decoder) boolean(at string) (bool, error) {
	tok, err := d.token()
	if err != nil {
		return false, err
	}
	b, ok := tok.(bool)
	if !ok {
		return false, d.bad("%s: want true or false, got %s", at, describeToken(tok))
	}
	return b, nil
}

// integer takes a whole number from lo to hi, both included.
func (d *decoder) integer(at string, lo, hi int64) (int64, error) {
	tok, err := d.token()
	if err != nil {
		return 0, err
	}
	n, ok := exactInteger(tok)
	if !ok || n < lo || n > hi {
		return 0, d.bad("%s: want a whole number from %d to %d, got %s", at, lo, hi, describeToken(tok))
	}
	return n, nil
}

// exactInteger returns the value of a number that is written as an integer. 1.0 and 1e3 are not: whether they are whole
// would depend on how far a reader computes.
func exactInteger(tok json.Token) (int64, bool) {
	number, ok := tok.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	return n, err == nil
}

// name takes a dataset name in its written form.
func (d *decoder) name(at string) (Name, error) {
	s, err := d.text(at)
	if err != nil {
		return "", err
	}
	name, err := ParseNameString(s)
	if err != nil {
		return "", d.bad("%s: %w", at, err)
	}
	return name, nil
}

// describeToken says what a token is, for a message that wanted another.
func describeToken(tok json.Token) string {
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return quote(t)
	case json.Number:
		if len(t) > quoteMax {
			return string(t[:quoteMax]) + "…"
		}
		return string(t)
	case bool:
		return strconv.FormatBool(t)
	default:
		return "null"
	}
}
