package descriptors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParseNameTakes(t *testing.T) {
	long := strings.Repeat("x", MaxSegmentBytes)
	for _, segments := range [][]string{
		{"sales"},
		{"sales", "2024"},
		{"1", "2", "3", "4", "5", "6", "7", "8"},
		{long, long, long, long, long, long, long, long},
		{"mit Leerzeichen", " "},
		{"größe", "表", "🛫"},
		{"a", "{b}"},
		{"...", ".hidden", "a.b"},
		{"\u00a0", "\ufffd", "\ufeff"},
		{`C:\x`, `"quoted"`},
	} {
		name, err := ParseName(segments)
		if err != nil {
			t.Errorf("ParseName(%q): %v", segments, err)
			continue
		}
		if want := strings.Join(segments, "/"); name.String() != want {
			t.Errorf("ParseName(%q) = %q, want %q", segments, name, want)
		}
		if got := name.Segments(); !slices.Equal(got, segments) {
			t.Errorf("ParseName(%q).Segments() = %q", segments, got)
		}
		if again, err := ParseNameString(name.String()); err != nil || again != name {
			t.Errorf("ParseNameString(%q) = %q, %v", name, again, err)
		}
	}
}

func TestParseNameRefuses(t *testing.T) {
	for _, c := range []struct {
		segments []string
		want     string
	}{
		{nil, "no segment"},
		{strings.Split("1 2 3 4 5 6 7 8 9", " "), "9 segments"},
		{[]string{""}, "segment 1 of 1"},
		{[]string{"a", "", "c"}, `segment 2 of 3, "", is empty`},
		{[]string{"a", strings.Repeat("x", MaxSegmentBytes+1)}, "segment 2 of 2"},
		{[]string{strings.Repeat("é", MaxSegmentBytes/2+1)}, "has 256 bytes"},
		{[]string{"a/b"}, "contains '/'"},
		{[]string{"a", "."}, "relative folder"},
		{[]string{".."}, "relative folder"},
		{[]string{"{a"}, "starts with '{'"},
		{[]string{"\x01a"}, "U+0001"},
		{[]string{"a\x00"}, "U+0000 at byte 1"},
		{[]string{"a\n"}, "U+000A"},
		{[]string{"a", "\x7f"}, "U+007F at byte 0"},
		{[]string{"\u0085"}, "U+0085"},
		{[]string{"x\u2028"}, "U+2028"},
		{[]string{"x\u2029"}, "U+2029"},
		{[]string{"\xff"}, "not valid UTF-8"},
		{[]string{"\xed\xa0\x80"}, "not valid UTF-8"},
		{[]string{"ok", "\xc0\xaf"}, "segment 2 of 2"},
	} {
		name, err := ParseName(c.segments)
		checkRefused(t, err, ErrBadName, c.want)
		if name != "" {
			t.Errorf("ParseName(%q) = %q beside an error", c.segments, name)
		}
	}
}

func TestParseNameStringRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "is empty"},
		{"/a", "segment 1 of 2"},
		{"a/", "segment 2 of 2"},
		{"a//b", "segment 2 of 3"},
		{"a/../b", "segment 2 of 3"},
		{"a/b/c/d/e/f/g/h/i", "9 segments"},
		{strings.Repeat("/", 1<<20), "1048576 bytes"},
	} {
		_, err := ParseNameString(c.in)
		checkRefused(t, err, ErrBadName, c.want)
	}
}

