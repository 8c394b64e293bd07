package arrowipc

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Pick chooses one column, or of a struct some of its children.
type Pick struct {
	Ordinal  int    // position among its parent's children, or among the schema's fields
	Children []Pick // chosen children, below structs only; none: the whole field
}

// Projection is a choice of a schema's columns: the schema of the answer, and where the answer's columns lie in the
// stored batches. It is immutable.
type Projection struct {
	// Schema is the schema of the answer.
	Schema *Schema

	// Whole says that the choice is all columns in their order: Schema is the one that was projected, and a stored
	// header can be used as it is.
	Whole bool

	// Spans are the nodes, buffers and view columns of a stored batch that make up the answer, in the answer's order.
	// Adjacent ones are merged. A struct with chosen children gives its own node and validity buffer, then theirs.
	Spans []Span

	// Tree is the answer's columns at their places in the stored batches, in the answer's order. A column that is
	// chosen whole is the stored layout's own. A struct with chosen children is a copy whose Children are the chosen
	// ones and whose Field is the answer's; its Span still covers all that is stored of it.
	Tree []*Column
}

// Project chooses columns in the order of the picks; a column may be picked more than once, and no picks give a schema
// without columns. The message of the new schema is the old one's with its fields vector (and those of structs whose
// children are chosen) made anew: everything else, such as the custom metadata of the message, of the schema and of
// every field that is kept, names, dictionary ids and features, is as it came in, byte for byte.
//
// Errors are [ErrPick], and [ErrLimit] if repeated columns make the new schema larger than the limits under which the
// old one was parsed.
func (s *Schema) Project(picks []Pick) (*Projection, error) {
	picks, err := normalise(picks, s.Fields, nil)
	if err != nil {
		return nil, err
	}
	p := &Projection{}
	if len(picks) == len(s.Fields) && inOrder(picks) {
		p.Schema, p.Whole, p.Tree = s, true, s.Layout.Columns
		if len(picks) > 0 {
			p.Spans = []Span{s.Layout.Span}
		}
		return p, nil
	}
	pruner := pruner{lim: s.lim}
	fields, tree, err := pruner.prune(picks, s.Fields, s.Layout.Columns)
	if err != nil {
		return nil, err
	}
	p.Tree, p.Spans = tree, pruner.spans
	if p.Schema, err = s.rewrite(picks, fields); err != nil {
		return nil, err
	}
	return p, nil
}

// normalise checks picks and writes a struct whose children are all chosen, in order, as a whole one.
func normalise(picks []Pick, fields []*Field, path []string) ([]Pick, error) {
	normal := make([]Pick, 0, len(picks))
	for _, pick := range picks {
		if pick.Ordinal < 0 || pick.Ordinal >= len(fields) {
			in := "the schema"
			if len(path) > 0 {
				in = "field " + quotePath(path)
			}
			return nil, fmt.Errorf("%w: there is no column %d in %s, which has %d", ErrPick, pick.Ordinal, in, len(fields))
		}
		if len(pick.Children) > 0 {
			f := fields[pick.Ordinal]
			path := append(path, f.Name)
			if f.Type.ID != TypeStruct || f.Dictionary != nil {
				return nil, fmt.Errorf("%w: children of field %s are chosen, which is no struct", ErrPick, quotePath(path))
			}
			var err error
			if pick.Children, err = normalise(pick.Children, f.Children, path); err != nil {
				return nil, err
			}
			if len(pick.Children) == len(f.Children) && inOrder(pick.Children) {
				pick.Children = nil
			}
		}
		normal = append(normal, pick)
	}
	return normal, nil
}

// inOrder reports whether the picks are whole fields 0, 1, 2 and so on.
func inOrder(picks []Pick) bool {
	for i, pick := range picks {
		if pick.Ordinal != i || len(pick.Children) > 0 {
			return false
		}
	}
	return true
}

// pruner follows normal picks through fields and columns.
type pruner struct {
	lim    Limits
	spans  []Span
	fields int // chosen so far, their children included
}

func (p *pruner) prune(picks []Pick, fields []*Field, columns []*Column) ([]*Field, []*Column, error) {
	var newFields []*Field
	var newColumns []*Column
	for _, pick := range picks {
		f, c := fields[pick.Ordinal], columns[pick.Ordinal]
		if len(pick.Children) == 0 {
			if p.fields += f.count(); p.fields > p.lim.Fields {
				return nil, nil, overLimit(p.lim.Fields, p.fields, "fields or more in a projection")
			}
			p.add(c.Span)
			newFields, newColumns = append(newFields, f), append(newColumns, c)
			continue
		}
		p.fields++
		p.add(Span{
			Node0: c.Node0, Node1: c.Node0 + 1,
			Buf0: c.Buf0, Buf1: c.Buf0 + c.OwnBuffers(),
			View0: c.View0, View1: c.View0,
		})
		newField, newColumn := *f, *c
		var err error
		newField.Children, newColumn.Children, err = p.prune(pick.Children, f.Children, c.Children)
		if err != nil {
			return nil, nil, err
		}
		newColumn.Field = &newField
		newFields, newColumns = append(newFields, &newField), append(newColumns, &newColumn)
	}
	return newFields, newColumns, nil
}

