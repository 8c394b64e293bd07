package batchstore

import "github.com/flightcache/flightcache/batchstore/arena"

// open gives the stored bytes of some top-level columns of a batch, which the caller retains: those in memory, or else
// what it reads of the batch's file, checked. The caller releases the view. Errors are ErrMemory and those of the file.
func (s *Store) open(m lender, b *Batch, columns []interval) (view, error) {
	if len(columns) == 0 {
		return view{newResident(arena.Block{}), []part{}}, nil // rows alone: no use of the body, and none of the file
	}
	mem, p := b.find()
	if mem != nil {
		s.files.touch(b)
		return view{mem: mem}, nil
	}
	defer p.file.release()
	if s.files.returns(b) {
		if mem := s.bringBack(m, b, p); mem != nil {
			return view{mem: mem}, nil
		}
	}
	return s.read(m, b, p, columns)
}

// find gives the body in memory, or else its place in a file: retained, whichever it is.
func (b *Batch) find() (*resident, *place) {
	for {
		if mem := b.mem.Load(); mem != nil {
			if mem.hold() {
				return mem, nil
			}
			continue // it has just left for the file
		}
		if p := b.place.Load(); p.file.hold() {
			return nil, p
		}
	}
}

// openWhole is open of the whole body: the view's memory is the body.
func (s *Store) openWhole(m lender, b *Batch) (view, error) {
	v, err := s.open(m, b, []interval{{0, len(b.layout.Columns)}})
	v.parts = nil // the one there is, is all
	return v, err
}

// peek is openWhole where it is no use of the batch: it neither comes back nor stays because of that. The caller releases
// the body.
func (s *Store) peek(m lender, b *Batch) (*resident, error) {
	mem, p := b.find()
	if mem != nil {
		return mem, nil
	}
	defer p.file.release()
	v, err := s.read(m, b, p, []interval{{0, len(b.layout.Columns)}})
	return v.mem, err
}

// read reads columns of a batch's file; the caller holds it.
func (s *Store) read(m lender, b *Batch, p *place, columns []interval) (view, error) {
	parts := make([]part, len(columns))
	total := int64(0)
	for i, x := range columns {
		parts[i] = b.extent(x)
		parts[i].at = total
		total += parts[i].to - parts[i].from
	}
	block, err := m.alloc(total)
	if err != nil {
		return view{}, err
	}
	for i, x := range columns {
		at := parts[i].at
		if err := s.readPlace(m, b, p, x, block.B[at:at+parts[i].to-parts[i].from]); err != nil {
			Free(&block)
			return view{}, err
		}
	}
	return view{newResident(block), parts}, nil
}

// bringBack reads a body that is wanted again and again into memory, if there is room, and keeps it there. The caller
// releases the body; nil: it stays where it is.
func (s *Store) bringBack(m lender, b *Batch, p *place) *resident {
	block, err := lender{budget: s.budget, class: forReceive}.alloc(b.size) // leaves free what is left free for others
	if err != nil {
		s.files.ask(b.size)
		return nil
	}
	if err := s.readPlace(m, b, p, interval{0, len(b.layout.Columns)}, block.B); err != nil {
		Free(&block) // who reads the chosen columns will meet the error, if it is in them
		return nil
	}
	mem := newResident(block)
	mem.Retain()
	if !b.mem.CompareAndSwap(nil, mem) {
		mem.Release() // somebody else was faster: this one serves the caller only
		return mem
	}
	s.files.spilled.Add(-b.size)
	s.files.returned.Add(1)
	s.files.came(b)
	return mem
}

// leave has a body that also lies in a file leave memory, and gives the bytes; 0 if it was not there.
func (s *Store) leave(b *Batch) int64 {
	mem := b.mem.Swap(nil)
	if mem == nil {
		return 0
	}
	s.files.spilled.Add(b.size)
	if b.size > 0 {
		s.files.left.Add(1)
	}
	mem.Release()
	return b.size
}
