package catalog

import "slices"

// lineage is a generation and those that appends made of it, under one layout. Their lists of batches are the first of
// the newest one's, so that the longest of them that is leased has all that leases on any of them keep.
//
// A compaction begins another lineage of the same family. Its fields are guarded by leases.mu but for one.
type lineage struct {
	family *family
	leased []*Generation // those with leases, in order of their making

	// Once a compaction has made another layout of its newest generation:
	next *lineage     // that of the other layout
	made []replaced   // which batches of its newest it replaced, in order
	lost map[any]bool // keys of the dictionaries that no batch of the other layout needs

	counted int // batches, the first of its lists, that are counted in the family's items

	settled int // small batches among which nobody need look for some to join; guarded by Catalog.mu
}

// replaced is a run of batches, the last excluded, and how many took their place.
type replaced struct{ first, last, by int }

// family is the lineages that compactions made of each other: the layouts of one table as it grows. Its fields are guarded
// by leases.mu.
type family struct {
	over  bool  // replaced or dropped
	bytes int64 // of what only leases keep

	// items are the batches and dictionaries that leases keep on layouts that are their dataset's no more. Without a
	// compaction there are none (nil): the longest list is all that has to be known.
	items map[any]*item
}

// item is one batch, or one dictionary, that leases keep.
type item struct {
	count   int  // of the places in leased lists that refer to it
	current bool // the dataset's newest layout has it too
	bytes   int64
}

// current tells whether the dataset has the i-th batch of the lineage's lists still. A dictionary is asked for by its key,
// in place of a batch. (One that was lost and comes back with an append is taken for lost.)
func (l *lineage) current(i int, dictionary any) bool {
	for ; l.next != nil && !l.family.over; l = l.next {
		if dictionary != nil {
			if l.lost[dictionary] {
				return false
			}
			continue
		}
		shift := 0
		for _, r := range l.made {
			if i >= r.first && i < r.last {
				return false
			}
			if i >= r.last {
				shift += r.by - (r.last - r.first)
			}
		}
		i += shift
	}
	return !l.family.over
}

// longest is the longest leased list, nil for none.
func (l *lineage) longest() *Generation {
	if len(l.leased) == 0 {
		return nil
	}
	return l.leased[len(l.leased)-1]
}

// away tells whether the lineage's newest generation is its dataset's no more, or no more under this layout.
func (l *lineage) away() bool { return l.family.over || l.next != nil }

// each calls f with the keys and sizes of what the i-th batch of a list needs: itself, and its dictionaries.
func (l *lineage) each(list []Batch, i int, f func(key any, bytes int64, current func() bool)) {
	b := list[i]
	f(b, b.StoredBytes(), func() bool { return l.current(i, nil) })
	b.EachDictionary(func(key any, _, _, stored int64) {
		f(key, stored, func() bool { return l.current(i, key) })
	})
}

// more is what a lease on g, of this lineage, would keep that nothing keeps yet.
func (l *lineage) more(g *Generation) (n int64) {
	switch {
	case !l.away():
		return 0
	case l.family.items == nil:
		return max(0, g.Stored-l.family.bytes)
	}
	seen := map[any]bool{}
	for i := l.counted; i < len(g.Batches); i++ {
		l.each(g.Batches, i, func(key any, bytes int64, current func() bool) {
			if l.family.items[key] == nil && !seen[key] && !current() {
				seen[key] = true
				n += bytes
			}
		})
	}
	return n
}

// recount sees anew what only leases keep, after the leases on a generation have changed, or what became of its dataset.
// The lock is held.
//
// Without a compaction that is one list, whose sum is known. Else the batches of leased lists are walked, each once when
// its layout is replaced, or leased, and once when it is let go.
func (s *leases) recount(g *Generation) {
	l := g.lineage
	longest := l.longest()
	if l.family.items == nil {
		n := int64(0)
		if l.away() && longest != nil {
			n = longest.Stored
		}
		s.add(g, n-l.family.bytes)
		return
	}
	want := 0
	if l.away() && longest != nil {
		want = len(longest.Batches)
	}
	list := g.Batches // what is let go of was in it, what is new is in the longest
	if want > len(list) {
		list = longest.Batches
	}
	delta := int64(0)
	for ; l.counted < want; l.counted++ {
		l.each(list, l.counted, func(key any, bytes int64, current func() bool) { delta += l.family.hold(key, bytes, current) })
	}
	for ; l.counted > want; l.counted-- {
		l.each(list, l.counted-1, func(key any, _ int64, _ func() bool) { delta += l.family.letGo(key) })
	}
	s.add(g, delta)
}

// hold counts one more place that refers to an item, and gives how many more bytes only leases keep.
func (f *family) hold(key any, bytes int64, current func() bool) int64 {
	x := f.items[key]
	if x == nil {
		x = &item{current: current(), bytes: bytes}
		f.items[key] = x
	}
	if x.count++; x.count == 1 && !x.current {
		return bytes
	}
	return 0
}

// letGo counts one place less.
func (f *family) letGo(key any) int64 {
	x := f.items[key]
	if x.count--; x.count > 0 {
		return 0
	}
	delete(f.items, key)
	if x.current {
		return 0
	}
	return -x.bytes
}

// lose tells that the dataset does not have an item any more.
func (f *family) lose(key any) int64 {
	x := f.items[key]
	if x == nil || !x.current {
		return 0
	}
	x.current = false
	return x.bytes
}

// add counts more bytes that only leases keep of g's dataset.
func (s *leases) add(g *Generation, n int64) {
	s.bytes += n
	g.lineage.family.bytes += n
	g.state.leasedBytes += n
}

// supersede tells that a generation and those before it are their dataset's no more.
func (s *leases) supersede(g *Generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := g.lineage.family
	f.over = true
	for key := range f.items {
		s.add(g, f.lose(key))
	}
	s.recount(g)
}

// relay tells that a generation has another layout, in which these runs are replaced. Keys of dictionaries that it does not
// need are lost. Where batches were only recoded, the leases on the old layout hold the new one from here on; the caller then
// drops as many references to the old one as were moved, without the lock.
func (s *leases) relay(old, now *Generation, made []replaced, lost map[any]bool, recoded bool) (moved int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := old.lineage
	f := l.family
	if f.items == nil {
		f.items = map[any]*item{}
	}
	now.lineage = &lineage{family: f}
	l.next, l.made, l.lost = now.lineage, made, lost
	for _, r := range made {
		for _, b := range old.Batches[r.first:r.last] {
			s.add(old, f.lose(b))
		}
	}
	for key := range lost {
		s.add(old, f.lose(key))
	}
	if recoded {
		moved = s.move(old, now)
	}
	s.recount(old)
	return moved
}

// move has all leases on a generation, which is its lineage's newest, hold another layout of it, and tells how many there
// were. The lock is held.
func (s *leases) move(old, now *Generation) int {
	n := old.leases
	if n == 0 {
		return 0
	}
	for _, l := range s.byID {
		if l.g == old {
			l.g = now
		}
	}
	now.refs.Add(int64(n))
	now.leases, old.leases = n, 0
	i, _ := slices.BinarySearchFunc(old.lineage.leased, old.number, byNumber)
	old.lineage.leased = slices.Delete(old.lineage.leased, i, i+1)
	now.lineage.leased = []*Generation{now}
	return n
}
