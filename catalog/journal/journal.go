package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// The file's buckets, and the one key of the last.
var (
	datasetsBucket = []byte("datasets") // record by name
	putsBucket     = []byte("puts")     // record by its number, 8 bytes, in order of the commits
	stateBucket    = []byte("state")
	digestKey      = []byte("digest")
)

// Options configures a [Journal]. The zero value is ready to use.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	KeptPuts    int           // ids of puts that are kept at most; default 10,000
	KeptPutTime time.Duration // how long they are kept; default 24 h

	maxSize int // of the file, in bytes; 0 is no bound. Only for tests: past it the disk is as good as full
}

// Defaults of [Options].
const (
	DefaultKeptPuts    = 10_000
	DefaultKeptPutTime = 24 * time.Hour
)

// Journal is one catalogue file that is open.
type Journal struct {
	opts    Options
	path    string
	db      *bbolt.DB
	reserve reserve
	commit  func(*bbolt.Tx) error // (*bbolt.Tx).Commit, but in tests

	// Only who leads writes these.
	digest digest
	doubt  undo // what the next change begins with, to take back one that ErrDoubt was told of; nil: none

	mu      sync.Mutex // guards the rest; not held while anything is written
	queue   []*change
	leading bool
	failed  error // that every call is answered with
	commits int64
}

// Contents is all that a journal keeps.
type Contents struct {
	Datasets []Dataset // in order of their names
	Puts     []Put     // in order of their commits
	// FellBack tells that a part of the file was damaged which the last change may have been written with: the contents are
	// whole, but may be those from before it.
	FellBack bool
}

// Open opens the catalogue in a file, which is made if it is absent, and loads it. The caller holds a lock on the folder
// and closes the journal. ErrDamaged, ErrVersion, ErrFull.
func Open(path string, o Options) (*Journal, *Contents, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.KeptPuts == 0 {
		o.KeptPuts = DefaultKeptPuts
	}
	if o.KeptPutTime == 0 {
		o.KeptPutTime = DefaultKeptPutTime
	}
	j := &Journal{opts: o, path: path, reserve: reserve{path: path + ".reserve"}, commit: (*bbolt.Tx).Commit}
	contents := &Contents{}
	err, _ := guard(func() error { return j.open(contents) })
	if err != nil {
		return nil, nil, j.named(err)
	}
	return j, contents, nil
}

// named puts the file's name before an error, and says of those of a full disk that they are.
func (j *Journal) named(err error) error {
	if full(err) && !errors.Is(err, ErrFull) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%s: %w", j.path, err)
}

func (j *Journal) open(c *Contents) error {
	if err := create(j.path); err != nil {
		return err
	}
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	c.FellBack, err = checkPages(f)
	f.Close()
	if err != nil {
		return err
	}
	j.db, err = bbolt.Open(j.path, 0o600, &bbolt.Options{Timeout: time.Second, PageSize: pageSize, MaxSize: j.opts.maxSize, NoStatistics: true})
	if err != nil {
		return err
	}
	if err := j.db.View(func(tx *bbolt.Tx) error { return j.load(tx, c) }); err != nil {
		j.db.Close()
		return err
	}
	j.reserve.fill()
	return nil
}

// create makes the file if there is none: beside its place first, so that a crash leaves all of it or nothing.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	beside := path + ".tmp"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(beside, 0o600, &bbolt.Options{Timeout: time.Second, PageSize: pageSize})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{datasetsBucket, putsBucket, stateBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(stateBucket).Put(digestKey, digest{}.bytes())
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	if err := os.Rename(beside, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads everything.
func (j *Journal) load(tx *bbolt.Tx, c *Contents) error {
	datasets, puts, state := tx.Bucket(datasetsBucket), tx.Bucket(putsBucket), tx.Bucket(stateBucket)
	if datasets == nil || puts == nil || state == nil {
		return fmt.Errorf("%w: a part of it is missing", ErrDamaged)
	}
	var sum digest
	if err := datasets.ForEach(func(k, v []byte) error {
		d, err := decodeDataset(k, v)
		if err != nil {
			return fmt.Errorf("dataset %q: %w", k, err)
		}
		c.Datasets = append(c.Datasets, d)
		sum.add(datasetsBucket, k, v)
		return nil
	}); err != nil {
		return err
	}
	if err := puts.ForEach(func(k, v []byte) error {
		p, err := decodePut(k, v)
		if err != nil {
			return fmt.Errorf("put %x: %w", k, err)
		}
		c.Puts = append(c.Puts, p)
		sum.add(putsBucket, k, v)
		return nil
	}); err != nil {
		return err
	}
	if string(state.Get(digestKey)) != string(sum.bytes()) {
		return fmt.Errorf("%w: records are missing, or older than others", ErrDamaged)
	}
	j.digest = sum
	return nil
}

// Close closes the file. What is being written is written first; what comes later is ErrClosed.
func (j *Journal) Close() error {
	j.mu.Lock()
	failed := j.failed
	if failed == nil {
		j.failed = ErrClosed
	}
	j.mu.Unlock()
	if failed != nil {
		return nil // closed already, or stuck: the file goes with the process
	}
	return j.db.Close() // waits for the change that is being written
}

// Commits is how often the disk was made to keep what was written to it, for changes.
func (j *Journal) Commits() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.commits
}

// digest stands for all records. It does not depend on their order.
type digest struct{ records, sum uint64 }

func (d *digest) add(bucket, key, value []byte) {
	d.records++
	d.sum += mixed(checksum(bucket, key, value))
}

func (d *digest) remove(bucket, key, value []byte) {
	d.records--
	d.sum -= mixed(checksum(bucket, key, value))
}

// mixed spreads a checksum, so that sums of several say more than the bits of one.
func mixed(c uint32) uint64 {
	x := (uint64(c) + 1) * 0x9E3779B97F4A7C15
	x ^= x >> 32
	return x * 0xD6E8FEB86659FD93
}

func (d digest) bytes() []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, d.records), d.sum)
}
