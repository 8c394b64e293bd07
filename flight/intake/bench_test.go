package intake

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
)

// dataFrames are the frames of a message of 1 MiB on an open stream, without its end.
func dataFrames(id uint32) []byte {
	var out bytes.Buffer
	f := http2.NewFramer(&out, nil)
	for message := messageOf(1 << 20); len(message) > 0; {
		n := min(len(message), 16<<10)
		f.WriteData(id, false, message[:n])
		message = message[n:]
	}
	return out.Bytes()
}

// counting gives a call that counts the message's bytes as they come, and as they are taken.
func counting(t testing.TB) func() {
	m := New(Options{})
	c := connect(t, m)
	s, frames := c.open(1), dataFrames(1)
	return func() {
		c.conn.received(frames)
		s.Took(1 << 20)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	call := counting(t)
	call()
	if n := testing.AllocsPerRun(20, call); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
}

// BenchmarkCounting is what the meter costs for each byte that is received.
func BenchmarkCounting(b *testing.B) {
	call := counting(b)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}
