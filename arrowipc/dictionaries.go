package arrowipc

import "fmt"

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
				values := *f
				values.Dictionary = nil
				d.Values = layOut([]*Field{&values}) // not NewLayout: what is nested is listed here, once
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
					return malformed("field %q: dictionary %d is used within its own values", f.Name, d.ID)
				}
				if other := first[d.ID]; other == nil {
					first[d.ID] = f
				} else if a, b := valueType(other), valueType(f); a != b {
					return malformed("fields %q and %q share dictionary %d, but their values are %s and %s", other.Name, f.Name, d.ID, a, b)
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

// valueType spells the type of a dictionary-encoded field's values, the ids of dictionaries within them included.
func valueType(f *Field) string {
	values := *f
	values.Dictionary = nil
	s := values.TypeString()
	var ids func(fields []*Field)
	ids = func(fields []*Field) {
		for _, c := range fields {
			if c.Dictionary != nil {
				s += fmt.Sprintf(" #%d", c.Dictionary.ID)
			}
			ids(c.Children)
		}
	}
	ids(f.Children)
	return s
}
