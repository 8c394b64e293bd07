package reload

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Every is how often files are looked at, if nothing else is said.
const Every = time.Second

// maxFile is the most bytes of a file.
const maxFile = 16 << 20

// Options say what to read, and how.
type Options[T any] struct {
	Files []string
	// Parse makes the value of the files' contents, in the order of the files. It keeps none of the slices.
	Parse func(contents [][]byte) (T, error)

	Every   time.Duration // between two looks; 0: [Every]
	Changed func(T)       // is told of each new value but the first; may be nil
	Failed  func(error)   // is told why there is no new value; may be nil
}

// Value is what files say. It belongs to who opened it, who closes it.
type Value[T any] struct {
	opts  Options[T]
	value atomic.Pointer[T]

	mu   sync.Mutex // of looks
	seen [sha256.Size]byte
	told string // why the last look failed

	stop  chan struct{}
	ended chan struct{}
}

// Open reads the files, and looks at them again from then on. The error is that of the first reading.
func Open[T any](o Options[T]) (*Value[T], error) {
	if o.Every == 0 {
		o.Every = Every
	}
	if o.Changed == nil {
		o.Changed = func(T) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	v := &Value[T]{opts: o, stop: make(chan struct{}), ended: make(chan struct{})}
	contents, err := v.read()
	if err != nil {
		return nil, err
	}
	first, err := o.Parse(contents)
	if err != nil {
		return nil, err
	}
	v.value.Store(&first)
	v.seen = digest(contents)
	go v.watch()
	return v, nil
}

// Get gives the value as it is now. It may be called by any number of goroutines.
func (v *Value[T]) Get() T { return *v.value.Load() }

// Look reads the files now, instead of within a second.
func (v *Value[T]) Look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	contents, err := v.read()
	if err != nil {
		if v.told != err.Error() {
			v.told = err.Error()
			v.opts.Failed(err)
		}
		return
	}
	v.told = ""
	seen := digest(contents)
	if seen == v.seen {
		return
	}
	v.seen = seen
	next, err := v.opts.Parse(contents)
	if err != nil {
		v.opts.Failed(err)
		return
	}
	v.value.Store(&next)
	v.opts.Changed(next)
}

// Close ends the looking, and waits for it. The value stays.
func (v *Value[T]) Close() {
	close(v.stop)
	<-v.ended
}

func (v *Value[T]) watch() {
	defer close(v.ended)
	ticks := time.NewTicker(v.opts.Every)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			v.Look()
		case <-v.stop:
			return
		}
	}
}

func (v *Value[T]) read() ([][]byte, error) {
	var contents [][]byte
	var errs []error
	for _, path := range v.opts.Files {
		b, err := readFile(path)
		contents, errs = append(contents, b), append(errs, err)
	}
	return contents, errors.Join(errs...)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s: it is larger than %d bytes", path, maxFile)
	}
	return b, nil
}

// digest tells contents apart, and where one ends and the next begins.
func digest(contents [][]byte) (out [sha256.Size]byte) {
	h := sha256.New()
	for _, b := range contents {
		part := sha256.Sum256(b)
		h.Write(part[:])
	}
	h.Sum(out[:0])
	return out
}
