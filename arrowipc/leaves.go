package arrowipc

// Leaf is a column that has one value in each row: a column of the schema that is not nested, or a field of structs that
// are not within anything but structs.
type Leaf struct {
	Column  *Column
	Parents []*Column // the structs around it, outermost first; a row is null where any of them is
	Path    []string  // names from the top down to it
}

// Leaves are the leaves of columns, in preorder. A dictionary-encoded column is one, whatever its values are.
func Leaves(columns []*Column) (out []Leaf) {
	var walk func(columns []*Column, parents []*Column, path []string)
	walk = func(columns []*Column, parents []*Column, path []string) {
		for _, c := range columns {
			path := append(path[:len(path):len(path)], c.Field.Name)
			switch c.Kind {
			case KindStruct:
				walk(c.Children, append(parents[:len(parents):len(parents)], c), path)
			case KindNull, KindBool, KindFixed, KindBinary, KindLargeBinary, KindView:
				out = append(out, Leaf{c, parents, path})
			}
		}
	}
	walk(columns, nil, nil)
	return out
}
