package descriptors

import (
	"errors"
	"os"
	"regexp"
	"slices"
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
	switchOn(t)
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

// switchOn has every key and action that has a parser taken until the test ends.
func switchOn(t testing.TB) {
	t.Helper()
	switchKeys(t, readKeys, func(string) bool { return false })
	switchKeys(t, putKeys, func(string) bool { return false })
	saved := slices.Clone(actions)
	t.Cleanup(func() { copy(actions, saved) })
	for i := range actions {
		actions[i].notYet = false
	}
}

// switchKeys has the keys of a table refused for which notYet is true, and all others that have a parser taken, until the
// test ends.
func switchKeys[C any](t testing.TB, keys []key[C], notYet func(name string) bool) {
	t.Helper()
	saved := slices.Clone(keys)
	t.Cleanup(func() { copy(keys, saved) })
	for i := range keys {
		keys[i].notYet = notYet(keys[i].name)
	}
}

// A key that is switched off is refused whatever follows it, and one that is switched on is read.
func TestSwitchedKeys(t *testing.T) {
	for _, name := range []string{"filters", "substrait", "prune_only", "count", "statistics", "partitions"} {
		in := []byte(`{"dataset":"x","` + name + `":{}}`)
		switchKeys(t, readKeys, func(n string) bool { return n == name })
		_, err := ReadFromCommand(in)
		checkRefused(t, err, ErrNotYet, `read command: "`+name+`" is not yet supported by this server; leave it out`)
		if errors.Is(err, ErrBadCommand) {
			t.Errorf("%s: %v is a bad command too", name, err)
		}
		switchOn(t)
		_, err = ReadFromCommand(in)
		checkRefused(t, err, ErrBadCommand, "read command: "+name+": want")
	}
	switchKeys(t, putKeys, func(n string) bool { return n == "sorted_by" })
	_, err := PutFromCommand([]byte(`{"dataset":"x","sorted_by":["x"]}`))
	checkRefused(t, err, ErrNotYet, `"sorted_by" is not yet supported`)
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
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab, ba := editDistance(a, b), editDistance(b, a)
		if ab != ba || (ab == 0) != (a == b) || ab > editDistance(a, c)+editDistance(c, b) {
			t.Fatalf("no metric: %d, %d", ab, ba)
		}
	})
}
