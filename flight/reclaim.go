package flight

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// reclaimer has Go's heap collected after reads were cut off that left pieces with the transport. Those that gRPC forgot come
// back by no other way (see lease), and by itself an idle server collects every two minutes only: until then, puts might wait
// for memory that nobody uses.
type reclaimer struct {
	mu      sync.Mutex
	cut     []*lease      // whose handlers have returned, and of which pieces are lent
	timer   *time.Timer   // until the next collection; nil: none is to come
	wait    time.Duration // what the timer was set to
	pause   time.Duration // between collections, at least: they take a twentieth of the time at most
	running bool
	closed  bool
}

// Times between collections. The first is enough for gRPC to give back what it has not forgotten; they double, as a collection
// that gave nothing back shows that the pieces are in use.
const (
	firstCollection = 250 * time.Millisecond
	lastCollection  = time.Minute
)

// watch is told of a lease whose handler was cut off and has returned, while pieces are lent.
func (r *reclaimer) watch(l *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.cut = append(r.cut, l)
	if wait := max(firstCollection, r.pause); r.timer == nil || r.wait > wait {
		r.arm(wait)
	}
}

// arm sets the timer. The lock is held.
func (r *reclaimer) arm(wait time.Duration) {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.wait = wait
	r.timer = time.AfterFunc(wait, r.collect)
}

// collect collects if anything is still lent, and comes again.
func (r *reclaimer) collect() {
	r.mu.Lock()
	r.timer = nil
	r.cut = slices.DeleteFunc(r.cut, (*lease).idle)
	if len(r.cut) == 0 || r.closed || r.running {
		r.mu.Unlock()
		return
	}
	r.running = true
	again := min(2*r.wait, lastCollection)
	r.mu.Unlock()

	start := time.Now()
	runtime.GC()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
	r.pause = 20 * time.Since(start)
	if r.timer == nil && !r.closed {
		r.arm(max(again, r.pause))
	}
}

// close ends it. A collection that runs may still end after it, and touches nothing.
func (r *reclaimer) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.cut = true, nil
	if r.timer != nil {
		r.timer.Stop()
	}
}
