package catalog

import (
	"container/heap"
	"sync"
	"time"
)

// deadline is something that ends at a time. The zero value with a lapse is ready to be set.
type deadline struct {
	lapse func() // called once when the time has come, with no lock held

	at     time.Time
	place  int // in the heap
	inHeap bool
}

// deadlines ends things on time with one timer and no goroutine of its own. A lapse may be late, and may come just after
// its deadline was moved or removed: it looks again, under its own lock, whether the time has come.
type deadlines struct {
	now func() time.Time

	mu    sync.Mutex // innermost: nothing is locked under it
	heap  deadlineHeap
	timer *time.Timer
	armed time.Time // when the timer fires; zero when it does not
}

// grain is the least time between two firings, so that many deadlines close together cost one.
const grain = 10 * time.Millisecond

// set adds a deadline, or moves it.
func (s *deadlines) set(d *deadline, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.at = at
	if d.inHeap {
		heap.Fix(&s.heap, d.place)
	} else {
		heap.Push(&s.heap, d)
	}
	s.arm(0)
}

// remove takes a deadline away, whether it was set or not.
func (s *deadlines) remove(d *deadline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.inHeap {
		heap.Remove(&s.heap, d.place)
	}
	if len(s.heap) == 0 && s.timer != nil {
		s.timer.Stop()
		s.armed = time.Time{}
	}
}

// arm has the timer fire at the first deadline, or earlier, but not before least has passed.
func (s *deadlines) arm(least time.Duration) {
	if len(s.heap) == 0 {
		return
	}
	first := s.heap[0].at
	if !s.armed.IsZero() && !s.armed.After(first) {
		return // it fires early enough, and then sees what is next
	}
	now := s.now()
	wait := max(first.Sub(now), least)
	s.armed = now.Add(wait)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.fire)
	} else {
		s.timer.Reset(wait)
	}
}

// fire lapses all that is due.
func (s *deadlines) fire() {
	var due []*deadline
	s.mu.Lock()
	now := s.now()
	for len(s.heap) > 0 && !s.heap[0].at.After(now) {
		due = append(due, heap.Pop(&s.heap).(*deadline))
	}
	s.armed = time.Time{}
	s.arm(grain)
	s.mu.Unlock()
	for _, d := range due {
		d.lapse()
	}
}

// deadlineHeap is a heap.Interface, the earliest deadline first.
type deadlineHeap []*deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is heap.Interface's.
func (h *deadlineHeap) Push(x any) {
	d := x.(*deadline)
	d.place, d.inHeap = len(*h), true
	*h = append(*h, d)
}

// Pop is heap.Interface's.
func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	d.inHeap = false
	return d
}
