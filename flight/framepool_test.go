package flight

import (
	"sync"
	"testing"
	"testing/synctest"
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

// What is not needed goes with time, and the pool then rests.
func TestFramePoolIsTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &framePool{}
		use := func(n int) {
			var all []*[]byte
			for range n {
				all = append(all, p.Get(frame))
			}
			for _, b := range all {
				p.Put(b)
			}
		}
		use(100)
		for _, want := range []int64{100, 30, 0} {
			if n := p.idle.Load(); n < want*frame {
				t.Errorf("%d bytes are idle before %d frames are", n, want)
			}
			time.Sleep(idleFrameTime)
			synctest.Wait()
			if n := p.idle.Load(); n != want*frame {
				t.Errorf("%d bytes are idle, %d frames were needed", n, want)
			}
			if want == 100 {
				use(30)
			}
		}
		if p.timed {
			t.Error("an empty pool is still trimmed")
		}
	})
}
