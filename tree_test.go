package flightcache_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forbidden is what no source or document may hold, with the reason. The parts are joined when they are used: this file
// is looked through too.
var forbidden = []struct {
	parts  []string
	reason string
}{
	{[]string{"t.", "Skip"}, "a test that is passed over shows nothing"},
	{[]string{"b.", "Skip"}, "a benchmark that is passed over shows nothing"},
	{[]string{"pytest.", "skip"}, "a test that is passed over shows nothing"},
	{[]string{"pytest.mark.", "skip"}, "a test that is passed over shows nothing"},
	{[]string{"pytest.mark.", "xfail"}, "a test that may fail shows nothing"},
	{[]string{"TO", "DO"}, "what is to be done is not kept in the code"},
	{[]string{"FIX", "ME"}, "what is to be done is not kept in the code"},
	{[]string{"/ho", "me/"}, "an absolute path of one machine"},
	{[]string{"/Use", "rs/"}, "an absolute path of one machine"},
	{[]string{"/ro", "ot/"}, "an absolute path of one machine"},
	{[]string{"/wo", "rk/"}, "an absolute path of one machine"},
}

// offences are the forbidden strings in a text.
func offences(text string) (found []string) {
	for _, f := range forbidden {
		if s := strings.Join(f.parts, ""); strings.Contains(text, s) {
			found = append(found, s+": "+f.reason)
		}
	}
	return found
}

// The walk also tells the go command which files the tests of this package depend on: it would not know of those that
// `go list` reads for them.
func TestForbidden(t *testing.T) {
	kinds := []string{".go", ".md", ".py", ".toml", ".txt", ".txtar", ".yml"}
	made := []string{"bin", "target", "__pycache__"} // by the Makefile and by tools, as are those that begin with a dot
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(name, ".") || slices.Contains(made, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if name != "Makefile" && !slices.Contains(kinds, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, o := range offences(string(text)) {
			t.Errorf("%s: %s", path, o)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("%d files were looked at; there are more", files)
	}
}

func TestPlantedOffences(t *testing.T) {
	for _, f := range forbidden {
		if len(offences("a "+strings.Join(f.parts, "")+" b")) == 0 {
			t.Errorf("%q was not found", f.parts)
		}
	}
	if found := offences("nothing of the kind, such as https://example.org/homework or skips"); found != nil {
		t.Errorf("found %q", found)
	}
}
