package descriptors

import (
	"fmt"
	"slices"
	"strings"
)

// Key describes one key of a command's JSON object, for help texts and documentation.
type Key struct {
	// Name is the key.
	Name string
	// Doc says in one line what its value is and means.
	Doc string
	// Required says that the object must have it.
	Required bool
	// Supported says that this server takes it. A key of the grammar that is not supported yet is [ErrNotYet].
	Supported bool
}

// key is one row of a command's table: the one list that the parser, the search for the nearest key and the
// documentation read.
type key[C any] struct {
	name     string
	doc      string
	required bool
	parse    func(d *decoder, at string, c *C) error
}

// supported says whether the key is taken. One without a parser is a key of the grammar that is not supported yet.
func (k key[C]) supported() bool { return k.parse != nil }

func (k key[C]) word() string { return k.name }

// describeKeys returns the table for readers.
func describeKeys[C any](keys []key[C]) []Key {
	out := make([]Key, len(keys))
	for i, k := range keys {
		out[i] = Key{Name: k.name, Doc: k.doc, Required: k.required, Supported: k.supported()}
	}
	return out
}

// parseObject fills c from the JSON object raw by the table keys. The name what begins each message.
func parseObject[C any](raw []byte, what string, keys []key[C], limits Limits, c *C) error {
	d, err := newDecoder(raw, what, limits)
	if err != nil {
		return err
	}
	seen := make([]bool, len(keys))
	for d.more() {
		name, err := d.key()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k key[C]) bool { return k.name == name })
		switch {
		case i < 0:
			return d.bad("unknown key %s; %s", quote(name), hint(name, "keys", keys))
		case seen[i]:
			return d.bad("key %q is given twice; give it once", name)
		case !keys[i].supported():
			return fmt.Errorf("%s: %q %w; leave it out", what, name, ErrNotYet)
		}
		seen[i] = true
		if err := keys[i].parse(d, name, c); err != nil {
			return err
		}
	}
	if err := d.end(); err != nil {
		return err
	}
	for i, k := range keys {
		if k.required && !seen[i] {
			return d.bad("key %q is missing; it is %s", k.name, k.doc)
		}
	}
	return nil
}

// hint returns the end of the message about a name that is none of the rows' ("keys" or "actions"). A row that is not
// supported yet may be what was meant, but is not worth a mention otherwise.
func hint[R interface {
	word() string
	supported() bool
}](name, what string, rows []R) string {
	var known, supported []string
	for _, r := range rows {
		known = append(known, r.word())
		if r.supported() {
			supported = append(supported, r.word())
		}
	}
	if best, ok := nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "the " + what + " are " + strings.Join(supported, ", ")
}

// nearest returns the known word that name most likely means: the one with the smallest edit distance, if that is small
// for its length. Case is ignored.
func nearest(name string, known []string) (string, bool) {
	const longest = 64 // more is no slip of the pen, and the work stays bounded
	if len(name) > longest {
		return "", false
	}
	best, bestDistance := "", longest+1
	for _, k := range known {
		if d := EditDistance(strings.ToLower(name), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best, best != "" && bestDistance <= 1+len(best)/3
}
