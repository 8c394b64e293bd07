package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	dto "github.com/prometheus/client_model/go"
)

// tableOf gives the rows of the table below a heading of the README.
func tableOf(t *testing.T, heading string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("the README has no heading %q", heading)
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			break
		}
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	return rows
}

// documented compares a table of the README with what there is.
func documented(t *testing.T, heading string, want []string) {
	t.Helper()
	got := tableOf(t, heading)
	for _, row := range want {
		if !slices.Contains(got, row) {
			t.Errorf("README.md, %q lacks\n%s", heading, row)
		}
	}
	for _, row := range got {
		if !slices.Contains(want, row) {
			t.Errorf("README.md, %q has what is not so:\n%s", heading, row)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Errorf("README.md, %q: another order than\n%s", heading, strings.Join(want, "\n"))
	}
}

// row is a row of a table, whose first cells are code where they are not empty.
func row(text string, code ...string) string {
	for i, c := range code {
		if c != "" {
			code[i] = "`" + c + "`"
		}
	}
	return "| " + strings.Join(append(code, text), " | ") + " |"
}

// The README tells of every option of the server, with its default and what the help says, and of none that is not there.
func TestOptionsAreDocumented(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Vars{"csv_types": ""})
	if err != nil {
		t.Fatal(err)
	}
	flags := slices.Clone(parser.Model.Flags)
	for _, command := range parser.Model.Children {
		if command.Name == "serve" {
			flags = append(flags, command.Flags...)
		}
	}
	var want []string
	for _, f := range flags {
		if f.Name == "help" {
			continue
		}
		name := "--" + f.Name
		if f.PlaceHolder != "" {
			name += " " + f.PlaceHolder
		}
		def := f.Default
		if def == "0" && strings.Contains(f.Help, "0 is no limit") {
			def = "" // as the help says
		}
		want = append(want, row(f.Help, name, def))
	}
	if len(want) < 30 {
		t.Fatalf("only %d options: %q", len(want), want)
	}
	documented(t, "## Options of the server", want)
}

// labelsOf are the names of a metric's labels.
func labelsOf(f *dto.MetricFamily) string {
	names := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			names[l.GetName()] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// The README tells of every metric of the server, and of none that is not there.
func TestMetricsAreDocumented(t *testing.T) {
	ready, _ := serve(t, "--http", "127.0.0.1:0")
	families := scrape(t, ready.HTTP)
	var want []string
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if !strings.HasPrefix(name, "flightcache_") {
			continue
		}
		f := families[name]
		want = append(want, row(fmt.Sprintf("%s | %s", strings.ToLower(f.GetType().String()), f.GetHelp()), name, labelsOf(f)))
	}
	if len(want) < 40 {
		t.Fatalf("only %d metrics: %q", len(want), want)
	}
	documented(t, "## Metrics", want)
}
