package compress

import (
	"sync/atomic"
	"time"
)

// Use is what a [Pool] has done with one codec in one direction, since it was made. Buffers that are empty, and those that are
// stored raw when they come to be decoded, cost nothing and are not in it.
type Use struct {
	Codec   Codec // [LZ4] or [Zstd]
	Encodes bool  // else it decodes

	Buffers int64
	Time    time.Duration // of all goroutines together, without the waiting for a context
	Plain   int64         // bytes that were encoded, or decoded to
	Stored  int64         // bytes of the stored form, with its prefix, whether it was a frame or raw
}

// Uses tells of both codecs in both directions. Each number is right; they need not be of one moment.
func (p *Pool) Uses() []Use {
	var out []Use
	for _, c := range []Codec{LZ4, Zstd} {
		for _, encodes := range []bool{true, false} {
			u := p.used.of(c, encodes)
			out = append(out, Use{
				Codec: c, Encodes: encodes, Buffers: u.buffers.Load(), Time: time.Duration(u.nanoseconds.Load()),
				Plain: u.plain.Load(), Stored: u.stored.Load(),
			})
		}
	}
	return out
}

// use counts what was done with one codec in one direction.
type use struct{ buffers, nanoseconds, plain, stored atomic.Int64 }

func (u *use) add(d tally) {
	u.buffers.Add(d.buffers)
	u.nanoseconds.Add(int64(d.time))
	u.plain.Add(d.plain)
	u.stored.Add(d.stored)
}

// tally is what one goroutine has done.
type tally struct {
	buffers, plain, stored int64
	time                   time.Duration
}

// work counts all that a pool does.
type work [2][2]use // by codec, and by direction

func (w *work) of(c Codec, encodes bool) *use {
	direction := 0
	if encodes {
		direction = 1
	}
	return &w[c][direction]
}
