package batchstore

import (
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
)

// staging makes lots of a running put's batches, in row order and as they are finished, so that a put larger than memory is
// spilled as it goes, and puts that wait for memory cannot lock each other. A nil one, of a store that does not spill, does
// nothing; its lots are made at the end only.
type staging struct {
	files  *files
	put    uint64
	schema *arrowipc.Schema // of the put's batches
	spill  bool
	plain  *arrowipc.Schema // with dictionaries as plain indices; the same as schema without any

	mu     sync.Mutex // before tier.mu
	groups []*group   // that are not in lots as a whole, in order
	open   []*Batch   // of the next lot
	bytes  int64      // of open
	number int        // of the next lot
	sealed bool       // no more lots are made here
	held   []*Batch   // by lot, to be released without the lock
}

// stage prepares for a put.
func (f *files) stage(in *Ingest) error {
	if !f.hasFolder() {
		return nil
	}
	plain, err := withoutDictionaries(in.schema)
	if err != nil {
		return err
	}
	in.staging = &staging{files: f, put: f.nextPut(), schema: in.schema, plain: plain, spill: f.spill}
	f.running(in, true)
	return nil
}

// begin tells of a group of batches to come.
func (s *staging) begin(g *group) {
	if s == nil || !s.spill {
		return
	}
	s.mu.Lock()
	s.groups = append(s.groups, g)
	s.mu.Unlock()
}

// made tells that one more of a group's batches is there: it may leave memory before the group is finished, whose sources may
// take most of it. It runs on workers.
func (s *staging) made(g *group, b *Batch) {
	if s == nil || !s.spill {
		return
	}
	s.mu.Lock()
	g.made = append(g.made, b)
	s.mu.Unlock()
	s.close(false)
	s.files.notice()
}

// finished tells that all of a group's batches are there. It runs on workers.
func (s *staging) finished(g *group) {
	if s == nil || !s.spill {
		return
	}
	s.mu.Lock()
	g.finished = true
	s.mu.Unlock()
	s.close(false)
	s.files.notice()
}

// restart forgets the batches that are in no lot: some are about to be replaced.
func (s *staging) restart() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.groups, s.open, s.bytes = nil, nil, 0
	s.mu.Unlock()
}

// add tells of a batch that came in place of another.
func (s *staging) add(b *Batch) {
	if s == nil || !s.spill {
		return
	}
	s.mu.Lock()
	s.push(b)
	s.unlock()
	s.files.notice()
}

// push adds a batch to the open lot, and ends the lot when it is full. The lock is held.
func (s *staging) push(b *Batch) (full bool) {
	s.open = append(s.open, b)
	if s.bytes += b.size; s.bytes < s.files.segment {
		return false
	}
	s.lot()
	return true
}

// close makes lots of the batches that are there and follow those that have one: as many as are full, or with all set of
// the rest too. It tells whether it made any.
func (s *staging) close(all bool) bool {
	s.mu.Lock()
	defer s.unlock()
	if s.sealed {
		return false
	}
	made := false
	for len(s.groups) > 0 {
		g := s.groups[0]
		for _, b := range g.made {
			made = s.push(b) || made
		}
		g.made = nil
		if !g.finished {
			break
		}
		s.groups = s.groups[1:]
	}
	if all && len(s.open) > 0 {
		s.lot()
		made = true
	}
	return made
}

// unlock unlocks, and releases what lot has held: the last release of a batch takes other locks.
func (s *staging) unlock() {
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, b := range held {
		b.Release()
	}
}

// lot makes a lot of what is open. The lock is held, and given back by unlock.
func (s *staging) lot() {
	l := &lot{
		files: s.files, name: s.files.fileName(s.put, s.number), schema: s.plain, batches: s.open, provisional: s.plain != s.schema,
	}
	s.number++
	for _, b := range s.open {
		b.lot.Store(l)
	}
	for _, b := range s.open {
		if b.hold() { // else its group has failed, and the put will
			s.files.tier.came(b)
			s.held = append(s.held, b)
		}
	}
	s.open, s.bytes = nil, 0
}

// waiting tells whether batches are there that are in no lot.
func (s *staging) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.sealed && (len(s.open) > 0 || len(s.groups) > 0 && len(s.groups[0].made) > 0)
}

// end makes lots of all of the put's batches, which know their dictionaries now. Where some of a lot have left memory
// already, without their dictionaries, the lot is written as it should be.
func (s *staging) end(in *Ingest, batches []*Batch) error {
	if s == nil {
		return nil
	}
	s.seal(in)
	for _, l := range s.files.lots(s.put, &s.number, s.schema, batches) {
		for _, b := range l.batches {
			if p := b.place.Load(); p != nil && p.provisional {
				if err := l.write(in.memory(false), false); err != nil {
					return err
				}
				break
			}
		}
		if s.spill {
			for _, b := range l.batches {
				if b.mem.Load() != nil {
					s.files.came(b)
				}
			}
		}
	}
	return nil
}

// seal has no more lots made of the put's batches while it runs.
func (s *staging) seal(in *Ingest) {
	s.files.running(in, false)
	s.mu.Lock()
	s.sealed, s.groups, s.open = true, nil, nil
	s.mu.Unlock()
}

func (s *staging) abort(in *Ingest) {
	if s != nil {
		s.seal(in)
	}
}
