package arrowipc

import (
	"errors"
	"fmt"
)

// The kinds of refusal. Every error of this package wraps one of them.
var (
	// ErrMalformed: the bytes are no valid message, or its counts and ranges contradict each other. The sender is at
	// fault.
	ErrMalformed = errors.New("malformed Arrow IPC message")

	// ErrLimit: the message is over one of [Limits]; the error names it.
	ErrLimit = errors.New("Arrow IPC message over a limit")

	// Of the limits, those that are each an ErrLimit of its own: Fields, Depth and MetadataBytes.
	ErrFields   = errors.New("limit of fields")
	ErrDepth    = errors.New("limit of nesting")
	ErrMetadata = errors.New("limit of metadata")

	// ErrUnsupported: the message may be valid Arrow but uses what this package does not handle, such as a type of a
	// later format version, a big-endian schema or another codec.
	ErrUnsupported = errors.New("unsupported Arrow IPC message")

	// ErrPick: a [Pick] names a column that the schema does not have, or children of what is no struct. The caller is
	// at fault.
	ErrPick = errors.New("invalid choice of columns")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// overLimit says that there is this much of something, while less is allowed.
func overLimit(allowed, got int, what string) error {
	return fmt.Errorf("%w: %d %s; the limit is %d", ErrLimit, got, what, allowed)
}

// limited is an ErrLimit that is also one of a limit.
type limited struct {
	error
	of error
}

func (l limited) Is(err error) bool { return err == l.of }
func (l limited) Unwrap() error     { return l.error }
