package journal

import (
	"errors"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt/errors"
)

// Errors of this package. They are wrapped with the file's name; match them with errors.Is.
var (
	// ErrDamaged: the file is not what the journal wrote.
	ErrDamaged = errors.New("the durable catalogue is damaged")
	// ErrVersion: the file is of a version that this program does not know.
	ErrVersion = errors.New("unknown version")
	// ErrFull: there is no room on the disk, or a quota has been used up.
	ErrFull = errors.New("no space left on the disk")
	// ErrDoubt: the disk failed at the very end of a change, and again when the change was to be taken back. It counts as
	// failed, but after a crash it may be found as done. The next change that succeeds takes it back for good.
	ErrDoubt = errors.New("the disk does not say whether the change was written")
	// ErrTooLarge: a record is over MaxRecord.
	ErrTooLarge = errors.New("record is too large")
	// ErrClosed: the journal has been closed.
	ErrClosed = errors.New("the durable catalogue is closed")
)

// full tells whether an error says that the disk has no room. Of some, bbolt hands on the text only.
func full(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, bolt.ErrMaxSizeReached, ErrFull} {
		if errors.Is(err, e) || strings.Contains(err.Error(), e.Error()) {
			return true
		}
	}
	return false
}
