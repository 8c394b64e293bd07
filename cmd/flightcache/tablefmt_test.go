package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTable(t *testing.T) {
	tab := table{maxWidth: 20, columns: []tableColumn{{name: "n", note: "int64", right: true}, {name: "text"}, {name: "beyond"}}}
	tab.add("1", "日本", "x")
	tab.add("-20", "a\x1b[31m\tb", "y")
	var out bytes.Buffer
	if err := tab.write(&out); err != nil {
		t.Fatal(err)
	}
	tab.add("3000000", "later", "z")
	if err := tab.write(&out); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"    n  text\n" +
		"int64\n" +
		"─────  ────────────\n" +
		"    1  日本\n" +
		"  -20  a\\x1b[31m\\tb\n" +
		"3000000  later\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if tab.hidden() != 1 {
		t.Errorf("hidden %d, want 1", tab.hidden())
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in, want string
	}{
		{"short", "short"},
		{"exactly10!", "exactly10!"},
		{"eleven char", "eleven ch…"},
		{"日本語日本語", "日本語日…"},
		{"👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧"},
	} {
		if got := cut(tt.in, 10); got != tt.want {
			t.Errorf("cut(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode 日本": "plain ünïcode 日本",
		"\x1b]0;x\a":       `\x1b]0;x\a`,
		"a\xffb":           `a\xffb`,
		"\u202egnp.exe":    `\u202egnp.exe`,
		"new\nline":        `new\nline`,
		"\u009b31m":        `\u009b31m`,
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 330427898: "315.1 MiB", 1<<20 - 1: "1.0 MiB", math.MaxInt64: "8.0 EiB"} {
		if got := humanBytes(n); got != want {
			t.Errorf("humanBytes(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestErrorsAreOneLine holds that an error is one line without gRPC's own words and without control characters.
func TestErrorsAreOneLine(t *testing.T) {
	const address = "grpc://127.0.0.1:1"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{status.Error(codes.NotFound, "dataset \"x\" is not there"), `dataset "x" is not there`},
		{fmt.Errorf("reading: %w", status.Error(codes.InvalidArgument, "bad\ncolumn\x1b[2J")), `bad; column\x1b[2J`},
		{status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`),
			"cannot reach the server at grpc://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused (is `flightcache serve` running there?)"},
		{status.Error(codes.Unimplemented, "no action \"x\""), `the server at grpc://127.0.0.1:1 does not do this: no action "x"`},
		{status.Error(codes.Internal, ""), "the server answered Internal without a message"},
		{errors.New("plain"), "plain"},
		{errors.Join(errors.New("one"), errors.New("two")), "one; two"},
		{context.Canceled, "context canceled"},
	} {
		if got := oneLine(rpcError(address, tt.err)); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(&env{ctx: ctx, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}, []string{"ls", "--address", startServer(t)})
	if code != 1 || stderr.String() != "flightcache: interrupted\n" || stdout.Len() != 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}

func TestDialTarget(t *testing.T) {
	for in, want := range map[string]string{
		"grpc://127.0.0.1:8815":   "127.0.0.1:8815",
		"grpc://host":             "host:8815",
		"grpc+tcp://[::1]:9/":     "[::1]:9",
		"grpc+unix:///run/f.sock": "unix:///run/f.sock",
		"grpc+tls://host":         "host:8815",
	} {
		got, encrypted, err := dialTarget(in)
		if err != nil || got != want || encrypted != strings.HasPrefix(in, "grpc+tls:") {
			t.Errorf("dialTarget(%q) = %q, %t, %v, want %q", in, got, encrypted, err, want)
		}
	}
}

func TestFactsKeepOrderAndUnknownKeys(t *testing.T) {
	facts, err := parseFacts([]byte(`{"z":1234567,"stored_bytes":2048,"new":{"k":[1, 2]},"none":null,"ratio":0.25}`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeFacts(&out, facts); err != nil {
		t.Fatal(err)
	}
	want := "z             1,234,567\nstored bytes  2,048 (2.0 KiB)\nnew           {\"k\":[1,2]}\nnone          -\nratio         0.25\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	for _, bad := range []string{"", "[]", `{"a":`, `{"a":1`, "null"} {
		if _, err := parseFacts([]byte(bad)); err == nil {
			t.Errorf("parseFacts(%q): no error", bad)
		}
	}
}
