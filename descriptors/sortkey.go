package descriptors

import (
	"slices"
	"strings"
)

// SortKey is one key of the order that a put's rows are said to have. Nulls come last.
type SortKey struct {
	// Column is the name of a column or a dotted path.
	Column string
	// Descending tells that larger values come first.
	Descending bool
}

// String returns the key as commands and facts have it: the name, with "-" before it if descending. An ascending key whose
// name would then be read otherwise, as "-x" would, has "+" before it.
func (k SortKey) String() string {
	switch {
	case k.Descending:
		return "-" + k.Column
	case ParseSortKey(k.Column) != k:
		return "+" + k.Column
	}
	return k.Column
}

// ParseSortKey reads what [SortKey.String] writes. Every text is a key: "+" is a sign only before another sign.
func ParseSortKey(text string) SortKey {
	if rest, found := strings.CutPrefix(text, "+"); found && (strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+")) {
		return SortKey{Column: rest}
	}
	name, descending := strings.CutPrefix(text, "-")
	return SortKey{Column: name, Descending: descending}
}

func (k SortKey) append(buf []byte) []byte { return appendString(buf, k.String()) }

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
		key := ParseSortKey(text)
		if seen[key.Column] {
			return d.bad("%s: the column %s is named twice; name it once", place, quote(key.Column))
		}
		seen[key.Column] = true
		keys = append(keys, key)
	}
	if keys == nil {
		return d.bad("%s: it is empty; leave the key out for rows in no known order", at)
	}
	c.SortedBy = slices.Clip(keys)
	return d.close()
}
