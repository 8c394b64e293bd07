package limits

import (
	"errors"
	"fmt"
)

// ErrLimit says that something is over a limit. The error names the limit and its option.
var ErrLimit = errors.New("over a limit")

// over is an ErrLimit of an option, with what to do.
func over(option, format string, args ...any) error {
	return fmt.Errorf("%w: %s (option --%s)", ErrLimit, fmt.Sprintf(format, args...), option)
}
