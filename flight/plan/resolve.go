package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/descriptors"
)

// resolver finds columns of one schema. A command may name tens of thousands of columns of a schema that has as many:
// names are looked up and never searched for.
type resolver struct {
	fields []*arrowipc.Field
	top    *level // nil until it is worth making
	few    int    // names that may still be searched for
	steps  int    // lookups so far
	most   int    // lookups that may be made
}

// fewNames is how many names are searched for before all are put into a table: of a schema of 1,500 columns, making the table takes
// as long as a hundred searches, and most of a read of one column.
const fewNames = 16

// mostSteps bounds the lookups for one command, about a second's. Only schemas made for it get there: a path can be
// split at any of its dots, and names with dots in them can be nested so that very many of the splits lead somewhere.
const mostSteps = 1 << 24

// level is the fields that one path of names leads to. Where names are not unique, these are children of several parents.
type level struct {
	named   map[string]*namesakes
	lengths []int // of the names, ascending: the only places where a path needs to be split
}

// namesakes are the fields of a level that have the same name.
type namesakes struct {
	fields []place
	below  *level // their children; nil until asked for
}

// place is one field, found by the ordinals of its parents and its own.
type place struct {
	parent  *place // nil for a top-level column
	ordinal int
	field   *arrowipc.Field
}

func newResolver(fields []*arrowipc.Field) *resolver {
	return &resolver{fields: fields, few: fewNames, most: mostSteps}
}

// table is the top-level columns by name.
func (r *resolver) table() *level {
	if r.top == nil {
		r.top = &level{named: make(map[string]*namesakes, len(r.fields))}
		r.top.add(nil, r.fields)
		r.top.sort()
	}
	return r.top
}

// search looks for the one top-level column of a name. There may be one though it finds none.
func (r *resolver) search(name string) (ordinal int, found bool) {
	if r.top != nil || r.few == 0 {
		return 0, false
	}
	r.few--
	for i, f := range r.fields {
		if f.Name == name {
			if found {
				return 0, false
			}
			ordinal, found = i, true
		}
	}
	return ordinal, found
}

func (l *level) add(parent *place, fields []*arrowipc.Field) {
	for i, f := range fields {
		n := l.named[f.Name]
		if n == nil {
			n = &namesakes{}
			l.named[f.Name] = n
			l.lengths = append(l.lengths, len(f.Name))
		}
		n.fields = append(n.fields, place{parent, i, f})
	}
}

func (l *level) sort() {
	slices.Sort(l.lengths)
	l.lengths = slices.Compact(l.lengths)
}

// level is the children of those namesakes that are structs. What a dictionary holds cannot be chosen in part.
func (n *namesakes) level() *level {
	if n.below == nil {
		n.below = &level{named: map[string]*namesakes{}}
		for i := range n.fields {
			if f := n.fields[i].field; f.Type.ID == arrowipc.TypeStruct && f.Dictionary == nil {
				n.below.add(&n.fields[i], f.Children)
			}
		}
		n.below.sort()
	}
	return n.below
}

// resolve gives the ordinals from a root down to the column.
func (r *resolver) resolve(c descriptors.Column) ([]int, error) {
	if c.IsOrdinal {
		if c.Ordinal < 0 || c.Ordinal >= len(r.fields) {
			return nil, fmt.Errorf("%w: ordinal %d; the dataset has %d columns, counted from 0", ErrColumn, c.Ordinal, len(r.fields))
		}
		return []int{c.Ordinal}, nil
	}
	if i, found := r.search(c.Name); found {
		return []int{i}, nil
	}
	top := r.table()
	if n := top.named[c.Name]; n != nil {
		if len(n.fields) > 1 {
			return nil, fmt.Errorf("%w: %s is the name of %d columns, of ordinals %s; give the ordinal",
				ErrColumn, quote(c.Name), len(n.fields), ordinals(n.fields))
		}
		return n.fields[0].path(), nil
	}
	found := r.find(nil, top, c.Name)
	switch {
	case r.steps > r.most:
		return nil, fmt.Errorf("%w: %s: the dataset's names can be read in too many ways; choose whole columns by ordinal",
			ErrColumn, quote(c.Name))
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s can be read as more than one column; choose its parent, by ordinal if need be",
			ErrColumn, quote(c.Name))
	case len(found) == 0:
		return nil, fmt.Errorf("%w: there is no %s; the dataset has %s", ErrColumn, quote(c.Name), names(r.fields))
	}
	return found[0].path(), nil
}

// find adds to found the fields that a dotted path may mean, until there are two: which is one too many. Names may hold
// dots themselves, so every split is tried.
func (r *resolver) find(found []*place, l *level, path string) []*place {
	for _, n := range l.lengths {
		if n > len(path) || len(found) > 1 || r.steps > r.most {
			break
		}
		if n < len(path) && path[n] != '.' {
			continue
		}
		r.steps++
		same := l.named[path[:n]]
		switch {
		case same == nil:
		case n < len(path):
			found = r.find(found, same.level(), path[n+1:])
		default:
			for i := range same.fields[:min(2, len(same.fields))] {
				found = append(found, &same.fields[i])
			}
		}
	}
	return found
}

// path is the ordinals from the root down to the field.
func (p *place) path() []int {
	var up []int
	for ; p != nil; p = p.parent {
		up = append(up, p.ordinal)
	}
	slices.Reverse(up)
	return up
}

// Messages travel as gRPC statuses, which clients take up to some KiB: what they quote is cut.
const (
	quotedBytes = 64 // of a name
	quotedItems = 20 // of a list
)

func quote(name string) string {
	if len(name) > quotedBytes {
		return fmt.Sprintf("%q…", name[:quotedBytes])
	}
	return fmt.Sprintf("%q", name)
}

// ordinals lists top-level columns for a message.
func ordinals(fields []place) string {
	return list(len(fields), func(i int) string { return fmt.Sprint(fields[i].ordinal) })
}

// names lists the columns of a schema for a message.
func names(fields []*arrowipc.Field) string {
	if len(fields) == 0 {
		return "no columns"
	}
	return list(len(fields), func(i int) string { return quote(fields[i].Name) })
}

// list joins n items, the first few of many.
func list(n int, item func(int) string) string {
	var b strings.Builder
	for i := range min(n, quotedItems) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item(i))
	}
	if n > quotedItems {
		fmt.Fprintf(&b, " and %d more", n-quotedItems)
	}
	return b.String()
}
