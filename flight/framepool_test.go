package flight

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// Buffers are as large as asked, at most an eighth larger, and used again.
func TestFramePool(t *testing.T) {
	p := &framePool{}
	for _, n := range []int{0, 1, 1025, 4096, frame * 8 / 9, frame*8/9 + 1, frame - 1, frame, frame + 1, 1 << 20} {
		b := p.Get(n)
		if len(*b) != n || cap(*b) > n+n/8+8 {
			t.Errorf("%d bytes: length %d, capacity %d", n, len(*b), cap(*b))
		}
		(*b) = (*b)[:n/2] // as the transport may
		p.Put(b)
	}
	if n := p.idle.Load(); n != frame { // the three of a frame's size were one
		t.Errorf("%d bytes are idle", n)
	}
	var wg, taken sync.WaitGroup
	taken.Add(4)
	for range 4 {
		wg.Go(func() {
			var all []*[]byte
			for range 2 * maxIdleFrames / frame / 4 {
				all = append(all, p.Get(frame))
			}
			taken.Done()
			taken.Wait()
			for _, b := range all {
				p.Put(b)
			}
		})
	}
	wg.Wait()
	if n := p.idle.Load(); n != maxIdleFrames {
		t.Errorf("%d bytes are idle, of twice %d that came back", n, maxIdleFrames)
	}
}

// What is not needed goes with the collections.
func TestFramePoolIsTrimmed(t *testing.T) {
	p := newFramePool()
	var all []*[]byte
	for range 100 {
		all = append(all, p.Get(frame))
	}
	for _, b := range all {
		p.Put(b)
	}
	p.trim()
	if n := p.idle.Load(); n != 100*frame {
		t.Errorf("%d bytes are idle, though all were needed", n)
	}
	for range 30 {
		all = append(all, p.Get(frame))
	}
	for _, b := range all[100:] {
		p.Put(b)
	}
	p.trim()
	if n := p.idle.Load(); n != 30*frame {
		t.Errorf("%d bytes are idle, 30 frames were needed", n)
	}
	for deadline := time.Now().Add(patience); p.idle.Load() > 0; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(deadline) {
			t.Fatal("idle frames outlive collections")
		}
	}
}
