package descriptors

import (
	"errors"
	"fmt"
)

// Limits bound what a parser of this package takes from outside. The package's functions use [DefaultLimits]; the
// methods of Limits do the same work under other bounds.
type Limits struct {
	// CommandBytes is the longest command or action body, in bytes of JSON. An opaque ticket may be longer by a fixed
	// allowance for what it carries beside its command.
	CommandBytes int
	// Columns is the largest number of entries of "columns". It is a bound of its own because a column may be repeated:
	// two bytes of JSON ask for a whole column again.
	Columns int
	// Literals is the largest number of literals in "filters", where a term without a value counts
	// as one, and a list as one beside its values.
	Literals int
}

// DefaultLimits returns the bounds that a server has unless it is told otherwise: commands of 1 MiB that name 65,536
// columns and filter by 100,000 literals.
func DefaultLimits() Limits {
	return Limits{CommandBytes: 1 << 20, Columns: 1 << 16, Literals: 100_000}
}

// Validate reports every bound that is not positive, or nil.
func (l Limits) Validate() error {
	var errs []error
	if l.CommandBytes <= 0 {
		errs = append(errs, fmt.Errorf("descriptors: Limits.CommandBytes is %d; want at least 1", l.CommandBytes))
	}
	if l.Columns <= 0 {
		errs = append(errs, fmt.Errorf("descriptors: Limits.Columns is %d; want at least 1", l.Columns))
	}
	if l.Literals <= 0 {
		errs = append(errs, fmt.Errorf("descriptors: Limits.Literals is %d; want at least 1", l.Literals))
	}
	return errors.Join(errs...)
}