// Names that look like others, or turn what stands around them, are not given to new datasets; those that writing needs are.
func TestNewNames(t *testing.T) {
	for _, s := range []string{
		"\u00ad", "\u034f", "\u061c", "\u115f", "\u200b", "\u200e", "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\u206f", "\u3164",
		"\ufeff", "\uffa0", "\ufff9", "\U0001d173", "\U000e0001", "\U000e0041",
	} {
		for _, segments := range [][]string{{s}, {"sales", "a" + s + "b"}} {
			name, err := ParseName(segments)
			if err != nil {
				t.Errorf("%+q: what is there cannot be named: %v", segments, err)
			}
			checkRefused(t, name.CheckNew(), ErrBadName, fmt.Sprintf("the invisible character %U", []rune(s)[0]))
			_, err = PutFromPath(segments)
			checkRefused(t, err, ErrBadName, "the invisible character")
			if !utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), invisible) {
				t.Errorf("the error is not legible: %+q", err)
			}
			command := fmt.Appendf(nil, `{"dataset":"%s"}`, name)
			_, err = PutFromCommand(command)
			checkRefused(t, err, ErrBadName, "the invisible character")
			_, err = DefaultLimits().ParseAction(ActionBegin, command)
			checkRefused(t, err, ErrBadName, "the invisible character")
			if _, err = ReadFromCommand(command); err != nil {
				t.Errorf("%+q cannot be read: %v", segments, err)
			}
			if _, err = DefaultLimits().ParseAction(ActionDrop, command); err != nil {
				t.Errorf("%+q cannot be dropped: %v", segments, err)
			}
		}
	}
	for _, s := range []string{"می\u200cخواهم", "क्\u200dष", "👩\u200d🚀", "❤\ufe0f", "ᠠ\u180e", "\u0600١", "größe", "表", "\u00a0"} {
		if err := Name(s).CheckNew(); err != nil {
			t.Errorf("%+q: %v", s, err)
		}
	}
}

func TestLegible(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "sales/2024": "sales/2024", "größe 表 👩\u200d🚀": "größe 表 👩\u200d🚀", "a\u202eb": `a\u202eb`, "\n\x7f\u2028": `\u000a\u007f\u2028`,
		"x\U000e0041": `x\U000e0041`, "\xff": "\xff",
	} {
		if got := Legible(s); got != want {
			t.Errorf("%+q is written %+q, want %+q", s, got, want)
		}
	}
}

func TestZeroNameHasNoSegments(t *testing.T) {
	if s := Name("").Segments(); s != nil {
		t.Errorf("segments of the zero name: %q", s)
	}
}

func TestMessagesStayShort(t *testing.T) {
	for _, s := range []string{strings.Repeat("é", 1<<16), strings.Repeat("\x80", 1<<16), "x" + strings.Repeat("🛫", 1<<16)} {
		_, err := ParseName([]string{s})
		if err == nil || len(err.Error()) > 400 || !utf8.ValidString(err.Error()) {
			t.Errorf("message about a long name: %v", err)
		}
	}
}

// drawName draws a valid name.
func drawName(t *rapid.T) Name {
	segment := rapid.StringN(1, 20, MaxSegmentBytes).Filter(func(s string) bool {
		return segmentProblem(s, true) == "" && strings.IndexFunc(s, invisible) < 0
	})
	name, err := ParseName(rapid.SliceOfN(segment, 1, MaxSegments).Draw(t, "segments"))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"sales/2024", "", "{", "\x01", "a//b", "..", "a/b/c/d/e/f/g/h/i", "é\u2028", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := ParseNameString(s)
		if err != nil {
			if !errors.Is(err, ErrBadName) || name != "" {
				t.Fatalf("%q, %v", name, err)
			}
			return
		}
		if name.String() != s {
			t.Fatalf("%q became %q", s, name)
		}
		again, err := ParseName(name.Segments())
		if err != nil || again != name {
			t.Fatalf("segments of %q give %q, %v", name, again, err)
		}
		ticket, err := ParseTicket([]byte(s), NewSealer([KeyBytes]byte{}))
		if err != nil || ticket.Command.Dataset != name {
			t.Fatalf("the plain ticket %q names %q, %v", s, ticket.Command.Dataset, err)
		}
	})
}

// checkRefused reports an error that is not of the kind or does not say what it should.
func checkRefused(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v; want an error of the kind %q that says %q", err, kind, says)
	}
}
