package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"flightcache": main})
}

// leakChecked fails the run if tests that passed left goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// TestScripts runs the scripts of testdata/script against the program itself. Each script has a server of its own, whose
// address is in FLIGHTCACHE_ADDRESS.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("FLIGHTCACHE_ADDRESS", startServer(e.T().(testing.TB)))
			// Under the race detector a program waits at its end for reports of goroutines that still run: a second, if not told.
			e.Setenv("GORACE", "atexit_sleep_ms=20")
			return nil
		},
	})
}

// result is what a run of the program gave.
type result struct {
	code           int
	stdout, stderr string
}

// flightcache runs the program in this process.
func flightcache(t testing.TB, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(&env{ctx: context.Background(), stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr}, args)
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// must runs the program and fails the test if it fails.
func must(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	r := flightcache(t, stdin, args...)
	if r.code != 0 {
		t.Fatalf("flightcache %s: exit code %d: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}
