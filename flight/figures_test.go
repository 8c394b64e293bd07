package flight

import (
	"regexp"
	"strings"
	"testing"
)

// figure is one number of server_stats.
func (f *fixture) figure(name string) int64 {
	f.Helper()
	var all map[string]int64
	if err := f.action("server_stats", "", &all); err != nil {
		f.Fatal(err)
	}
	n, ok := all[name]
	if !ok {
		f.Fatalf("there is no figure %q", name)
	}
	return n
}

// The action tells all figures, each once, in their order; each says what it is.
func TestFigures(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 1000))
	body, err := f.actionBody("server_stats", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	seen := map[string]bool{}
	for _, x := range f.server.Figures() {
		i := strings.Index(string(body), `"`+x.Name+`":`)
		if i <= at {
			t.Errorf("%s is not told, or out of order", x.Name)
		}
		at = i
		if seen[x.Name] || !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(x.Name) {
			t.Errorf("name %q", x.Name)
		}
		seen[x.Name] = true
		if !regexp.MustCompile(`^[A-Z].*\.$`).MatchString(x.Help) {
			t.Errorf("%s: help %q", x.Name, x.Help)
		}
		switch want := map[string]int64{"puts": 1, "rows_in": 1000, "datasets": 1, "charged_bytes": f.charged()}[x.Name]; x.Name {
		case "puts", "rows_in", "datasets", "charged_bytes":
			if x.Value != want {
				t.Errorf("%s is %d, want %d", x.Name, x.Value, want)
			}
		case "resident_bytes", "transport_limit_bytes", "bytes_in":
			if x.Value <= 0 {
				t.Errorf("%s is %d", x.Name, x.Value)
			}
		}
	}
}
