package batchstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
)

// lot is consecutive batches of one put that need the same dictionaries: what goes to one file, when one of them has to. It
// holds no references: a batch that is gone by then is left out.
type lot struct {
	files   *files
	name    string
	schema  *arrowipc.Schema
	batches []*Batch
	// provisional: the put goes on, and which dictionaries the indices mean is not known yet. The file has the indices as
	// plain numbers; the put's end makes lots that are complete.
	provisional bool
}

// lots divides batches, in row order, into lots and has each refer to its own. Batches that have one keep it, unless it is
// provisional.
func (f *files) lots(put uint64, next *int, schema *arrowipc.Schema, batches []*Batch) (out []*lot) {
	var l *lot
	size := int64(0)
	for _, b := range batches {
		if old := b.lot.Load(); old != nil && !old.provisional {
			l = nil
			continue
		}
		if l == nil || size+b.size > f.segment || !sameDictionaries(l.batches[0], b) {
			l, size = &lot{files: f, name: f.fileName(put, *next), schema: schema}, 0
			*next++
			out = append(out, l)
		}
		size += b.size
		l.batches = append(l.batches, b)
		b.lot.Store(l)
	}
	return out
}

func sameDictionaries(a, b *Batch) bool {
	for i := range a.dicts {
		if a.dicts[i] != b.dicts[i] {
			return false
		}
	}
	return len(a.dicts) == len(b.dicts)
}

// write gives the lot's batches their file, unless they have one: afterwards their bodies may leave memory. With sync the
// file outlives a crash. Who comes while it is being written waits for that. Bodies that lie in a provisional file are read
// into m.
func (l *lot) write(m lender, sync bool) error {
	_, err, _ := l.files.flights.Do(l.name, func() (any, error) { return nil, l.writeAlone(m) })
	if err != nil || !sync {
		return err
	}
	for _, b := range l.batches {
		if p := b.place.Load(); p != nil && p.file.hold() {
			err := p.file.Sync()
			p.file.release()
			if err != nil {
				return l.failed(err)
			}
		}
	}
	return nil
}

func (l *lot) writeAlone(m lender) error {
	var alive []*Batch
	defer func() {
		for _, b := range alive {
			b.Release()
		}
	}()
	need := int64(64 << 10)
	for _, b := range l.batches {
		if done := b.filed() || l.provisional && b.place.Load() != nil; !done && b.hold() {
			alive = append(alive, b)
			need += b.size + b.factBytes()
		}
	}
	if len(alive) == 0 {
		return nil
	}
	var dicts []*Dictionary
	if !l.provisional {
		dicts = alive[0].dicts // the batch holds them
	}
	for _, d := range dicts {
		need += d.StoredBytes()
	}
	if err := l.files.take(need); err != nil {
		return err
	}
	written := int64(0)
	defer func() { l.files.taken(written-need, 0) }()
	for k := 0; len(alive) > 0; k++ {
		file, n, err := l.writeFile(m, k, alive, dicts)
		if err != nil {
			return l.failed(err)
		}
		written += file.Size()
		l.settle(file, alive[:n], dicts)
		for _, b := range alive[:n] {
			b.Release()
		}
		alive = alive[n:]
	}
	return nil
}

// settle gives batches and their dictionaries their places in a file.
func (l *lot) settle(file *segment.File, batches []*Batch, dicts []*Dictionary) {
	f := &segmentFile{File: file, files: l.files, name: filepath.Base(file.Path()), bytes: file.Size()}
	l.files.taken(0, 1)
	f.refs.Store(1) // this function's
	defer f.release()
	for i, b := range batches {
		b.moveTo(&place{file: f, index: i, provisional: l.provisional})
		if !l.files.spill { // else it is in the order already
			l.files.came(b)
		}
	}
	for i, d := range dicts {
		first := d.values.place.Load() == nil
		// Also where it has a place: else a file whose batches are gone, as others took their places, would stay for it.
		d.values.moveTo(&place{file: f, index: i, dictionary: true})
		if first {
			l.files.came(d.values)
		}
	}
}

// writeFile writes as many of the batches as one file takes, and tells how many.
func (l *lot) writeFile(m lender, number int, batches []*Batch, dicts []*Dictionary) (*segment.File, int, error) {
	path, err := l.files.path(l.name)
	if err != nil {
		return nil, 0, err
	}
	if number > 0 { // sorts behind the lot's first, and before the next lot's
		path = fmt.Sprintf("%s-%06d%s", strings.TrimSuffix(path, extension), number, extension)
	}
	w, err := l.files.pool.Create(path, l.schema)
	if err != nil {
		return nil, 0, err
	}
	defer w.Abort() // does nothing when it is finished
	for i, d := range dicts {
		id := l.schema.Layout.Dictionaries[i].ID // a batch that was appended may have come with another
		if err := d.values.writeTo(m, func(f segment.Facts, body []byte) error { return w.AddDictionary(id, d.uid(), f, body) }); err != nil {
			return nil, 0, err
		}
	}
	n := 0
	for _, b := range batches {
		err := b.writeTo(m, func(f segment.Facts, body []byte) error {
			if l.provisional {
				f.Statistics = nil // they are of the values
			}
			return w.AddBatch(f, body)
		})
		if errors.Is(err, segment.ErrFull) && n > 0 {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		n++
	}
	file, err := w.Finish(false)
	return file, n, err
}

// writeTo hands the batch's facts and its body to a writer.
func (b *Batch) writeTo(m lender, add func(segment.Facts, []byte) error) error {
	mem, err := b.store.peek(m, b)
	if err != nil {
		return err
	}
	defer mem.Release()
	return add(segment.Facts{
		Header: b.header, Metadata: b.metadata, Decoded: b.decoded, Statistics: b.measured, Apart: b.apart, Level: b.level,
		Wanted: b.wanted,
	}, mem.block.B)
}

func (l *lot) failed(err error) error {
	return fmt.Errorf("write %s: %w", l.name, noSpace(err))
}

// withoutDictionaries is the schema with indices as plain numbers, or nil if none needs it.
func withoutDictionaries(s *arrowipc.Schema) (*arrowipc.Schema, error) {
	if len(s.Layout.Dictionaries) == 0 {
		return s, nil
	}
	var plain func(f *arrowipc.Field) *arrowipc.Field
	plain = func(f *arrowipc.Field) *arrowipc.Field {
		out := *f
		if d := f.Dictionary; d != nil {
			out.Dictionary, out.Children = nil, nil
			out.Type = arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: d.IndexBits, Signed: d.Signed}
			return &out
		}
		out.Children = nil
		for _, c := range f.Children {
			out.Children = append(out.Children, plain(c))
		}
		return &out
	}
	var fields []*arrowipc.Field
	for _, f := range s.Fields {
		fields = append(fields, plain(f))
	}
	return arrowipc.BuildSchema(fields, nil)
}
