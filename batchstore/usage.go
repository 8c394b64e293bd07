package batchstore

import (
	"fmt"
	"strings"
)

// What to do about a full budget, by what was tried.
const (
	adviceTooLarge = "the request alone is more than the budget has for it; send smaller batches, or raise --memory"
	adviceAlone    = "nothing that goes on would free any; put less at once, or raise --memory"
	adviceYoungest = "puts wait for each other's memory and this one is the youngest; put again when fewer run, or raise --memory"
	adviceWaited   = "none came free in time; drop datasets (one that is being replaced stays until its put is done), put again later, or raise --memory"
)

// full is the error of a request that finds no room. It says what holds the memory.
func (b *budget) full(w want, advice string) error {
	u := b.usage()
	var s strings.Builder
	if w.n > 0 {
		fmt.Fprintf(&s, "%d bytes more are wanted; ", w.n)
	}
	fmt.Fprintf(&s, "%d of %d bytes are taken: datasets %d (pinned %d), staged by puts %d, in flight to readers %d",
		u.Charged, u.Budget, u.Datasets, u.Pinned, u.Staged, u.InFlight)
	if b.spare > 0 {
		fmt.Fprintf(&s, ", and puts leave %d free", b.spare)
	}
	if err := b.files.broken(); err != nil {
		fmt.Fprintf(&s, "; bodies cannot be moved to files: %v", err)
	}
	if advice != "" {
		s.WriteString("; " + advice)
	}
	return fmt.Errorf("%w: %s", ErrMemory, s.String())
}

// usage reads what holds the memory. The mutex must not be held.
func (b *budget) usage() Stats {
	// Under the mutex, neither blocks nor facts grow: the sum never shows more than there was at one time.
	b.mu.Lock()
	a, facts := b.arena.Stats(), b.facts.Load()
	u := Stats{Charged: a.InUse + facts, Facts: facts, Warm: a.Warm, Budget: b.limit, Staged: b.staged.Bytes()}
	b.mu.Unlock()
	leaving := int64(0)
	if d := b.held.Load(); d != nil {
		u.Pinned, leaving = (*d).Held()
	}
	u.InFlight = min(b.lent.Bytes()+leaving, max(u.Charged-u.Staged, 0))
	u.Datasets = max(u.Charged-u.Staged-u.InFlight, 0)
	if f := b.files; f != nil {
		u.Spilled, u.Disk, u.DiskLimit, u.Files = f.spilled.Load(), f.bytes.Load(), f.quota, f.count.Load()
		u.Unloaded = f.unloaded.Load() // before the sum that it is part of
		u.MadeRoom, u.Returned = f.left.Load()-u.Unloaded, f.returned.Load()
	}
	return u
}

// Stats are the store's own figures: in bytes of now, but for numbers of files and bodies.
type Stats struct {
	Charged  int64 // bodies, staged bodies and facts: Datasets, Staged and InFlight
	Facts    int64 // of these, what lies on Go's heap: of batches, schemas, and charges
	Warm     int64 // free memory kept for reuse
	Budget   int64 // the most that Charged may come to; 0 for no limit
	Datasets int64 // of datasets, with what the allocator rounds up
	Pinned   int64 // of these, stored bytes of datasets that may not be evicted
	Staged   int64 // of running puts
	InFlight int64 // made for running reads, or of datasets that are gone and still being read

	Plain     int64 // bodies that wait to be encoded, in memory and in files
	Spilled   int64 // bodies that are not in memory but in files only; not charged
	Disk      int64 // all files of batches
	DiskLimit int64 // the most that Disk may come to; 0 for no limit
	Files     int64 // how many there are

	// Bodies of batches, since the store was made: those that left memory for room, and those because Unload said so, to be read
	// from files; and those that came back.
	MadeRoom, Unloaded, Returned int64
}
