package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// auditLines are the lines of an audit in JSON: what they are about.
func auditLines(t *testing.T, text string) (events []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var fields struct{ Logger, Msg, Code, Dataset, Peer string }
		if json.Unmarshal([]byte(line), &fields) != nil || fields.Logger != "audit" {
			continue // the log's
		}
		if fields.Peer == "" {
			t.Errorf("no peer in %s", line)
		}
		events = append(events, fields.Msg+" "+fields.Dataset+" "+fields.Code)
	}
	return events
}

// Wherever the audit goes, it has the writes, and the log has them only where it is to.
func TestAudit(t *testing.T) {
	want := []string{"put d OK", "drop d OK", "drop d NotFound"}
	file := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(file, []byte("what was there\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		where          string
		stderr, onFile bool
	}{{"log", true, false}, {"stderr", true, false}, {"off", false, false}, {file, false, true}} {
		ready, stop := serve(t, "--http", "off", "--audit", x.where, "--log-format", "json", "--log-level", "error")
		must(t, "a,b\n1,2\n", "put", "-", "d", "--format", "csv", "--address", ready.Listen[0])
		must(t, "", "get", "d", "--address", ready.Listen[0])
		must(t, "", "drop", "d", "--address", ready.Listen[0])
		if r := flightcache(t, "", "drop", "d", "--address", ready.Listen[0]); r.code == 0 {
			t.Error("what is not there was dropped")
		}
		r := stop()
		if got := auditLines(t, r.stderr); (len(got) > 0) != x.stderr || x.stderr && !slices.Equal(got, want) {
			t.Errorf("%s: %q", x.where, got)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := auditLines(t, string(text)); (len(got) > 0) != x.onFile || x.onFile && !slices.Equal(got, want) {
			t.Errorf("%s: in the file %q", x.where, got)
		}
		if !strings.HasPrefix(string(text), "what was there\n") {
			t.Errorf("%s: what was there is gone: %s", x.where, text)
		}
	}
	r := flightcache(t, "", "serve", "--audit", filepath.Join(t.TempDir(), "absent", "audit"))
	if r.code == 0 || !strings.Contains(r.stderr, "--audit") || !strings.Contains(r.stderr, "absent") {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
}

// A file that was moved away is made anew, and what cannot be written is told once in the log, until it can be again.
func TestAuditFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		core, log := observer.New(zap.WarnLevel)
		a := &auditFile{path: filepath.Join(dir, "audit"), log: zap.New(core)}
		if err := a.open(); err != nil {
			t.Fatal(err)
		}
		defer a.close()
		write := func(line string, ok bool) {
			t.Helper()
			if _, err := a.Write([]byte(line)); (err == nil) != ok {
				t.Errorf("%q: %v", line, err)
			}
		}
		has := func(name, want string) {
			t.Helper()
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || string(text) != want {
				t.Errorf("%s: %q, %v; want %q", name, text, err, want)
			}
		}
		write("1\n", true)
		if err := os.Rename(a.path, filepath.Join(dir, "old")); err != nil {
			t.Fatal(err)
		}
		write("2\n", true) // it is looked once a second
		time.Sleep(lookEvery)
		write("3\n", true)
		write("4\n", true)
		has("old", "1\n2\n")
		has("audit", "3\n4\n")
		if info, err := os.Stat(a.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}

		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery)
		write("5\n", false)
		write("6\n", false)
		if n := log.Len(); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		if n := a.lost.Load(); n != 2 {
			t.Errorf("%d lines are counted as lost", n)
		}
		write("7\n", true)
		has("audit", "3\n4\n7\n")
		if all := log.TakeAll(); len(all) != 2 || !strings.Contains(all[1].Message, "missing") {
			t.Errorf("%v", all)
		}
	})
}
