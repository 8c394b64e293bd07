package batchstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flightcache/flightcache/batchstore/segment"
)

// files is the store's folder, and what decides which bodies lie there only. A nil one keeps everything in memory. One
// without a folder has files only that are served in place.
type files struct {
	*tier
	store   *Store
	pool    *segment.Pool
	dir     string
	spill   bool  // bodies that have no file may be given one, to make room
	quota   int64 // bytes of all files; 0: no limit
	segment int64 // bytes of bodies in one file, about
	prefix  string

	puts    atomic.Uint64 // numbers puts, in the names of files
	bytes   atomic.Int64  // of all files
	count   atomic.Int64  // of files
	spilled atomic.Int64  // bytes of bodies that are not in memory
	// How many bodies have left memory so far, of these how many because Unload said so, and how many came back.
	left, unloaded, returned atomic.Int64
	keep                     atomic.Bool // files outlive their bodies: the store is about to close
	flights                  singleflight.Group

	spiller spiller
	report  func(error)
}

// extension is that of the files; they are read by anything that reads Arrow IPC files.
const extension = ".arrow"

func newFiles(s *Store, o Options) (*files, error) {
	if o.Dir == "" && !o.Load {
		return nil, nil
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFiles, err)
		}
	}
	var random [4]byte
	rand.Read(random[:]) // never fails, by its documentation
	f := &files{
		tier: newTier(hotShare(o.Memory)), store: s, pool: segment.NewPool(segment.DefaultDescriptors), dir: o.Dir, spill: o.Spill, quota: o.DiskBytes, segment: o.SegmentBytes,
		// The time first: names of later runs sort behind those of earlier ones.
		prefix: time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(random[:]),
		report: o.Report,
	}
	f.spiller.wake, f.spiller.ingests = make(chan struct{}, 1), map[*Ingest]struct{}{}
	return f, nil
}

// hasFolder tells whether the store may write files of its own.
func (f *files) hasFolder() bool { return f != nil && f.dir != "" }

// errNoFolder is what a store without a folder says to whoever wants files of it.
var errNoFolder = fmt.Errorf("%w: the server has no data folder (option --data-dir)", ErrFiles)

func (f *files) close() error {
	if f == nil {
		return nil
	}
	return f.pool.Close()
}

// hotShare is how many bytes of a budget hot bodies may take.
func hotShare(memory int64) int64 {
	if memory == 0 {
		return 1 << 40
	}
	return memory / 2
}

// nextPut numbers a put, or what else makes files in order.
func (f *files) nextPut() uint64 { return f.puts.Add(1) }

// fileName sorts by put, then by the order of a put's rows.
func (f *files) fileName(put uint64, number int) string {
	return fmt.Sprintf("%s-%010d-%06d%s", f.prefix, put, number, extension)
}

// path gives where a file of this name lies. Names come from a catalogue on disk: one that leads elsewhere is refused.
func (f *files) path(name string) (string, error) {
	if !f.hasFolder() {
		return "", errNoFolder
	}
	if !strings.HasSuffix(name, extension) || filepath.Base(name) != name || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("%w: %q is no name of a file in it", ErrFiles, name)
	}
	return filepath.Join(f.dir, name), nil
}

// take reserves space for a file, or says why there is none.
func (f *files) take(bytes int64) error {
	if now := f.bytes.Add(bytes); f.quota > 0 && now > f.quota {
		f.bytes.Add(-bytes)
		return fmt.Errorf("%w: %d of %d bytes are taken, %d more are wanted; drop datasets, or raise --disk",
			ErrNoSpace, now-bytes, f.quota, bytes)
	}
	return nil
}

// taken corrects what take reserved, and counts files.
func (f *files) taken(bytes, count int64) {
	f.bytes.Add(bytes)
	f.count.Add(count)
	if bytes < 0 {
		f.spaceCame()
	}
}

// problem reports what went wrong behind everybody's back.
func (f *files) problem(err error) {
	if f.report != nil {
		f.report(err)
	}
}

// touch tells of a read of a body in memory.
func (f *files) touch(b *Batch) {
	if f != nil {
		f.tier.touch(b)
	}
}

// forget tells that a batch is gone.
func (f *files) forget(b *Batch) {
	if f != nil {
		f.tier.forget(b)
	}
}

// Sweep removes the files of the store's folder for which keep does not hold, and what a crash left half-written. It gives
// how many there were. It is called before the first put.
func (s *Store) Sweep(keep func(segment string) bool) (removed int, err error) {
	f := s.files
	if !f.hasFolder() {
		return 0, nil
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	var errs []error
	for _, e := range entries {
		ours := strings.HasSuffix(strings.TrimSuffix(e.Name(), segment.TemporarySuffix), extension)
		if e.IsDir() || !ours || keep(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(f.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// KeepFiles sets whether files stay when their last batch goes. They do not, but while a server starts or stops: what it has
// not taken up yet, or lets go of, is needed still.
func (s *Store) KeepFiles(keep bool) {
	if s.files != nil {
		s.files.keep.Store(keep)
	}
}
