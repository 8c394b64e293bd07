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
