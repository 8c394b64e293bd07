package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The heap's limit follows what is live, and is as before when pacing stops.
func TestPacing(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	p := startPacing()
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	small := limit()
	if small > 1<<30 {
		t.Errorf("the limit is %d", small)
	}
	live := make([]byte, 256<<20)
	for deadline := time.Now().Add(30 * time.Second); limit() < small+256<<20; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(deadline) {
			t.Fatalf("the limit is %d with %d bytes live", limit(), len(live))
		}
	}
	runtime.KeepAlive(live)
	for deadline := time.Now().Add(30 * time.Second); limit() > small+32<<20; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Now().After(deadline) {
			t.Fatalf("the limit stays %d", limit())
		}
	}
	p.stop()
	p.stop()
	runtime.GC()
	time.Sleep(10 * time.Millisecond)
	if n := limit(); n != before {
		t.Errorf("the limit is %d, it was %d", n, before)
	}
	t.Setenv("GOGC", "100")
	startPacing().stop()
	if n := limit(); n != before {
		t.Errorf("the limit is %d although the environment has one", n)
	}
}
