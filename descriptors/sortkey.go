package descriptors

import (
	"slices"
	"strings"
)

// SortKey is one key of the order that a put's rows are said to have. Nulls come last.
type SortKey struct {
	// Column is the name of a column or a dotted path. In JSON, "-" before it means descending, so an ascending key's name
	// cannot begin with "-".
	Column string
	// Descending tells that larger values come first.
	Descending bool
}

// String returns the key as the JSON of a command has it: a quoted name, with "-" before it if descending.
func (k SortKey) String() string { return string(k.append(nil)) }

func (k SortKey) append(buf []byte) []byte {
	if k.Descending {
		return appendString(buf, "-"+k.Column)
	}
	return appendString(buf, k.Column)
}

// parseSortedBy takes the list of sort keys, the most significant first.
func parseSortedBy(d *decoder, at string, c *PutCommand) error {
	if err := d.open(at, `a list of columns, such as ["x", "-y"]`); err != nil {
		return err
	}
	var keys []SortKey
	seen := map[string]bool{}
	for d.more() {
		if len(keys) == d.limits.Columns {
			return d.bad("%s: the list has more than %d entries; name fewer columns", at, d.limits.Columns)
		}
		place := index(at, len(keys))
		text, err := d.text(place)
		if err != nil {
			return err
		}
		name, descending := strings.CutPrefix(text, "-")
		if seen[name] {
			return d.bad("%s: the column %s is named twice; name it once", place, quote(name))
		}
		seen[name] = true
		keys = append(keys, SortKey{Column: name, Descending: descending})
	}
	if keys == nil {
		return d.bad("%s: it is empty; leave the key out for rows in no known order", at)
	}
	c.SortedBy = slices.Clip(keys)
	return d.close()
}
