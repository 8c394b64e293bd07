package batchstore

import (
	"errors"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
)

// place is where a body lies in a file. It holds a reference to the file.
type place struct {
	file        *segmentFile
	index       int
	dictionary  bool // it is among the file's dictionaries, else among its batches
	provisional bool // the file does not say which dictionaries its indices mean

	checked []atomic.Bool // of a guest: the top-level columns that have been found to be right
}

// read reads the stored bytes of top-level columns of a batch of this header into dst, of just their length.
func (p *place) read(h *arrowipc.RecordBatch, x interval, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	if p.dictionary {
		return p.file.ReadDictionary(p.index, dst)
	}
	return p.file.ReadBatch(p.index, h, x.first, x.last, dst)
}

// segmentFile is a file that bodies lie in. It goes with the last of them, and its bytes on disk with it, unless the store
// is to keep what is in its folder.
type segmentFile struct {
	*segment.File
	files *files
	name  string
	bytes int64
	leave atomic.Bool // the file stays when nobody needs it any more
	guest *guest      // of a file that is served in place; nil of the store's own
	refs  atomic.Int64
}

// hold adds a reference unless the last one is gone.
func (f *segmentFile) hold() bool { return holdUnlessGone(&f.refs) }

func (f *segmentFile) release() {
	switch n := f.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("batchstore: the file " + f.name + " was released more often than it was retained")
	}
	end := f.Remove
	if f.files.keep.Load() || f.leave.Load() {
		end = f.Close
	}
	if err := end(); err != nil {
		f.files.problem(errors.Join(errors.New("a file of batches that nobody needs any more was not removed"), err))
	}
	if f.guest == nil {
		f.files.taken(-f.bytes, -1)
	}
}

// moveTo gives a batch its place in a file, which then has one reference more, and lets go of the one that it had.
func (b *Batch) moveTo(p *place) {
	p.file.refs.Add(1)
	if old := b.place.Swap(p); old != nil {
		old.file.release()
	}
}

// filed tells whether a body may leave memory: its file is complete.
func (b *Batch) filed() bool {
	p := b.place.Load()
	return p != nil && !p.provisional
}
