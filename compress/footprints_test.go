//go:build !race

// Contexts of one goroutine are weighed here, one by one. The race detector has nothing to say of them, and takes ten times as long.

package compress

import "testing"

// A context's weight is what footprint says, whatever it has encoded.
func TestFootprints(t *testing.T) {
	src := append(text(3<<20), noise(1<<20)...)
	for s := range speed(speeds) {
		before := heap()
		e, err := s.newEncoder()
		if err != nil {
			t.Fatal(err)
		}
		e.EncodeAll(src, nil)
		e.EncodeAll(src[:1000], nil)
		if got := heap() - before; got > s.footprint() || got < s.footprint()/4 {
			t.Errorf("speed %d weighs %d bytes, stated are %d", s, got, s.footprint())
		}
		e.Close()
	}
}
