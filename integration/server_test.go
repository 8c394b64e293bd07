package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What TestMain builds once: the server, and what makes certificates.
var binary, certificates string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "flightcache-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary, certificates = filepath.Join(folder, "flightcache"), filepath.Join(folder, "certificates")
	for path, source := range map[string]string{binary: "../cmd/flightcache", certificates: "./certificates"} {
		build := exec.Command("go", "build", "-o", path, source)
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return 0, fmt.Errorf("building %s: %w", source, err)
		}
	}
	return m.Run(), nil
}

// startServer starts a server on a port of its own and returns its host and port. The server is stopped, and must end
// with code 0, when the test is over.
func startServer(t *testing.T, flags ...string) string {
	t.Helper()
	return startListening(t, "grpc://127.0.0.1:0", flags...)
}

// startListening is startServer at an address, which may be one with TLS.
func startListening(t *testing.T, listen string, flags ...string) string {
	t.Helper()
	address, _ := startStoppable(t, listen, flags...)
	return address
}

// startStoppable is startListening for who has the server stop before the test is over: stop asks it to, once.
func startStoppable(t *testing.T, listen string, flags ...string) (address string, stop func()) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	arguments := append([]string{"serve", "--listen", listen, "--ready-file", ready, "--http", "off"}, flags...)
	command := exec.Command(binary, arguments...)
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	stop = sync.OnceFunc(func() { // a second signal would end it at once
		if err := command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("stopping the server: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended badly: %v\n%s", err, log.String())
		}
	})
	deadline := time.Now().Add(30 * time.Second)
	for {
		data, err := os.ReadFile(ready)
		if err == nil {
			return addressOf(t, data), stop
		}
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			t.Fatalf("the server is not ready: %v", err)
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended before it was ready: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func addressOf(t *testing.T, ready []byte) string {
	t.Helper()
	var facts struct{ Listen []string }
	if err := json.Unmarshal(ready, &facts); err != nil || len(facts.Listen) != 1 {
		t.Fatalf("ready file %s: %v", ready, err)
	}
	_, address, _ := strings.Cut(facts.Listen[0], "://")
	return address
}
