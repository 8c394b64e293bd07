package batchstore

import (
	"sync/atomic"

	"github.com/flightcache/flightcache/batchstore/arena"
)

// resident is bytes in memory that several may hold: a stored body, or what was made or read from a file for one read. It
// is their Owner, and they go with the last reference.
type resident struct {
	block arena.Block
	refs  atomic.Int64
}

// newResident takes a block over; the caller owns the one reference.
func newResident(b arena.Block) *resident {
	s := &resident{block: b}
	s.refs.Store(1)
	return s
}

// Retain adds a reference; the caller holds one already.
func (s *resident) Retain() { s.refs.Add(1) }

// hold adds a reference unless the last one is gone.
func (s *resident) hold() bool { return holdUnlessGone(&s.refs) }

// Release drops a reference and frees the memory with the last.
func (s *resident) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		Free(&s.block)
	case n < 0:
		panic("batchstore: a body was released more often than it was retained")
	}
}

// holdUnlessGone adds a reference to those that are counted unless there is none any more.
func holdUnlessGone(refs *atomic.Int64) bool {
	for {
		n := refs.Load()
		if n <= 0 {
			return false
		}
		if refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
