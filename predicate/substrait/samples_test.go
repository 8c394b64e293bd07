package substrait_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/predicate/substrait"
)

var update = flag.Bool("update", false, "write testdata/trees.txt anew")

// sample is one of testdata/samples.json, which testdata/generate.py writes.
type sample struct {
	Client     string `json:"client"`
	Filter     string `json:"filter"`
	Expression string `json:"expression"`
	Message    string `json:"message"`
	Refused    string `json:"refused"`
}

// message is the sample's bytes; nil if it has none.
func (s *sample) message(t testing.TB) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(s.Message)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func readSamples(t testing.TB) []sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, written []sample
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if (s.Message == "") == (s.Refused == "") {
			t.Errorf("%s: want either a message or a reason", s.Filter)
		}
		if s.Message != "" {
			written = append(written, s)
		}
	}
	return written
}

// TestSamples reads what real clients push down. The trees in testdata/trees.txt were read by a person against the filters
// beside them.
func TestSamples(t *testing.T) {
	samples := readSamples(t)
	if len(samples) < 100 {
		t.Errorf("%d samples; are some missing?", len(samples))
	}
	var got strings.Builder
	for _, s := range samples {
		e, err := substrait.Parse(s.message(t))
		client, _, _ := strings.Cut(s.Client, " ")
		fmt.Fprintf(&got, "%s: %s\n", client, s.Filter)
		if err != nil {
			fmt.Fprintf(&got, "\terror: %v\n", err)
		} else {
			fmt.Fprintf(&got, "\t%s\n", e)
		}
	}
	const file = "testdata/trees.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(gotLines) != len(wantLines) {
		t.Errorf("%d lines, want %d; run with -update and read what changed", len(gotLines), len(wantLines))
	}
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Errorf("line %d of %s:\n got %s\nwant %s", i+1, file, gotLines[i], wantLines[i])
		}
	}
}
