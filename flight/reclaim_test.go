package flight

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// A client that gives up many reads, and stays, costs no memory: what gRPC forgot comes back though nothing is allocated.
func TestForgottenMemoryComesBack(t *testing.T) {
	f := start(t)
	f.put(byCommand(`{"dataset":"d","codec":"zstd","batching":"keep"}`), noise(repeat(20, 40_000)...))
	stored := f.charged()
	// By itself Go then collects nothing for two minutes.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range 100 {
		ctx, cancel := context.WithCancel(f.context())
		stalled(f, ctx, f.client, ways["decoded"])
		cancel()
	}
	f.settles(stored)
}

// Collections come while something is lent, less and less often, and end with it.
func TestCollectionsBecomeRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		var c reclaimer
		defer c.close()
		due := func() time.Duration {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.timer == nil {
				return 0
			}
			return c.wait
		}
		want := func(d time.Duration) {
			t.Helper()
			synctest.Wait()
			if got := due(); got != d {
				t.Errorf("the next collection is due after %v, want %v", got, d)
			}
		}
		want(0)
		if !r.lease.end() {
			t.Fatal("nothing is lent")
		}
		c.watch(r.lease)
		for d := firstCollection; d < lastCollection; d *= 2 {
			want(d)
			time.Sleep(d)
		}
		want(lastCollection)
		time.Sleep(lastCollection)
		want(lastCollection)
		c.watch(newRig(t, 0).lease) // another read is cut off
		want(firstCollection)
		r.free(0)
		r.free(1)
		time.Sleep(firstCollection)
		want(0)
	})
}
