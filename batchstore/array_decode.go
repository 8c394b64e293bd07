package batchstore

import (
	"fmt"
	"sort"
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
)

// dictionaryValues are the plain values of one dictionary, in parts that follow each other. It is never modified.
type dictionaryValues struct {
	column *arrowipc.Column // the one column of the parts' layout
	parts  []*source        // none is empty
	starts []int64          // index of each part's first value
	rows   int64
	null   func() (*source, error) // one row, null; made when it is first asked for
}

func newDictionaryValues(l *arrowipc.Layout) *dictionaryValues {
	return &dictionaryValues{column: l.Columns[0], null: sync.OnceValues(func() (*source, error) { return nullRow(l) })}
}

// with is v and one more part. It must be called once only on the same v: longer lists share their memory with shorter
// ones, so that growing part by part is not quadratic.
func (v *dictionaryValues) with(part *plainBatch) *dictionaryValues {
	longer := *v
	longer.parts = append(longer.parts, newSource(part))
	longer.starts = append(longer.starts, v.rows)
	longer.rows += part.rows
	return &longer
}

// only is v with just these values.
func (v *dictionaryValues) only(part *plainBatch) *dictionaryValues {
	x := *v
	x.parts, x.starts, x.rows = []*source{newSource(part)}, []int64{0}, part.rows
	return &x
}

// runs are all values.
func (v *dictionaryValues) runs() []run {
	out := make([]run, len(v.parts))
	for i, p := range v.parts {
		out[i] = run{b: p.plainBatch, n: p.rows}
	}
	return out
}

// maxPieces bounds what decoding a column takes of memory besides its values: a piece for each run of indices.
const maxPieces = 4 << 20

// decoded plans a dictionary-encoded column as its values: each index becomes a piece of one value, and indices that
// count up become one piece. Whatever type the values have, cutting and joining pieces knows how to write it.
func (p *concatPlan) decoded(c *arrowipc.Column, v *dictionaryValues, pieces []piece) error {
	var out []piece
	for _, q := range pieces {
		bitmap, indices := q.s.validity(c), q.s.buf(c, 1)
		for i := q.from; i < q.from+q.n; i++ {
			part, at := (*source)(nil), int64(0)
			if valid(bitmap, i) {
				part, at = v.find(indexAt(indices, c, i))
			} else {
				var err error
				if part, err = v.null(); err != nil {
					return err
				}
			}
			if k := len(out) - 1; k >= 0 && out[k].s == part && out[k].from+out[k].n == at {
				out[k].n++
				continue
			}
			if len(out) == maxPieces {
				return fmt.Errorf("%w: over %d dictionary values one by one", errTooBig, maxPieces)
			}
			out = append(out, piece{part, at, 1})
		}
	}
	return p.column(v.column, out)
}

// find gives the part that holds a value, and the value's place in it. The index is known to be in range.
func (v *dictionaryValues) find(index int64) (*source, int64) {
	k := 0
	if len(v.parts) > 1 {
		k = sort.Search(len(v.starts), func(i int) bool { return v.starts[i] > index }) - 1
	}
	return v.parts[k], index - v.starts[k]
}
