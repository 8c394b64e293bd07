package descriptors

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// The errors of this package. Each is wrapped with what was wrong and where; test with errors.Is. An error may wrap two
// of them: a command with a bad dataset name is ErrBadCommand and ErrBadName.
var (
	// ErrBadName says that a dataset name breaks the rules of [Name]. The text says which segment and which rule.
	ErrBadName = errors.New("bad dataset name")

	// ErrBadCommand says that a command or an action's body is not JSON, has an unknown, repeated or missing key, or a
	// value that its key does not take. The text says which.
	ErrBadCommand = errors.New("bad command")

	// ErrFlightSQL says that a descriptor's command, or an action, is one of Flight SQL, which this service does not speak. It always
	// comes with ErrBadCommand; it is told apart because such clients expect "unimplemented" rather than "invalid".
	ErrFlightSQL = errors.New("Flight SQL is not spoken here")

	// ErrBadTicket says that a ticket is empty, too long, damaged, or sealed by a server with another key.
	ErrBadTicket = errors.New("bad ticket")

	// ErrNotYet says that a key or an action is part of the grammar, but this server does not have it yet. It is never
	// wrapped together with another error of this package.
	ErrNotYet = errors.New("is not yet supported by this server")
)

// quoteMax bounds what an error message repeats of its input, in bytes.
const quoteMax = 48

// quote returns s as a Go string literal for an error message, cut when it is long. The result is always valid UTF-8.
func quote(s string) string {
	if len(s) <= quoteMax {
		return Legible(strconv.Quote(s)) // of what is invisible Quote escapes a part
	}
	cut := quoteMax
	for cut > quoteMax-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return Legible(strconv.Quote(s[:cut])) + "…"
}
