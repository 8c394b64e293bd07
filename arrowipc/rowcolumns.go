package arrowipc

// RowColumn is a column that has one slot in each row: a column of the schema, or a field of structs that are not within
// anything but structs.
type RowColumn struct {
	Column  *Column
	Parents []*Column // the structs around it, outermost first; a row is null where any of them is
	Path    []string  // names from the top down to it
}

// RowColumns are the columns that have one slot in each row, in preorder, structs before their fields.
func RowColumns(columns []*Column) (out []RowColumn) {
	var walk func(columns []*Column, parents []*Column, path []string)
	walk = func(columns []*Column, parents []*Column, path []string) {
		for _, c := range columns {
			path := append(path[:len(path):len(path)], c.Field.Name)
			out = append(out, RowColumn{c, parents, path})
			if c.Kind == KindStruct {
				walk(c.Children, append(parents[:len(parents):len(parents)], c), path)
			}
		}
	}
	walk(columns, nil, nil)
	return out
}
