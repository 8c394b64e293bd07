package journal

import (
	"errors"
	"io/fs"
	"os"
)

// reserveBytes are more than a deletion takes.
const reserveBytes = 1 << 20

// reserve is a file that takes room on the disk so that deletions have some when it is full.
type reserve struct {
	path string
	gone bool
}

// fill makes the file. Where that fails there is no reserve; it is tried again after the next change.
func (r *reserve) fill() {
	r.gone = r.write() != nil
	if r.gone {
		os.Remove(r.path)
	}
}

func (r *reserve) write() error {
	if info, err := os.Stat(r.path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, reserveBytes))
	return errors.Join(err, f.Sync(), f.Close())
}

// free gives the room back and tells whether there was some.
func (r *reserve) free() bool {
	if r.gone {
		return false
	}
	err := os.Remove(r.path)
	r.gone = err == nil || errors.Is(err, fs.ErrNotExist)
	return err == nil
}
