package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/descriptors"
)

// ErrColumn: a column that the dataset does not have, or a name that means more than one.
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
	r := resolver{fields: s.Fields, byName: make(map[string][]int, len(s.Fields))}
	for i, f := range s.Fields {
		r.byName[f.Name] = append(r.byName[f.Name], i)
	}
	picks := make([]arrowipc.Pick, 0, len(columns))
	partial := map[int]int{} // ordinal of a root that is chosen in part -> its place in picks
	whole := map[int]bool{}
	for _, c := range columns {
		path, err := r.resolve(c)
		if err != nil {
			return nil, err
		}
		root := path[0]
		at, merged := partial[root]
		switch {
		case len(path) == 1 && merged: // the parent absorbs its children, where they stood first
			picks[at].Children = nil
			delete(partial, root)
			whole[root] = true
		case len(path) == 1:
			picks = append(picks, arrowipc.Pick{Ordinal: root})
			whole[root] = true
		case whole[root]: // the child is in its parent already
		case merged:
			picks[at].Children = mergePath(picks[at].Children, path[1:])
		default:
			partial[root] = len(picks)
			picks = append(picks, arrowipc.Pick{Ordinal: root, Children: mergePath(nil, path[1:])})
		}
	}
	return picks, nil
}

// mergePath adds a path to the chosen children of a struct.
func mergePath(children []arrowipc.Pick, path []int) []arrowipc.Pick {
	for i := range children {
		c := &children[i]
		if c.Ordinal != path[0] {
			continue
		}
		switch {
		case len(path) == 1:
			c.Children = nil // the whole child absorbs its own children
		case c.Children != nil:
			c.Children = mergePath(c.Children, path[1:])
		}
		return children
	}
	p := arrowipc.Pick{Ordinal: path[0]}
	if len(path) > 1 {
		p.Children = mergePath(nil, path[1:])
	}
	return append(children, p)
}

// resolver finds columns of one schema.
type resolver struct {
	fields []*arrowipc.Field
	byName map[string][]int
}

// resolve gives the ordinals from a root down to the column.
func (r *resolver) resolve(c descriptors.Column) ([]int, error) {
	if c.IsOrdinal {
		if c.Ordinal < 0 || c.Ordinal >= len(r.fields) {
			return nil, fmt.Errorf("%w: ordinal %d; the dataset has %d columns, counted from 0", ErrColumn, c.Ordinal, len(r.fields))
		}
		return []int{c.Ordinal}, nil
	}
	switch at := r.byName[c.Name]; {
	case len(at) == 1:
		return at, nil
	case len(at) > 1:
		return nil, fmt.Errorf("%w: %q is the name of %d columns, of ordinals %s; give the ordinal", ErrColumn, c.Name, len(at), list(at))
	}
	path, err := descend(r.fields, c.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w; the dataset has %s", ErrColumn, c.Name, err, names(r.fields))
	}
	return path, nil
}

// errNoField says that a dotted path leads nowhere.
var errNoField = errors.New("no such column")

// descend follows a dotted path through structs. Names may hold dots themselves, so every split is tried; a path that
// can be read in two ways is ambiguous.
func descend(fields []*arrowipc.Field, path string) ([]int, error) {
	var found []int
	for i, f := range fields {
		rest, ok := strings.CutPrefix(path, f.Name)
		if !ok || rest != "" && rest[0] != '.' {
			continue
		}
		way := []int{i}
		if rest != "" {
			if f.Type.ID != arrowipc.TypeStruct || f.Dictionary != nil {
				continue
			}
			below, err := descend(f.Children, rest[1:])
			if errors.Is(err, errNoField) {
				continue
			}
			if err != nil {
				return nil, err
			}
			way = append(way, below...)
		}
		if found != nil {
			return nil, errors.New("it can be read as more than one column; choose the parent, or give an ordinal")
		}
		found = way
	}
	if found == nil {
		return nil, errNoField
	}
	return found, nil
}

func list(at []int) string {
	s := make([]string, len(at))
	for i, n := range at {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, ", ")
}

// names lists the columns of a schema for a message, the first few of many.
func names(fields []*arrowipc.Field) string {
	const most = 20
	var b strings.Builder
	for i, f := range fields {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(fields)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.64q", f.Name)
	}
	if b.Len() == 0 {
		return "no columns"
	}
	return b.String()
}
