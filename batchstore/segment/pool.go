package segment

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/flightcache/flightcache/arrowipc"
)

// Pool holds what files share: open descriptors, of which there are at most so many beside those that reads are using, and
// schemas, as thousands of files may have the same one. It is safe for concurrent use. Whoever has made it closes it after
// its files and writers.
type Pool struct {
	mu      sync.Mutex // guards all below, and the uses of every descriptor; it is not held while a file is touched
	open    *simplelru.LRU[*File, *descriptor]
	out     []*descriptor // put out of open just now, by a call that holds the mutex
	schemas map[string]*shared
	closed  bool
}

// descriptor is an open file, closed when it has been dropped and its last use has ended.
type descriptor struct {
	file    *os.File
	uses    int
	dropped bool // from the pool
}

// shared is a schema that files have, by the bytes of its message.
type shared struct {
	schema *arrowipc.Schema
	shape  *shape
	values map[int64]*shape // of dictionaries, by id
	files  int
}

// DefaultDescriptors is a good number of descriptors for a server that has other uses for them too.
const DefaultDescriptors = 256

// NewPool makes a pool that keeps at most so many descriptors open, at least one.
func NewPool(descriptors int) *Pool {
	p := &Pool{schemas: map[string]*shared{}}
	// The one error is that of a size below one.
	p.open, _ = simplelru.NewLRU(max(descriptors, 1), func(_ *File, d *descriptor) { p.out = append(p.out, d) })
	return p
}

// Close closes the descriptors that no read uses; the others are closed when their reads end. Files of the pool then give
// [ErrClosed]. It may be called more than once.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.open.Purge()
	idle := p.dropOut()
	p.mu.Unlock()
	return closeAll(idle)
}

// dropOut drops what was put out, and gives those that nobody uses, to be closed. The caller holds the mutex.
func (p *Pool) dropOut() (idle []*descriptor) {
	for _, d := range p.out {
		d.dropped = true
		if d.uses == 0 {
			idle = append(idle, d)
		}
	}
	p.out = p.out[:0]
	return idle
}

func closeAll(list []*descriptor) error {
	var errs []error
	for _, d := range list {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}

// acquire gives a descriptor of f to read from, until it is released.
func (p *Pool) acquire(f *File) (*descriptor, error) {
	if d, err := p.use(f, nil); d != nil || err != nil {
		return d, err
	}
	file, info, err := openRegular(f.path)
	if err != nil {
		if d, over := p.use(f, nil); d != nil || over != nil {
			return d, over // it may have been closed, and removed, meanwhile
		}
		return nil, err
	}
	if !os.SameFile(info, f.info) || info.Size() != f.info.Size() || f.foreign && !info.ModTime().Equal(f.info.ModTime()) {
		file.Close()
		return nil, damaged("it was replaced or changed after it had been opened")
	}
	return p.use(f, file)
}

// use counts a use of f's descriptor. It is opened, or, if there is one already, that is used and opened is closed. With
// neither there is none.
func (p *Pool) use(f *File, opened *os.File) (*descriptor, error) {
	p.mu.Lock()
	var idle []*descriptor
	d, err := p.useLocked(f, opened)
	if d != nil {
		d.uses++
		idle = p.dropOut()
	}
	p.mu.Unlock()
	if opened != nil && (d == nil || d.file != opened) {
		opened.Close()
	}
	_ = closeAll(idle) // they were only read: nothing is lost
	return d, err
}

func (p *Pool) useLocked(f *File, opened *os.File) (*descriptor, error) {
	if p.closed || f.closed {
		return nil, ErrClosed
	}
	d, ok := p.open.Get(f)
	if ok {
		return d, nil
	}
	if opened == nil {
		return nil, nil
	}
	d = &descriptor{file: opened}
	p.open.Add(f, d)
	return d, nil
}

// release ends a use.
func (p *Pool) release(d *descriptor) {
	p.mu.Lock()
	d.uses--
	last := d.dropped && d.uses == 0
	p.mu.Unlock()
	if last {
		d.file.Close()
	}
}

// forget drops a file's descriptor and its share of the schema. It reports false if that has been done already.
func (p *Pool) forget(f *File) (bool, error) {
	p.mu.Lock()
	if f.closed {
		p.mu.Unlock()
		return false, nil
	}
	f.closed = true
	p.open.Remove(f)
	idle := p.dropOut()
	p.unshare(f.shared)
	p.mu.Unlock()
	return true, closeAll(idle)
}

// share gives what files of this schema share, which its one use more must end with unshare.
func (p *Pool) share(s *arrowipc.Schema) *shared {
	p.mu.Lock()
	known := p.schemas[string(s.Message())]
	if known != nil {
		known.files++
	}
	p.mu.Unlock()
	if known != nil {
		return known
	}
	made := &shared{schema: s, shape: newShape(s.Layout), values: map[int64]*shape{}}
	for _, d := range s.Layout.Dictionaries {
		made.values[d.ID] = newShape(d.Values)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.schemas[string(s.Message())]; known != nil {
		made = known
	}
	made.files++
	p.schemas[string(s.Message())] = made
	return made
}

// unshare ends a use. The caller holds the mutex.
func (p *Pool) unshare(s *shared) {
	if s.files--; s.files == 0 {
		delete(p.schemas, string(s.schema.Message()))
	}
}

// openRegular opens a regular file to read it. It does not wait for a pipe's other end.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no regular file", ErrUnsupported)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
