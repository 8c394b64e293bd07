package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// Unload has the bodies of batches of one schema, and of their dictionaries, leave memory, in row order; what lies in no file is written to one before. It
// gives the bytes that left. What is being sent stays until it has been. Pinned batches stay. The caller retains the
// batches. Errors are ErrFiles where the store has no folder, ErrNoSpace and others of the file system.
func (s *Store) Unload(schema *arrowipc.Schema, batches []*Batch) (left int64, err error) {
	if err := s.write(schema, batches, false); err != nil {
		return 0, err
	}
	for _, b := range batches {
		if b.pinned.Load() {
			continue
		}
		left += s.unload(b)
		for _, d := range b.dicts {
			// Another schema's batches may have brought it in, and a file have it only now.
			if d.values.filed() {
				left += s.unload(d.values)
			}
		}
	}
	return left, nil
}

func (s *Store) unload(b *Batch) int64 {
	s.files.forget(b)
	left := s.leave(b)
	if left > 0 {
		s.files.unloaded.Add(1)
	}
	return left
}

// Spills tells whether bodies move to files when the budget is full.
func (s *Store) Spills() bool { return s.files != nil && s.files.spill }

// SetPinned says whether the batch's body stays in memory whatever else needs room. One that lies in a file only comes back when
// it is read next, if there is room.
func (b *Batch) SetPinned(pinned bool) {
	if b.store.files == nil || b.pinned.Swap(pinned) == pinned {
		return
	}
	b.store.files.forget(b)
	if !pinned && b.mem.Load() != nil && (b.store.files.spill || b.filed()) {
		b.store.files.came(b)
	}
}

// Resident tells whether the body is in memory.
func (b *Batch) Resident() bool { return b.mem.Load() != nil }

// Filed tells whether the body lies in a file.
func (b *Batch) Filed() bool { return b.filed() }