// add appends a span, or extends the last one by it. Where nodes are adjacent, so are buffers and views.
func (p *pruner) add(s Span) {
	if n := len(p.spans); n > 0 && p.spans[n-1].Node1 == s.Node0 {
		last := &p.spans[n-1]
		last.Node1, last.Buf1, last.View1 = s.Node1, s.Buf1, s.View1
		return
	}
	p.spans = append(p.spans, s)
}

// count is the number of fields in the tree of f.
func (f *Field) count() int {
	n := 1
	for _, child := range f.Children {
		n += child.count()
	}
	return n
}

// rewrite makes the schema of picks, whose fields are already chosen, from the message of s.
func (s *Schema) rewrite(picks []Pick, fields []*Field) (*Schema, error) {
	c := s.newCopier()
	table, _ := s.root.table(messageHeader)
	vector := c.picked(table, schemaFields, picks)
	return s.finish(c, vector, fields)
}

// WithoutDictionaries is s with every field that is encoded with a chosen dictionary, nested ones included, as a field
// of the dictionary's values. All else is as it came in. It is s itself if it has no such field. The error is
// [ErrLimit] and only where shared parts of the message, once unshared, make it too large.
func (s *Schema) WithoutDictionaries(chosen func(id int64) bool) (*Schema, error) {
	fields := decoded(s.Fields, chosen)
	if fields == nil {
		return s, nil
	}
	c := s.newCopier()
	c.decode = chosen
	table, _ := s.root.table(messageHeader)
	return s.finish(c, c.outOfLine(schemaTable, schemaFields, table), fields)
}

// decoded is fields without the chosen dictionaries; nil if there are none.
func decoded(fields []*Field, chosen func(id int64) bool) []*Field {
	var changed []*Field
	for i, f := range fields {
		children := decoded(f.Children, chosen)
		decode := f.Dictionary != nil && chosen(f.Dictionary.ID)
		if children == nil && !decode {
			continue
		}
		if changed == nil {
			changed = append(changed, fields...)
		}
		plain := *f
		if decode {
			plain.Dictionary = nil
		}
		if children != nil {
			plain.Children = children
		}
		changed[i] = &plain
	}
	return changed
}

func (s *Schema) newCopier() *copier { return newCopier(s.lim) }

// newCopier makes a copier of what was verified under these limits.
func newCopier(lim Limits) *copier {
	// What verify counted leaves out padding and vtables, which at most double it.
	most := 2*min(lim.HeaderBytes, maxHeaderBytes) + 4096
	return &copier{b: flatbuffers.NewBuilder(1024), most: most}
}

// picked copies the chosen fields of the vector in a slot.
func (c *copier) picked(parent view, slot int, picks []Pick) flatbuffers.UOffsetT {
	start, _ := parent.vector(slot)
	offsets := make([]flatbuffers.UOffsetT, 0, len(picks))
	for _, pick := range picks {
		if c.over() {
			return 0
		}
		field := parent.element(start + 4*pick.Ordinal)
		var children replacement
		if len(pick.Children) > 0 {
			children = replacement{fieldChildren, c.picked(field, fieldChildren, pick.Children)}
		}
		offsets = append(offsets, c.table(fieldTable, field, children))
	}
	return c.b.CreateVectorOfTables(offsets)
}

// finish makes the schema that has a new vector of fields, and is otherwise s.
func (s *Schema) finish(c *copier, vector flatbuffers.UOffsetT, fields []*Field) (*Schema, error) {
	table, _ := s.root.table(messageHeader)
	header := c.table(schemaTable, table, replacement{schemaFields, vector})
	c.b.Finish(c.table(messageTable, s.root, replacement{messageHeader, header}))
	if c.over() {
		return nil, overLimit(s.lim.HeaderBytes, int(c.b.Offset()), "bytes or more in a new schema")
	}
	made := &Schema{Fields: fields, Metadata: s.Metadata, Layout: NewLayout(fields), lim: s.lim}
	made.keep(c.b.FinishedBytes())
	return made, nil
}
