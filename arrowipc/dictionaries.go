package arrowipc

// DictionaryLayout is the place of a dictionary's values in its dictionary batches.
type DictionaryLayout struct {
	ID     int64
	Values *Layout // one column: the values of the field, named as the field; its Dictionaries are not filled in
	// Ordered says that some field gives the order of the values a meaning.
	Ordered bool
	// Nested says that some other dictionary's values hold indices into this one.
	Nested bool
}

// dictionaries lists the dictionaries of fields, once each, a nested one before the one whose values need it.
func dictionaries(fields []*Field) []*DictionaryLayout {
	var out []*DictionaryLayout
	known := map[int64]*DictionaryLayout{}
	var walk func(fields []*Field, nested bool)
	walk = func(fields []*Field, nested bool) {
		for _, f := range fields {
			if f.Dictionary == nil {
				walk(f.Children, nested)
				continue
			}
			d := known[f.Dictionary.ID]
			if d == nil {
				d = &DictionaryLayout{ID: f.Dictionary.ID}
				known[d.ID] = d
				walk(f.Children, true)
				d.Values = layOut([]*Field{valuesOf(f)}) // not NewLayout: what is nested is listed here, once
				out = append(out, d)
			}
			d.Ordered = d.Ordered || f.Dictionary.Ordered
			d.Nested = d.Nested || nested
		}
	}
	walk(fields, false)
	return out
}

// checkDictionaries checks that fields which share a dictionary id have values of one type, and that no dictionary's
// values need the dictionary itself.
func checkDictionaries(fields []*Field) error {
	first := map[int64]*Field{}
	var walk func(fields []*Field, within map[int64]bool) error
	walk = func(fields []*Field, within map[int64]bool) error {
		for _, f := range fields {
			inside := within
			if d := f.Dictionary; d != nil {
				if within[d.ID] {
					return malformed("field %s: dictionary %d is used within its own values", quotePath([]string{f.Name}), d.ID)
				}
				if other := first[d.ID]; other == nil {
					first[d.ID] = f
				} else if !sameValues(other, f) {
					return malformed("fields %s and %s share dictionary %d, but their values are %s and %s",
						quotePath([]string{other.Name}), quotePath([]string{f.Name}), d.ID, shortType(valuesOf(other)), shortType(valuesOf(f)))
				}
				inside = map[int64]bool{d.ID: true}
				for id := range within {
					inside[id] = true
				}
			}
			if err := walk(f.Children, inside); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(fields, nil)
}

// sameValues reports whether two dictionary-encoded fields have values of one type, encoded with the same dictionaries
// where the values are encoded themselves. Types are not compared by their spelling: names can make two read the same.
func sameValues(a, b *Field) bool {
	x, y := valuesOf(a), valuesOf(b)
	y.Nullable = x.Nullable // that of the indices
	return newPairs().diffField(nil, x, y, false) == "" && sameIDs(x.Children, y.Children)
}

// valuesOf is a dictionary-encoded field as a field of its values.
func valuesOf(f *Field) *Field {
	values := *f
	values.Dictionary = nil
	return &values
}

// sameIDs compares the dictionary ids within fields of the same types.
func sameIDs(a, b []*Field) bool {
	for i, f := range a {
		if d := f.Dictionary; d != nil && d.ID != b[i].Dictionary.ID {
			return false
		}
		if !sameIDs(f.Children, b[i].Children) {
			return false
		}
	}
	return true
}
