package descriptors

import (
	"errors"
	"strings"
)

// Pattern is one of names, by its segments: * is any text within a segment, and ** as a segment is any number of segments, or
// none. It is not modified.
type Pattern []string

// maxPattern is how many segments a pattern may have: those of a name, with ** between.
const maxPattern = 2*MaxSegments + 1

// ParsePattern reads a pattern such as "sales/**". The error says what is wrong with it, and does not repeat it.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern(strings.Split(s, "/"))
	if len(p) > maxPattern {
		return nil, errors.New("it has too many segments")
	}
	for i, segment := range p {
		switch {
		case segment == "":
			return nil, errors.New("it has an empty segment")
		case segment != "**" && strings.Contains(segment, "**"):
			return nil, errors.New("** stands alone between slashes")
		case segment == "**" && i > 0 && p[i-1] == "**":
			return nil, errors.New("** follows **")
		}
	}
	return p, nil
}

// String is the pattern as it is written.
func (p Pattern) String() string { return strings.Join(p, "/") }

// Matches tells whether a name, by its segments, is one of the pattern's.
func (p Pattern) Matches(name []string) bool {
	if len(p) == 0 {
		return len(name) == 0
	}
	if p[0] == "**" {
		for i := range len(name) + 1 {
			if p[1:].Matches(name[i:]) {
				return true
			}
		}
		return false
	}
	return len(name) > 0 && within(p[0], name[0]) && p[1:].Matches(name[1:])
}

// within tells whether a segment matches one of a pattern, in which * is any text: each text between two of them is looked for
// where it comes first, which leaves the most for those behind it.
func within(p, s string) bool {
	first, rest, starred := strings.Cut(p, "*")
	if !starred {
		return p == s
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}
