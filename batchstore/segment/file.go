package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/flightcache/flightcache/arrowipc"
)

// File is one Arrow IPC file: a segment, or one of another program. It keeps no descriptor of its own, and in memory the
// places and checksums of its batches only. It is safe for concurrent use; whoever has it closes it.
type File struct {
	pool   *Pool
	path   string
	info   os.FileInfo // as of when it was written or opened
	closed bool        // guarded by the pool's mutex

	limits       arrowipc.Limits
	shared       *shared
	foreign      bool
	footer       place
	dictionaries []*message
	batches      []*message

	facts  atomic.Pointer[blob] // nil when they are not in memory
	synced atomic.Bool
}

// place is a part of a file that is read as a whole.
type place struct {
	offset   int64
	length   int
	checksum uint32
}

// message is a batch or a dictionary in a file.
type message struct {
	offset   int64 // of its metadata
	body     int64 // bytes, without the padding of the file
	header   int32 // bytes of its metadata; the body is behind it
	checksum uint32
	runs     []uint32        // checksums of the columns' runs; nil in a file of another program
	trusted  []atomic.Uint64 // of another program: such checksums, as they are noted; 0 for none
	id       int64           // of a dictionary
	uid      string          // of a dictionary
}

// sum is the checksum of a column's run, if it is known.
func (m *message) sum(column int) (sum uint32, known bool) {
	if m.runs != nil {
		return m.runs[column], true
	}
	x := m.trusted[column].Load()
	return uint32(x), x&trustedMark != 0
}

// trust notes the checksum of a column's run.
func (m *message) trust(column int, run []byte) {
	if m.runs == nil {
		m.trusted[column].CompareAndSwap(0, trustedMark|uint64(checksum(run)))
	}
}

// trustedMark tells a checksum that is noted from none.
const trustedMark = 1 << 32

// Schema is the schema of the file's batches: of a segment, that it was created with. Files of the same schema share it. It
// stays valid after Close.
func (f *File) Schema() *arrowipc.Schema { return f.shared.schema }

// Foreign says that another program wrote the file: its batches have no checksums, no statistics and no decoded sizes, need
// not lie in order, and were never checked.
func (f *File) Foreign() bool { return f.foreign }

// Batches is the number of record batches, Dictionaries that of dictionaries.
func (f *File) Batches() int { return len(f.batches) }

// Dictionaries is the number of dictionaries: of a segment with batches, one of each id of the schema.
func (f *File) Dictionaries() int { return len(f.dictionaries) }

// Size is the file's bytes.
func (f *File) Size() int64 { return f.info.Size() }

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Bytes is about what the file takes in memory, without the schema and what [File.Trim] gives back.
func (f *File) Bytes() int64 {
	n := int64(unsafe.Sizeof(*f)) + int64(len(f.path))
	for _, list := range [...][]*message{f.dictionaries, f.batches} {
		for _, m := range list {
			n += int64(unsafe.Sizeof(m)+unsafe.Sizeof(*m)) + int64(len(m.uid)+4*len(m.runs)+8*len(m.trusted))
		}
	}
	return n
}

// Trim gives the memory of facts back that were read and are not needed any more. They are read again when they are.
func (f *File) Trim() { f.facts.Store(nil) }

// Sync returns when the file and its name are on disk. It costs nothing if they are known to be.
func (f *File) Sync() error {
	if f.synced.Load() {
		return nil
	}
	d, err := f.pool.acquire(f)
	if err != nil {
		return fileError(f.path, readError(err))
	}
	defer f.pool.release(d)
	if err := errors.Join(d.file.Sync(), syncFolder(f.path)); err != nil {
		return fileError(f.path, err)
	}
	f.synced.Store(true)
	return nil
}

// Close ends the use of the file; it stays where it is. Reads that go on end as they would; later ones give [ErrClosed].
// It may be called more than once.
func (f *File) Close() error {
	_, err := f.pool.forget(f)
	return err
}

// Remove closes the file and removes it. Reads that go on end as they would. It is no error if it is gone already.
func (f *File) Remove() error {
	f.Close()
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(f.path, err)
	}
	return nil
}

// read fills dst from an offset of the file. Its errors do not name the file yet.
func (f *File) read(dst []byte, offset int64) error {
	d, err := f.pool.acquire(f)
	if err != nil {
		return readError(err)
	}
	defer f.pool.release(d)
	if _, err := d.file.ReadAt(dst, offset); err != nil {
		return readError(err)
	}
	return nil
}

// in says in which file, and in which of its batches, an error came up.
func (f *File) in(what string, i int, err error) error {
	return fileError(f.path, fmt.Errorf("%s %d: %w", what, i, err))
}
