package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The data folder has a file that says its version, a file that the one server that uses it has locked, the durable
// catalogue, and a folder of segments. FORMAT.md has it all.
const (
	dataVersion    = "1"
	formatFile     = "FORMAT"
	formatPrefix   = "flightcache data folder, version "
	lockFile       = "LOCK"
	catalogFile    = "catalog.db"
	segmentsFolder = "segments"
)

// dataDir is a data folder that this process has for itself.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir locks a data folder and checks its version. A folder that is absent or empty becomes one.
func openDataDir(path string) (d *dataDir, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("--data-dir %s: %w", path, err)
		}
	}()
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := syncFolder(filepath.Dir(path)); err != nil { // or the folder might go with the power
		return nil, err
	}
	if err := checkForeign(path); err != nil {
		return nil, err
	}
	d = &dataDir{path: path}
	if d.lock, err = os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := d.take(); err != nil {
		d.lock.Close()
		return nil, err
	}
	return d, nil
}

// checkForeign refuses a folder with files that are not a server's: none of them would be touched, but it is hardly meant.
func checkForeign(path string) error {
	if _, err := os.Lstat(filepath.Join(path, formatFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case lockFile, formatFile + ".tmp", "lost+found": // a first start that was cut off; a file system of its own
		default:
			return fmt.Errorf("there is %s, but no file %s: this is no data folder; give an empty one", e.Name(), formatFile)
		}
	}
	return nil
}

// take locks the folder, checks its version, and makes what is missing in it.
func (d *dataDir) take() error {
	// The lock ends with the file's closing, or with the process.
	if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		holder := make([]byte, 20)
		n, _ := d.lock.ReadAt(holder, 0)
		return fmt.Errorf("the server of process %s uses it; stop that one, or give another folder", strings.TrimSpace(string(holder[:n])))
	}
	// Who holds it is for the message above only; a full disk does without.
	if d.lock.Truncate(0) == nil {
		_ = writeAt(d.lock, strconv.Itoa(os.Getpid())+"\n")
	}
	text, err := os.ReadFile(filepath.Join(d.path, formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := d.found(); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		version, is := strings.CutPrefix(strings.TrimSpace(string(text)), formatPrefix)
		if !is || version != dataVersion {
			return fmt.Errorf("its file %s says %q, and this program knows version %s only; use the program that wrote it", formatFile, beginning(text), dataVersion)
		}
	}
	if err := os.Mkdir(d.segments(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := d.checkComplete(); err != nil {
		return err
	}
	return syncFolder(d.path)
}

// checkComplete refuses a folder whose catalogue is gone: a new one would know of no segment, and none would stay.
func (d *dataDir) checkComplete() error {
	if _, err := os.Lstat(d.catalog()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(d.segments())
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is missing, but there are files in %s; bring it back, or move those away", catalogFile, segmentsFolder)
	}
	return err
}

// found writes the version: beside its place first, so that it is there whole or not at all.
func (d *dataDir) found() error {
	beside := filepath.Join(d.path, formatFile+".tmp")
	f, err := os.Create(beside)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAt(f, formatPrefix+dataVersion+"\n"), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(beside, filepath.Join(d.path, formatFile))
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// beginning is the front of a text, enough to see what it is.
func beginning(text []byte) string { return string(text[:min(len(text), 80)]) }

// syncFolder has the disk keep what is in a folder.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// segmentsOf is where a data folder has its segments.
func segmentsOf(path string) string { return filepath.Join(path, segmentsFolder) }

func (d *dataDir) segments() string { return segmentsOf(d.path) }
func (d *dataDir) catalog() string  { return filepath.Join(d.path, catalogFile) }

// close lets others have the folder.
func (d *dataDir) close() error {
	if d == nil {
		return nil
	}
	return d.lock.Close() // the lock goes with the file; the file stays, or two could lock two of them
}
