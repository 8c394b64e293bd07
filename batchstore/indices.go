package batchstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// leaf is a dictionary-encoded column, at any depth.
type leaf struct {
	column     *arrowipc.Column
	dictionary int      // ordinal among the dictionaries of the layout
	path       []string // names from the top to the column
}

// leaves are the columns below cols, at any depth, that are encoded with one of the dictionaries. What those
// dictionaries' values are encoded with is not among them.
func leaves(cols []*arrowipc.Column, dicts []*arrowipc.DictionaryLayout) (out []leaf) {
	ordinal := make(map[int64]int, len(dicts))
	for i, d := range dicts {
		ordinal[d.ID] = i
	}
	var walk func(cols []*arrowipc.Column, path []string)
	walk = func(cols []*arrowipc.Column, path []string) {
		for _, c := range cols {
			at := append(path[:len(path):len(path)], c.Field.Name)
			if c.Field.Dictionary != nil {
				out = append(out, leaf{c, ordinal[c.Field.Dictionary.ID], at})
			}
			walk(c.Children, at)
		}
	}
	if len(dicts) > 0 {
		walk(cols, nil)
	}
	return out
}

// noLimit is a limit of checkIndices that every index keeps which is not negative.
const noLimit = math.MaxInt64

// checkIndices checks that every valid index of a column is one of limit values, and gives how many values the indices
// ask for: one more than the largest of them.
func checkIndices(s *source, x leaf, limit int64) (need int64, err error) {
	bitmap, indices := s.validity(x.column), s.buf(x.column, 1)
	for i := range s.node(x.column).Length {
		if !valid(bitmap, i) {
			continue
		}
		k := indexAt(indices, x.column, i)
		if k < 0 || k >= limit {
			return 0, fmt.Errorf("%w: column %q: index %s at row %d, where dictionary %d has %s", ErrInvalidBatch,
				strings.Join(x.path, "."), indexText(k, x.column), i, x.column.Field.Dictionary.ID, countText(limit))
		}
		need = max(need, k+1)
	}
	return need, nil
}

func indexText(k int64, c *arrowipc.Column) string {
	if c.Field.Dictionary.Signed {
		return fmt.Sprint(k)
	}
	return fmt.Sprint(uint64(k))
}

func countText(limit int64) string {
	if limit == noLimit {
		return "no such place"
	}
	return fmt.Sprintf("%d values", limit)
}

// indexAt is the i-th index of a dictionary-encoded column. An unsigned one of 64 bits may come out negative: it is then
// out of any dictionary's range.
func indexAt(b []byte, c *arrowipc.Column, i int64) int64 {
	if c.Width == 1 {
		if c.Field.Dictionary.Signed {
			return int64(int8(b[i]))
		}
		return int64(b[i])
	}
	if c.Field.Dictionary.Signed {
		return intAt(b, int64(c.Width), i)
	}
	switch c.Width {
	case 2:
		return int64(binary.LittleEndian.Uint16(b[i*2:]))
	case 4:
		return int64(binary.LittleEndian.Uint32(b[i*4:]))
	}
	return intAt(b, 8, i)
}

// putIndex writes the i-th index of a dictionary-encoded column.
func putIndex(b []byte, c *arrowipc.Column, i, v int64) {
	if c.Width == 1 {
		b[i] = byte(v)
		return
	}
	putInt(b, int64(c.Width), i, v)
}
