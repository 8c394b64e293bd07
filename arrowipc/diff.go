package arrowipc

import (
	"fmt"
	"slices"
	"strings"
)

// Equal reports whether [Schema.Diff] finds no difference.
func (s *Schema) Equal(o *Schema) bool { return s.Diff(o) == "" }

// Diff says in one line where o, a schema that is put, first differs from s, the one that is here; it is "" if record
// batches of the one are record batches of the other. Compared are the fields' order, names, types, nullability,
// children and dictionary encodings: index type, order, and which fields share a dictionary, not ids. Metadata is not
// compared, and neither are the names of what has a fixed role in its parent: the children of lists, maps and run-end encoded columns, which
// producers name as they like.
func (s *Schema) Diff(o *Schema) string {
	ids := newPairs()
	for i, f := range s.Fields {
		if i >= len(o.Fields) {
			break
		}
		if d := ids.diffField(nil, f, o.Fields[i], true); d != "" {
			return fmt.Sprintf("column %d%s", i, d)
		}
	}
	if len(s.Fields) != len(o.Fields) {
		return fmt.Sprintf("%d columns here, %d put", len(s.Fields), len(o.Fields))
	}
	return ""
}

// pairs are the ids of the same dictionaries here and put, both ways.
type pairs struct{ put, here map[int64]int64 }

func newPairs() pairs { return pairs{map[int64]int64{}, map[int64]int64{}} }

// pair notes that two ids are of the same dictionary, or reports that each has another one's.
func (p pairs) pair(here, put int64) bool {
	a, known := p.put[here]
	b, too := p.here[put]
	p.put[here], p.here[put] = put, here
	return (!known || a == put) && (!too || b == here)
}

// diffField compares two fields, which are children of the one that path names, and begins its finding with the path.
func (p pairs) diffField(path []string, here, put *Field, named bool) string {
	if named && here.Name != put.Name {
		where := ""
		if len(path) > 0 {
			where = " " + quotePath(path)
		}
		return fmt.Sprintf("%s: a field named %s here, %s put", where, quotePath([]string{here.Name}), quotePath([]string{put.Name}))
	}
	path = append(path, here.Name)
	if !sameType(here, put) {
		return fmt.Sprintf(" %s: %s here, %s put", quotePath(path), shortType(here), shortType(put))
	}
	if d := here.Dictionary; d != nil && !p.pair(d.ID, put.Dictionary.ID) {
		return fmt.Sprintf(" %s: other columns share its dictionary here than put", quotePath(path))
	}
	if here.Nullable != put.Nullable {
		return fmt.Sprintf(" %s: %s here, %s put", quotePath(path), nullability(here), nullability(put))
	}
	named = hasNamedChildren(here)
	for i, child := range here.Children {
		if d := p.diffField(path, child, put.Children[i], named); d != "" {
			return d
		}
	}
	return ""
}

// sameType compares types but for what their children are.
func sameType(a, b *Field) bool {
	if (a.Dictionary == nil) != (b.Dictionary == nil) || len(a.Children) != len(b.Children) {
		return false
	}
	if d, e := a.Dictionary, b.Dictionary; d != nil {
		if d.IndexBits != e.IndexBits || d.Signed != e.Signed || d.Ordered != e.Ordered {
			return false
		}
	}
	t, u := a.Type, b.Type
	codes := slices.Equal(t.TypeCodes, u.TypeCodes)
	return codes && t.ID == u.ID && t.BitWidth == u.BitWidth && t.Signed == u.Signed && t.Precision == u.Precision &&
		t.Scale == u.Scale && t.Unit == u.Unit && t.Timezone == u.Timezone && t.ByteWidth == u.ByteWidth &&
		t.ListSize == u.ListSize && t.Dense == u.Dense && t.Sorted == u.Sorted
}

// hasNamedChildren reports whether the names of a field's children mean something.
func hasNamedChildren(f *Field) bool { return f.Type.ID == TypeStruct || f.Type.ID == TypeUnion }

func nullability(f *Field) string {
	if f.Nullable {
		return "nullable"
	}
	return "not null"
}

// shortType is the type's spelling, cut to a bearable length.
func shortType(f *Field) string {
	s := f.TypeString()
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD") // gRPC statuses are UTF-8
}
