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
// children and dictionary encodings (index type and order, not ids). Metadata is not compared, and neither are the
// names of what has a fixed role in its parent: the children of lists, maps and run-end encoded columns, which
// producers name as they like.
func (s *Schema) Diff(o *Schema) string {
	for i, f := range s.Fields {
		if i >= len(o.Fields) {
			break
		}
		if d := diffField(nil, f, o.Fields[i], true); d != "" {
			return fmt.Sprintf("column %d%s", i, d)
		}
	}
	if len(s.Fields) != len(o.Fields) {
		return fmt.Sprintf("%d columns here, %d put", len(s.Fields), len(o.Fields))
	}
	return ""
}

// diffField compares two fields, which are children of the one that path names, and begins its finding with the path.
func diffField(path []string, here, put *Field, named bool) string {
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
	if here.Nullable != put.Nullable {
		return fmt.Sprintf(" %s: %s here, %s put", quotePath(path), nullability(here), nullability(put))
	}
	named = hasNamedChildren(here)
	for i, child := range here.Children {
		if d := diffField(path, child, put.Children[i], named); d != "" {
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
