package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// garbage is how much Go's heap may hold beside what is live, and an eighth of that, before it is collected. By itself Go lets
// a heap double: what is received and the facts of datasets would then take twice what is counted for them.
const garbage = 16 << 20

// quiet is how long there must be no collection until one is forced, once: a server that has nothing to do gives its memory
// back, also what is given back only because nobody refers to it.
const quiet = 5 * time.Second

// pacer sets Go's memory limit anew after each collection.
type pacer struct {
	samples []metrics.Sample
	end     chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	limit   int64 // as it was set
	before  int64 // as it was found
	stopped bool
}

// Metrics that the pacer reads, in bytes.
const (
	liveBytes = iota
	totalBytes
	objectBytes
	freeBytes
	releasedBytes
)

// startPacing has the heap collected before it grows far beyond what is live, unless the environment says how it should be.
// The caller stops it.
func startPacing() *pacer {
	p := &pacer{samples: make([]metrics.Sample, 5), end: make(chan struct{})}
	for i, name := range []string{
		liveBytes: "/gc/heap/live:bytes", totalBytes: "/memory/classes/total:bytes", objectBytes: "/memory/classes/heap/objects:bytes",
		freeBytes: "/memory/classes/heap/free:bytes", releasedBytes: "/memory/classes/heap/released:bytes",
	} {
		p.samples[i].Name = name
	}
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		p.stopped = true
		return p
	}
	p.before = debug.SetMemoryLimit(-1)
	p.limit = p.before
	runtime.GC()
	p.pace()
	p.ended.Go(p.clean)
	return p
}

// clean forces collections.
func (p *pacer) clean() {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	var stats debug.GCStats
	last, forced := int64(0), int64(0)
	for {
		select {
		case <-p.end:
			return
		case <-tick.C:
		}
		debug.ReadGCStats(&stats)
		if stats.NumGC == last && stats.NumGC != forced {
			runtime.GC() // what is kept to be used again goes with the second
			debug.FreeOSMemory()
			debug.ReadGCStats(&stats)
			forced = stats.NumGC
		}
		last = stats.NumGC
	}
}

// sentinel is found unreachable by the next collection.
type sentinel struct{ p *pacer }

// pace sets the limit, and comes again after the next collection.
func (p *pacer) pace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	metrics.Read(p.samples)
	bytes := func(i int) int64 { return int64(p.samples[i].Value.Uint64()) }
	beside := bytes(totalBytes) - bytes(objectBytes) - bytes(freeBytes) - bytes(releasedBytes) // stacks, and what the heap is managed by
	live := bytes(liveBytes)
	limit := beside + live + live/8 + garbage
	if off := limit - p.limit; off > limit/32 || off < -limit/32 { // to set it stops the world for a moment
		debug.SetMemoryLimit(limit)
		p.limit = limit
	}
	runtime.AddCleanup(&sentinel{p}, (*pacer).pace, p)
}

// stop leaves the limit as it was found. It may be called more than once.
func (p *pacer) stop() {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		debug.SetMemoryLimit(p.before)
		close(p.end)
	}
	p.mu.Unlock()
	p.ended.Wait()
}
