package batchstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// Store holds the bodies of batches and the workers that encode them.
type Store struct {
	opts   Options
	arena  *arena.Arena
	codecs *compress.Pool

	quick, slow crew // see Store.crew
	workers     sync.WaitGroup
	plain       atomic.Int64 // bytes of bodies that wait to be encoded

	dictionaries *dictionaryTable
	schemas      *schemas

	work   sync.Pool // *[]byte: output of encoding, before its size is known
	budget *budget
	files  *files        // nil for none
	stop   chan struct{} // closed to end the spiller
}

// New makes a store and starts its workers. The caller closes it.
func New(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("batchstore options: %w", err)
	}
	o = o.WithDefaults()
	if o.Memory > 0 && o.Arena.TotalBytes == 0 {
		o.Arena.TotalBytes = o.Memory
	}
	a, err := arena.New(o.Arena)
	if err != nil {
		return nil, err
	}
	p, err := compress.New(compress.Options{ZstdLevel: o.ZstdLevel, Contexts: o.Workers})
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, budget: newBudget(o, a), arena: a, codecs: p, quick: newCrew(), slow: newCrew(), stop: make(chan struct{}), dictionaries: newDictionaryTable()}
	s.schemas = newSchemas(s.budget)
	if s.files, err = newFiles(s, o); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if s.budget.files = s.files; s.files != nil {
		s.workers.Go(func() { s.files.run(s.stop) })
	}
	for range o.Workers {
		s.workers.Go(s.quick.run)
		s.workers.Go(s.slow.run)
	}
	return s, nil
}

// Close ends the workers and gives the memory back. No batch, ingest or reader of the store may be in use; a batch
// that still is, is reported as an error, and the memory stays.
func (s *Store) Close() error {
	close(s.quick.jobs)
	close(s.slow.jobs)
	close(s.stop)
	s.workers.Wait()
	s.codecs.Close()
	return errors.Join(s.files.close(), s.arena.Close())
}

// Alloc gives n bytes of the store's memory, which count as charged until they are freed. Their contents are not
// zeroed. The caller frees them with Free. No bytes are the zero Block. It does not wait for room: see [Claim].
func (s *Store) Alloc(n int) (arena.Block, error) { return s.unclaimed().alloc(int64(n)) }

// unclaimed is memory for nobody in particular.
func (s *Store) unclaimed() lender { return lender{budget: s.budget} }

// Free gives a block back and clears it. The zero Block has nothing to give.
func Free(b *arena.Block) {
	if b.B != nil {
		b.Free()
	}
}

// Short tells whether memory is short: somebody waits for some, or less than a quarter of the budget is free.
func (s *Store) Short() bool { return s.budget.short() }

// Stays tells whether bytes lie in the store's memory: they stay as they are until their owner is released. It must not be
// called after Close.
func (s *Store) Stays(p []byte) bool { return s.arena.Contains(p) }

// Limits are the bounds that the store sets to message headers.
func (s *Store) Limits() arrowipc.Limits { return s.opts.Limits }

// Stats reads the store's figures.
func (s *Store) Stats() Stats {
	u := s.budget.usage()
	u.Plain = s.Deferred()
	return u
}

// Codecs tells what was encoded and decoded since the store was made.
func (s *Store) Codecs() []compress.Use { return s.codecs.Uses() }

// Attach tells the store who holds its batches. It is called once, before the first put.
func (s *Store) Attach(d Datasets) { s.budget.held.Store(&d) }
