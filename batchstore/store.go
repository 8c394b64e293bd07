package batchstore

import (
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

	jobs    chan func()
	workers sync.WaitGroup

	dictionaries *dictionaryTable

	work  sync.Pool    // *[]byte: output of encoding, before its size is known
	facts atomic.Int64 // bytes of layout facts of live batches
}

// Stats are the store's own figures, in bytes of now.
type Stats struct {
	Charged int64 // bodies, staged bodies and layout facts
	Warm    int64 // free memory kept for reuse
}

// New makes a store and starts its workers. The caller closes it.
func New(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("batchstore options: %w", err)
	}
	o = o.WithDefaults()
	a, err := arena.New(o.Arena)
	if err != nil {
		return nil, err
	}
	p, err := compress.New(compress.Options{ZstdLevel: o.ZstdLevel, Contexts: o.Workers})
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, arena: a, codecs: p, jobs: make(chan func()), dictionaries: newDictionaryTable()}
	for range o.Workers {
		s.workers.Go(func() {
			for job := range s.jobs {
				job()
			}
		})
	}
	return s, nil
}

// Close ends the workers and gives the memory back. No batch, ingest or reader of the store may be in use; a batch
// that still is, is reported as an error, and the memory stays.
func (s *Store) Close() error {
	close(s.jobs)
	s.workers.Wait()
	s.codecs.Close()
	return s.arena.Close()
}

// Alloc gives n bytes of the store's memory, which count as charged until they are freed. Their contents are not
// zeroed. The caller frees them with Free. No bytes are the zero Block.
func (s *Store) Alloc(n int) (arena.Block, error) {
	if n == 0 {
		return arena.Block{}, nil
	}
	return s.arena.Alloc(n)
}

// Free gives a block back and clears it. The zero Block has nothing to give.
func Free(b *arena.Block) {
	if b.B != nil {
		b.Free()
	}
}

// Limits are the bounds that the store sets to message headers.
func (s *Store) Limits() arrowipc.Limits { return s.opts.Limits }

// Stats reads the store's figures.
func (s *Store) Stats() Stats {
	a := s.arena.Stats()
	return Stats{Charged: a.InUse + s.facts.Load(), Warm: a.Warm}
}
