package predicate

import (
	"errors"
	"unicode/utf8"
)

// The errors of this package. Their messages say which column, type and literal did not fit.
var (
	// ErrType means that a column's type cannot be compared with the literal, or in this way.
	ErrType = errors.New("predicate: types do not fit")
	// ErrLiteral means that a literal is not a value of any type, or not of the one that is needed.
	ErrLiteral = errors.New("predicate: bad literal")
	// ErrColumn means that a column is not there, or not the only one of its name.
	ErrColumn = errors.New("predicate: no such column")
	// ErrUnsupported means that a predicate has a meaning that is not implemented.
	ErrUnsupported = errors.New("predicate: not supported")
	// ErrLimit means that a predicate is too large.
	ErrLimit = errors.New("predicate: too large")
)

// Limits of a predicate.
const (
	MaxDepth = 256     // nodes from the root to a leaf
	MaxNodes = 20_000  // nodes
	MaxList  = 100_000 // literals of all lists together
	// maxRounded is how many literals are compared with casts that round, each of which takes a search.
	maxRounded = 1000
	maxScale   = 128 // of decimals, either way
)

// clip shortens a text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
