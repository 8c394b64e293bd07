package plan

import (
	"errors"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/descriptors"
)

// ErrColumn means a column that the dataset does not have, or a name that means more than one.
var ErrColumn = errors.New("bad column")

// pickColumns turns the columns of a command into picks. Nil columns are all of them.
//
// A name that is a column's full name means that column, dots or not; else it is a dotted path into structs. Paths under
// one root merge into it at its first mention, children in the asked order; a parent absorbs its children; a repeated
// whole column repeats.
func pickColumns(s *arrowipc.Schema, columns []descriptors.Column) ([]arrowipc.Pick, error) {
	if columns == nil {
		picks := make([]arrowipc.Pick, len(s.Fields))
		for i := range picks {
			picks[i].Ordinal = i
		}
		return picks, nil
	}
	r := newResolver(s.Fields)
	roots := make([]*choice, 0, len(columns))
	partial := map[int]*choice{} // roots that are chosen in part, by ordinal
	whole := map[int]bool{}
	for _, c := range columns {
		path, err := r.resolve(c)
		if err != nil {
			return nil, err
		}
		ordinal := path[0]
		root := partial[ordinal]
		switch {
		case len(path) == 1:
			if root == nil {
				root = &choice{ordinal: ordinal}
				roots = append(roots, root)
			}
			root.add(nil) // a parent absorbs its children, where they stood first
			delete(partial, ordinal)
			whole[ordinal] = true
		case whole[ordinal]: // the child is in its parent already
		default:
			if root == nil {
				root = &choice{ordinal: ordinal}
				roots = append(roots, root)
				partial[ordinal] = root
			}
			root.add(path[1:])
		}
	}
	return picksOf(roots), nil
}

// choice is a field of which all or a part has been chosen.
type choice struct {
	ordinal  int
	whole    bool
	children []*choice       // in the order of their first mention
	at       map[int]*choice // children by ordinal
}

// add chooses the field at a path below c; the empty path is c itself.
func (c *choice) add(path []int) {
	for _, ordinal := range path {
		if c.whole {
			return
		}
		child := c.at[ordinal]
		if child == nil {
			child = &choice{ordinal: ordinal}
			if c.at == nil {
				c.at = map[int]*choice{}
			}
			c.at[ordinal] = child
			c.children = append(c.children, child)
		}
		c = child
	}
	c.whole, c.children, c.at = true, nil, nil
}

func picksOf(choices []*choice) []arrowipc.Pick {
	picks := make([]arrowipc.Pick, 0, len(choices))
	for _, c := range choices {
		picks = append(picks, arrowipc.Pick{Ordinal: c.ordinal, Children: picksOf(c.children)})
	}
	return picks
}
