package batchstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// Place is where a batch lies on disk: the name of a file in the store's folder, and the batch's ordinal in it.
type Place struct {
	Segment string
	Index   int
}

// Persist makes sure that batches, in row order and of one schema, outlive a crash, and tells where they lie. Those that lie in
// files are not written again. The caller retains the batches; it may not be called for those of a put that runs. Errors are
// ErrInPlace, ErrNoSpace, ErrFiles and others of the file system; what was written by then is forgotten with the batches.
func (s *Store) Persist(schema *arrowipc.Schema, batches []*Batch) ([]Place, error) {
	for _, b := range batches {
		if p := b.place.Load(); p != nil && p.file.guest != nil {
			return nil, fmt.Errorf("%w: its first rows lie in %s, which this server only reads; put it whole, with mode replace, or not durably",
				ErrInPlace, p.file.name)
		}
	}
	if err := s.write(schema, batches, true); err != nil {
		return nil, err
	}
	out := make([]Place, len(batches))
	for i, b := range batches {
		p := b.place.Load()
		out[i] = Place{p.file.name, p.index}
	}
	return out, nil
}

// write gives batches places in files. With sync these outlive a crash.
func (s *Store) write(schema *arrowipc.Schema, batches []*Batch, sync bool) error {
	if !sync && !slices.ContainsFunc(batches, func(b *Batch) bool { return !b.filed() }) {
		return nil
	}
	f := s.files
	if !f.hasFolder() {
		return errNoFolder
	}
	next := 0
	f.lots(f.nextPut(), &next, schema, batches) // for those that have none
	var last *lot
	for _, b := range batches {
		if l := b.lot.Load(); l != last {
			if err := l.write(s.unclaimed(), sync); err != nil {
				return err
			}
			last = l
		}
	}
	return nil
}

// noSpace makes a full disk ErrNoSpace.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// Recover gives the schema and the batches of a file in the store's folder, in order. Only its metadata is read; bodies stay on
// disk until they are wanted. The caller owns one reference to each batch. Errors are ErrFiles, ErrMemory when the facts
// of the batches are more than the budget has, and segment.ErrDamaged. Where only the headers of single batches are damaged,
// the others come beside the error, with nil in the place of those.
func (s *Store) Recover(name string) (*arrowipc.Schema, []*Batch, error) {
	if !s.files.hasFolder() {
		return nil, nil, errNoFolder
	}
	path, err := s.files.path(name)
	if err != nil {
		return nil, nil, err
	}
	file, err := s.files.pool.Open(path, s.opts.Limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w: %s is missing", segment.ErrDamaged, name)
	}
	if err != nil {
		return nil, nil, err
	}
	s.files.taken(file.Size(), 1)
	f := &segmentFile{File: file, files: s.files, name: name, bytes: file.Size()}
	f.refs.Store(1)
	defer f.release()
	schema, err := s.made(nil, file.Schema())
	if err != nil {
		return nil, nil, err
	}
	defer schema.Release() // the batches hold it
	batches, damaged, err := s.recoverBatches(f)
	if err == nil {
		err = damaged
	}
	f.leave.Store(err != nil) // what is damaged is not this store's to remove
	file.Trim()
	return file.Schema(), batches, err
}

// recoverBatches gives the batches of a file; where one is damaged it is nil, and the first such error comes beside them.
func (s *Store) recoverBatches(f *segmentFile) (out []*Batch, damaged, err error) {
	var dicts []*Dictionary
	defer func() {
		for _, d := range dicts {
			d.Release()
		}
	}()
	defer func() {
		if err != nil {
			for _, b := range out {
				if b != nil {
					b.Release()
				}
			}
			out = nil
		}
	}()
	l := f.Schema().Layout
	for i := range f.Dictionaries() {
		d, err := s.recoverDictionary(f, l, i)
		if err != nil {
			return out, nil, err
		}
		dicts = append(dicts, d)
	}
	whole := &lot{files: s.files, name: f.name, schema: f.Schema()}
	for i := range f.Batches() {
		facts, err := f.Batch(i)
		if errors.Is(err, segment.ErrDamaged) {
			if damaged == nil {
				damaged = err
			}
			out = append(out, nil)
			continue
		}
		if err != nil {
			return out, damaged, err
		}
		b, err := s.filedBatch(l, facts, &place{file: f, index: i})
		if err != nil {
			return out, damaged, err
		}
		b.lot.Store(whole)
		for _, d := range dicts {
			d.Retain()
			b.dicts = append(b.dicts, d)
		}
		out = append(out, b)
	}
	return out, damaged, nil
}

// filedBatch makes a batch whose body lies in a file; it holds the file.
func (s *Store) filedBatch(l *arrowipc.Layout, facts segment.Facts, p *place) (*Batch, error) {
	b := &Batch{
		store: s, layout: l, header: facts.Header, codec: compress.Codec(facts.Header.Compression), metadata: facts.Metadata,
		decoded: facts.Decoded, total: sum(facts.Decoded), measured: facts.Statistics, size: facts.Body,
		apart: facts.Apart, level: facts.Level,
	}
	b.stored = storedByNode(l, &b.header)
	b.refs.Store(1)
	if err := b.countFacts(s.unclaimed()); err != nil {
		return nil, err
	}
	b.schema = s.schemas.hold(l)
	b.moveTo(p)
	s.files.spilled.Add(b.size)
	b.postpone(facts.Wanted)
	return b, nil
}

// recoverDictionary gives a dictionary of a file, or the same one where it is known already. The caller owns one reference.
func (s *Store) recoverDictionary(f *segmentFile, l *arrowipc.Layout, i int) (*Dictionary, error) {
	id, uid, facts, err := f.Dictionary(i)
	if err != nil {
		return nil, err
	}
	sum, err := parseDigest(uid)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: dictionary %d: %w", segment.ErrDamaged, f.name, id, err)
	}
	if d := s.dictionaries.known(sum); d != nil {
		return d, nil
	}
	for k, x := range l.Dictionaries {
		if x.ID == id {
			values, err := s.filedBatch(x.Values, facts, &place{file: f, index: i, dictionary: true})
			if err != nil {
				return nil, err
			}
			return s.dictionaries.keep(k, sum, values), nil
		}
	}
	return nil, fmt.Errorf("%w: %s: dictionary %d is not in its schema", segment.ErrDamaged, f.name, id)
}
