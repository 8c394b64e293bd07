package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/flightcache/flightcache/arrowipc"
)

// Errors of this package. They name the file, and the batch where there is one; match them with errors.Is. Errors of the
// system, as ENOSPC, are wrapped.
var (
	// ErrDamaged: a file is not what was written: it was cut short, changed or replaced, or cannot be read any more.
	ErrDamaged = errors.New("damaged file")
	// ErrUnsupported: a file of another program uses what this package does not handle, such as delta dictionaries.
	ErrUnsupported = errors.New("unsupported file")
	// ErrFull: a segment has no room for the facts of one batch more. Finish it, and begin another.
	ErrFull = errors.New("segment is full")
	// ErrClosed: the file or the pool has been closed.
	ErrClosed = errors.New("file is closed")
)

// fileError says in which file an error came up.
func fileError(path string, err error) error {
	return fmt.Errorf("file %s: %w", filepath.Base(path), withoutPath(err))
}

// withoutPath is an error of the system without the file's path: messages may go to clients, who need not know the folder.
func withoutPath(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return fmt.Errorf("%s: %w", of.Op, of.Err)
	}
	return err
}

// readError makes what cannot be read any more damage.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("it is shorter than it was")
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", ErrDamaged, withoutPath(err))
	}
	return withoutPath(err)
}

// damaged says what is wrong with a file. The kinds of arrowipc's errors are left out: they blame who sent a message.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// refused is an error of arrowipc about a file: of a segment it is damage; of another program's, what that uses may not be
// supported.
func refused(foreign bool, what string, err error) error {
	if foreign && (errors.Is(err, arrowipc.ErrUnsupported) || errors.Is(err, arrowipc.ErrLimit)) {
		return fmt.Errorf("%w: %s: %s", ErrUnsupported, what, err.Error())
	}
	return damaged("%s: %v", what, err)
}
