package journal

import (
	"fmt"
	"runtime/debug"
)

// guard calls f and turns a panic into an error: bbolt panics on pages that are not what they should be, and its mapped
// memory faults where the file was cut or the disk fails. What bbolt had locked then stays so.
func guard(f func() error) (err error, fell bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err, fell = fmt.Errorf("%w: %v", ErrDamaged, r), true
		}
	}()
	return f(), false
}
