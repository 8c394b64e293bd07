package batchstore

import (
	"slices"

	"github.com/flightcache/flightcache/arrowipc"
)

// interval is a run of top-level columns of a layout: first up to, but without, last.
type interval struct{ first, last int }

// touched are the top-level columns that field nodes of these spans belong to, as few intervals, in order.
func touched(l *arrowipc.Layout, spans []arrowipc.Span) []interval {
	hit := make([]bool, len(l.Columns))
	for _, span := range spans {
		for i, c := range l.Columns {
			if c.Node0 < span.Node1 && span.Node0 < c.Node1 {
				hit[i] = true
			}
		}
	}
	var out []interval
	for i, h := range hit {
		if k := len(out) - 1; h && k >= 0 && out[k].last == i {
			out[k].last++
		} else if h {
			out = append(out, interval{i, i + 1})
		}
	}
	return out
}

// extent is where the columns of an interval lie in the stored body, up to where the next column begins.
func (b *Batch) extent(x interval) part {
	return part{from: b.columnStart(x.first), to: b.columnStart(x.last)}
}

// columnStart is where the buffers of top-level column i begin in the stored body; of a column without any, and behind the
// last, where what comes next would. What lies before the first buffer goes with the first column, as segment.Range has it.
func (b *Batch) columnStart(i int) int64 {
	switch i {
	case len(b.layout.Columns):
		return b.size
	case 0:
		return 0
	}
	c, h := b.layout.Columns[i], &b.header
	k := c.Buf0 + int(sum(h.Variadic[:c.View0]))
	if k == len(h.Buffers) {
		return b.size
	}
	return h.Buffers[k].Offset
}

// view is the stored bytes of some columns of a batch, in memory. Whoever opened it releases it.
type view struct {
	mem   *resident
	parts []part // of the stored body; nil: mem is all of it
}

// part is a range of a stored body, and where it lies in a view's memory.
type part struct{ from, to, at int64 }

// slice gives the bytes of a buffer of one of the view's columns.
func (v view) slice(x arrowipc.Buffer) []byte {
	at := x.Offset
	if v.parts != nil {
		if x.Length == 0 {
			return nil
		}
		i, found := slices.BinarySearchFunc(v.parts, x.Offset, func(p part, at int64) int {
			switch {
			case p.to <= at:
				return -1
			case p.from > at:
				return 1
			}
			return 0
		})
		if !found {
			panic("batchstore: a buffer was asked for that was not opened")
		}
		at += v.parts[i].at - v.parts[i].from
	}
	return v.mem.block.B[at : at+x.Length : at+x.Length]
}

// slices are several of them.
func (v view) slices(buffers []arrowipc.Buffer) [][]byte {
	out := make([][]byte, len(buffers))
	for i, x := range buffers {
		out[i] = v.slice(x)
	}
	return out
}

func (v view) release() { v.mem.Release() }
