package batchstore

import (
	"fmt"
	"sort"

	"github.com/flightcache/flightcache/arrowipc"
)

// runRange gives the runs [first, end) that cover rows [from, from+n).
func runRange(ends []byte, width, runs, from, n int64) (first, end int64) {
	if n == 0 {
		return 0, 0
	}
	after := func(row int64) int64 {
		return int64(sort.Search(int(runs), func(i int) bool { return intAt(ends, width, int64(i)) > row }))
	}
	return after(from), after(from+n-1) + 1
}

// runEnds plans a run-end encoded column: runs are clipped to their piece and follow each other; adjacent runs of
// equal values stay apart.
func (p *concatPlan) runEnds(c *arrowipc.Column, pieces []piece, n int64) error {
	endsCol, width := c.Children[0], int64(c.Children[0].Width)
	if n > 1<<(8*width-1)-1 {
		return fmt.Errorf("%w: %d rows with run ends of %d bytes", errTooBig, n, width)
	}
	values := make([]piece, len(pieces))
	for i, q := range pieces {
		first, end := runRange(q.s.buf(endsCol, 1), width, q.s.node(endsCol).Length, q.from, q.n)
		values[i] = piece{q.s, first, end - first}
	}
	runs, err := total(values)
	if err != nil {
		return err
	}
	p.nodes = append(p.nodes, arrowipc.FieldNode{Length: runs})
	err = p.add(func(bufs [][]byte) {
		var at, base int64
		for i, q := range pieces {
			ends := q.s.buf(endsCol, 1)
			for k := values[i].from; k < values[i].from+values[i].n; k++ {
				end := min(intAt(ends, width, k)-q.from, q.n)
				putInt(bufs[1], width, at, base+end)
				at++
			}
			base += q.n
		}
	}, 0, runs*width)
	if err != nil {
		return err
	}
	return p.column(c.Children[1], values)
}
