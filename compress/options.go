package compress

import (
	"errors"
	"fmt"
	"runtime"
)

const (
	// DefaultZstdLevel is the level when none is asked for.
	DefaultZstdLevel = 1
	// MinZstdLevel is the lowest level that may be asked for.
	MinZstdLevel = 1
	// MaxZstdLevel is the highest.
	MaxZstdLevel = 22
	// DefaultRetainBytes holds every encoder but those of levels 10 and above.
	DefaultRetainBytes = 8 << 20
)

// Options configures a [Pool]. The zero value is valid and means the defaults.
type Options struct {
	// ZstdLevel is the level where a call gives 0: 1 to 22, 0 means [DefaultZstdLevel]. The encoder has four speeds,
	// for levels 1 and 2, 3 to 5, 6 to 9, and 10 and above; levels of one speed give the same bytes.
	ZstdLevel int

	// RetainBytes is the most memory that one idle context may keep; 0 means [DefaultRetainBytes]. A bigger context is
	// closed when it is given back, and made anew for the next use.
	RetainBytes int

	// Contexts is how many contexts of one kind (an encoder of one speed, an LZ4 encoder, a Zstandard decoder) may
	// exist at once; 0 means GOMAXPROCS. Callers beyond it wait.
	Contexts int
}

// Validate reports every value that is out of range, joined.
func (o Options) Validate() error {
	var errs []error
	if o.ZstdLevel != 0 {
		if _, err := speedOf(o.ZstdLevel); err != nil {
			errs = append(errs, fmt.Errorf("ZstdLevel: %w", err))
		}
	}
	if o.RetainBytes < 0 {
		errs = append(errs, fmt.Errorf("RetainBytes: %d is negative: use 0 for the default", o.RetainBytes))
	}
	if o.Contexts < 0 {
		errs = append(errs, fmt.Errorf("Contexts: %d is negative: use 0 for the default", o.Contexts))
	}
	return errors.Join(errs...)
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.ZstdLevel == 0 {
		o.ZstdLevel = DefaultZstdLevel
	}
	if o.RetainBytes == 0 {
		o.RetainBytes = DefaultRetainBytes
	}
	if o.Contexts == 0 {
		o.Contexts = runtime.GOMAXPROCS(0)
	}
	return o
}
