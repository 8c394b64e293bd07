package descriptors

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a dataset name.
const (
	// MaxSegments is the largest number of segments of a name.
	MaxSegments = 8
	// MaxSegmentBytes is the longest segment, in bytes of UTF-8.
	MaxSegmentBytes = 255

	maxNameBytes = MaxSegments*(MaxSegmentBytes+1) - 1
)

// Name is a dataset's name in its written form: its segments joined by '/', such as "sales/2024". The zero value names
// nothing. A Name that did not come from [ParseName] or [ParseNameString] may break their rules.
//
// Names are compared byte by byte: no case folding and no Unicode normalisation.
type Name string

// ParseName returns the name with these segments, as a descriptor's path has them, or ErrBadName.
//
// A name has 1 to [MaxSegments] segments. Each is 1 to [MaxSegmentBytes] bytes of valid UTF-8 without '/', without
// control characters (Unicode's category Cc, DEL among them) and without the line and paragraph separators U+2028 and
// U+2029. "." and ".." are refused, so that a name that is used as a file name or in a URL stays where it is. The first
// segment does not start with '{' or with the byte 0x01, which tell the other forms of a ticket.
func ParseName(segments []string) (Name, error) {
	if len(segments) == 0 {
		return "", fmt.Errorf("%w: it has no segment; give 1 to %d, such as [\"sales\", \"2024\"]", ErrBadName, MaxSegments)
	}
	if len(segments) > MaxSegments {
		return "", fmt.Errorf("%w: it has %d segments; at most %d are allowed", ErrBadName, len(segments), MaxSegments)
	}
	for i, s := range segments {
		if problem := segmentProblem(s, i == 0); problem != "" {
			return "", fmt.Errorf("%w: segment %d of %d, %s, %s", ErrBadName, i+1, len(segments), quote(s), problem)
		}
	}
	return Name(strings.Join(segments, "/")), nil
}

// ParseNameString returns the name that is written s, such as "sales/2024", or ErrBadName. The rules are those of
// [ParseName].
func ParseNameString(s string) (Name, error) {
	if len(s) > maxNameBytes {
		return "", fmt.Errorf("%w: %s has %d bytes; at most %d are allowed", ErrBadName, quote(s), len(s), maxNameBytes)
	}
	return ParseName(strings.Split(s, "/"))
}

// segmentProblem returns the rule that s breaks and what to do, or "".
func segmentProblem(s string, first bool) string {
	switch {
	case s == "":
		return "is empty; a segment has at least one character"
	case len(s) > MaxSegmentBytes:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(s), MaxSegmentBytes)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case s == "." || s == "..":
		return "is a relative folder name; choose another"
	case strings.Contains(s, "/"):
		return "contains '/'; give its parts as segments of their own"
	case first && s[0] == commandTicket:
		return "starts with '{', which starts a JSON command; choose another first character"
	}
	// The byte 0x01 needs no case of its own: it is a control character.
	for i, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return fmt.Sprintf("has the control character %U at byte %d; leave it out", r, i)
		}
	}
	return ""
}

// CheckNew reports ErrBadName for a name that no dataset may be given: one with characters that show nothing, or change the order in
// which others are shown (Unicode's category Cf, and what else is ignored by default), so that two names look alike or a line of a log is
// not what it seems. Those that writing needs are allowed: the joiners U+200C and U+200D, the vowel separator U+180E, and marks around
// numbers. Datasets that have such a name already can be read and dropped by it.
func (n Name) CheckNew() error {
	for i, r := range string(n) {
		if invisible(r) {
			return fmt.Errorf("%w: %s has the invisible character %U at byte %d; leave it out", ErrBadName, quote(string(n)), r, i)
		}
	}
	return nil
}

func invisible(r rune) bool {
	switch {
	case r < 0x80, r == '\u200c', r == '\u200d', r == '\u180e', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
}

// Legible is a text that a client has chosen as a log may have it: what is invisible or controls is written as \u202e.
func Legible(s string) string {
	hidden := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || invisible(r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Segments returns the name's segments, as a descriptor's path has them: nil for the zero value. The slice is the
// caller's.
func (n Name) Segments() []string {
	if n == "" {
		return nil
	}
	return strings.Split(string(n), "/")
}

// String returns the written form.
func (n Name) String() string { return string(n) }
