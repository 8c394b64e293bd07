package flight

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// framePool hands out the transport's frame buffers without clearing them: they are overwritten anyway, and clearing took a
// seventh of a put's CPU. Most frames of large messages are as large as frames may be. A buffer is never more than an eighth
// larger than what it is for, so that what the transport keeps is what is counted: see package intake.
//
// It is no sync.Pool since what it keeps is counted and bounded, and goes also where nothing is collected: a server that
// rests collects once in two minutes.
type framePool struct {
	idle atomic.Int64 // bytes of the buffers that are kept

	mu    sync.Mutex
	kept  []*[]byte
	least int  // that were kept at any time since the last trim
	timed bool // a trim is to come
}

const (
	frame = 16 << 10
	// maxIdleFrames bounds the buffers that wait to be used again, in bytes.
	maxIdleFrames = 64 << 20
	// idleFrameTime is how often what was not needed since the last time is let go of.
	idleFrameTime = 5 * time.Second
	// garbageFrames is how many bytes let go of at once are worth a collection. Nothing else may cause one for minutes, and what is
	// not counted any more is not to stay.
	garbageFrames = 4 << 20
)

// trim lets go of the buffers that were not needed since the last time, and comes again while there are any.
func (p *framePool) trim() {
	if p.shorten() >= garbageFrames {
		runtime.GC()
	}
}

// shorten is trim but for the collection. It gives the bytes that were let go of.
func (p *framePool) shorten() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := p.least * frame
	left := len(p.kept) - p.least
	clear(p.kept[left:])
	p.kept = p.kept[:left]
	p.least = left
	p.idle.Store(int64(left) * frame)
	p.timed = false
	p.time()
	return gone
}

// time has the pool trimmed, later, if anything is kept. The lock is held.
func (p *framePool) time() {
	if !p.timed && len(p.kept) > 0 {
		p.timed = true
		time.AfterFunc(idleFrameTime, p.trim)
	}
}

// Get gives a buffer of length n, with whatever was in it.
func (p *framePool) Get(n int) *[]byte {
	if n > frame || n <= frame*8/9 {
		b := make([]byte, n)
		return &b
	}
	p.mu.Lock()
	if last := len(p.kept) - 1; last >= 0 {
		b := p.kept[last]
		p.kept = p.kept[:last]
		p.least = min(p.least, last)
		p.idle.Add(-frame)
		p.mu.Unlock()
		*b = (*b)[:n]
		return b
	}
	p.mu.Unlock()
	b := make([]byte, n, frame)
	return &b
}

// Put takes a buffer back.
func (p *framePool) Put(b *[]byte) {
	if cap(*b) != frame {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) < maxIdleFrames/frame {
		p.kept = append(p.kept, b)
		p.idle.Add(frame)
		p.time()
	}
}
