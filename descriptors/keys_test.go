package descriptors

import (
	"os"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestDocNamesEveryKey keeps doc.go with the tables: it has a line for each key and action that has a
// parser, and for no other.
func TestDocNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	supported := map[string]bool{}
	for _, keys := range [][]Key{ReadKeys(), PutKeys()} {
		for _, k := range keys {
			if k.Doc == "" {
				t.Errorf("key %q has no doc", k.Name)
			}
			supported[k.Name] = supported[k.Name] || k.Supported
			if k.Required != (k.Name == "dataset") {
				t.Errorf("key %q: required is %v", k.Name, k.Required)
			}
		}
	}
	for _, a := range Actions() {
		supported[a.Name] = true
	}
	for name, want := range supported {
		has := regexp.MustCompile(`(?m)^//\t` + name + ` +\w`).Match(doc)
		if has != want {
			t.Errorf("doc.go has a line for %q: %v; parsed: %v", name, has, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"columns", "count", "limit", "wire"}
	for _, c := range []struct {
		in, want string
	}{
		{"columns", "columns"}, {"colums", "columns"}, {"COLUMNS", "columns"}, {"column", "columns"}, {"limits", "limit"},
		{"wier", "wire"}, {"cuont", "count"}, {"", ""}, {"offset", ""}, {"generation", ""},
	} {
		got, ok := nearest(c.in, known)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("nearest(%q) = %q, %v; want %q", c.in, got, ok, c.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2},
		{"ab", "ba", 2},
	} {
		if got := EditDistance(c.a, c.b); got != c.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab, ba := EditDistance(a, b), EditDistance(b, a)
		if ab != ba || (ab == 0) != (a == b) || ab > EditDistance(a, c)+EditDistance(c, b) {
			t.Fatalf("no metric: %d, %d", ab, ba)
		}
	})
}
