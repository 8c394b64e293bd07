package descriptors

import (
	"encoding/json"
	"math"
	"strconv"
)

// Column is one entry of a read command's columns, as it was asked for. What it means, and whether it is unknown or
// ambiguous, depends on the dataset's schema and is found where reads are planned.
type Column struct {
	// Name is a column's name, or a dotted path such as "deep.n.v" to a child of a struct. Any string may be a column's
	// name, the empty one too, and dots may be part of it. Unused when IsOrdinal.
	Name string
	// Ordinal is the position of a top-level column, from 0. Unused unless IsOrdinal.
	Ordinal int
	// IsOrdinal tells which of the two it is.
	IsOrdinal bool
}

// String returns the column as the JSON of a command has it: a quoted name or path, or a number.
func (c Column) String() string { return string(c.append(nil)) }

func (c Column) append(buf []byte) []byte {
	if c.IsOrdinal {
		return strconv.AppendInt(buf, int64(c.Ordinal), 10)
	}
	return appendString(buf, c.Name)
}

// columns takes a list of columns. The result is never nil: an empty list asks for none.
func (d *decoder) columns(at string) ([]Column, error) {
	tok, err := d.token()
	if err != nil {
		return nil, err
	}
	if tok != json.Delim('[') {
		return nil, d.bad("%s: want a list of names, dotted paths or ordinals, got %s", at, describeToken(tok))
	}
	columns := []Column{}
	for d.more() {
		if len(columns) == d.limits.Columns {
			return nil, d.bad("%s: the list has more than %d entries; ask for fewer", at, d.limits.Columns)
		}
		tok, err := d.token()
		if err != nil {
			return nil, err
		}
		column, ok := columnOf(tok)
		if !ok {
			return nil, d.bad("%s[%d]: want a name, dotted path or ordinal (0 or more), got %s", at, len(columns), describeToken(tok))
		}
		columns = append(columns, column)
	}
	_, err = d.token()
	return columns, err
}

func columnOf(tok json.Token) (Column, bool) {
	if name, ok := tok.(string); ok {
		return Column{Name: name}, true
	}
	n, ok := exactInteger(tok)
	if !ok || n < 0 || n > math.MaxInt32 {
		return Column{}, false
	}
	return Column{Ordinal: int(n), IsOrdinal: true}, true
}
