package reload

import (
	"cmp"
	"context"
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
	// Read gives the contents where they are not in files; nil: they are. Its context ends with the value.
	Read func(context.Context) ([][]byte, error)
	// Parse makes the value of the files' contents, in the order of the files. It keeps none of the slices.
	Parse func(contents [][]byte) (T, error)

	Every time.Duration // between two looks; 0: [Every]
	Retry time.Duration // after a look that failed; 0: as Every
	// Later lets the first reading fail: the value is T's zero until one succeeds.
	Later bool

	Changed func(T)     // is told of each new value but the first; may be nil
	Failed  func(error) // is told why there is no new value; may be nil
}

// Value is what files say. It belongs to who opened it, who closes it.
type Value[T any] struct {
	opts  Options[T]
	value atomic.Pointer[T]

	mu      sync.Mutex // of looks
	seen    [sha256.Size]byte
	useless bool   // what was seen could not be parsed
	told    string // why nothing could be read at the last look
	failed  bool   // the last look gave no value

	alive context.Context // until Close
	stop  context.CancelFunc
	ended chan struct{}
}

// Open reads the files, and looks at them again from then on. The error is that of the first reading.
func Open[T any](o Options[T]) (*Value[T], error) {
	o.Every = cmp.Or(o.Every, Every)
	o.Retry = cmp.Or(o.Retry, o.Every)
	if o.Changed == nil {
		o.Changed = func(T) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	v := &Value[T]{opts: o, ended: make(chan struct{})}
	v.alive, v.stop = context.WithCancel(context.Background())
	var first T
	contents, err := v.read()
	if err == nil {
		v.seen = digest(contents)
		first, err = o.Parse(contents)
		v.useless = err != nil
	} else {
		v.told = err.Error()
	}
	if err != nil {
		if !o.Later {
			v.stop()
			return nil, err
		}
		v.failed = true
		o.Failed(err)
		first = *new(T)
	}
	v.value.Store(&first)
	go v.watch()
	return v, nil
}

// Get gives the value as it is now. It may be called by any number of goroutines.
func (v *Value[T]) Get() T { return *v.value.Load() }

// Look reads now, instead of when it is time.
func (v *Value[T]) Look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	contents, err := v.read()
	if err != nil {
		v.failed = true
		if v.told != err.Error() && v.alive.Err() == nil {
			v.told = err.Error()
			v.opts.Failed(err)
		}
		return
	}
	v.told = ""
	seen := digest(contents)
	if seen == v.seen {
		v.failed = v.useless
		return
	}
	v.seen = seen
	next, err := v.opts.Parse(contents)
	v.useless, v.failed = err != nil, err != nil
	if err != nil {
		v.opts.Failed(err)
		return
	}
	v.value.Store(&next)
	v.opts.Changed(next)
}

// Close ends the looking, and waits for it. The value stays.
func (v *Value[T]) Close() {
	v.stop()
	<-v.ended
}

func (v *Value[T]) watch() {
	defer close(v.ended)
	for {
		next := time.NewTimer(v.pause())
		select {
		case <-next.C:
			v.Look()
		case <-v.alive.Done():
			next.Stop()
			return
		}
	}
}

// pause is how long until the next look.
func (v *Value[T]) pause() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed {
		return v.opts.Retry
	}
	return v.opts.Every
}

func (v *Value[T]) read() ([][]byte, error) {
	if v.opts.Read != nil {
		return v.opts.Read(v.alive)
	}
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
