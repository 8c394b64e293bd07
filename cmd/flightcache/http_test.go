package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flightcache/flightcache/flight"
)

// serve runs the command of that name, and gives what its ready file says. Stop ends it as a signal would, and gives its
// result.
func serve(t *testing.T, args ...string) (ready readiness, stop func() result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	ctx, cancel := context.WithCancel(context.Background())
	var out, log bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(&env{ctx: ctx, stdin: strings.NewReader(""), stdout: &out, stderr: &log},
			append([]string{"serve", "--listen", "grpc://127.0.0.1:0", "--ready-file", file}, args...))
	}()
	stop = func() result {
		cancel()
		code := <-ended
		ended <- code
		return result{code: code, stdout: out.String(), stderr: log.String()}
	}
	t.Cleanup(func() { stop() })
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			if err := json.Unmarshal(text, &ready); err != nil {
				t.Fatal(err)
			}
			return ready, stop
		}
		select {
		case code := <-ended:
			ended <- code
			t.Fatalf("it ended with code %d: %s", code, log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not ready")
		}
	}
}

// ask gets a page.
func ask(t *testing.T, address, path string) (status int, kind, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header.Get("Content-Type"), string(b)
}

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	status, kind, body := ask(t, address, "/metrics")
	if status != http.StatusOK || !strings.HasPrefix(kind, "text/plain") {
		t.Fatalf("status %d, %s", status, kind)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "flightcache_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if err != nil {
		t.Error(err)
	}
	return families
}

// Every figure of server_stats is a metric, of the kind that it is, with the same value.
func TestMetrics(t *testing.T) {
	ready, stop := serve(t, "--http", "127.0.0.1:0", "--memory", "64MiB")
	must(t, "a,b\n1,2\n3,4\n", "put", "-", "d", "--format", "csv", "--address", ready.Listen[0])
	must(t, "", "get", "d", "--address", ready.Listen[0])
	var stats map[string]json.Number
	if err := json.Unmarshal([]byte(must(t, "", "stats", "--output", "json", "--address", ready.Listen[0])), &stats); err != nil {
		t.Fatal(err)
	}
	families := scrape(t, ready.HTTP)
	for name, want := range stats {
		family, kind := families[flight.Figure{Name: name}.Metric()], dto.MetricType_GAUGE
		if total := families[flight.Figure{Name: name, Total: true}.Metric()]; total != nil {
			family, kind = total, dto.MetricType_COUNTER
		}
		samples := 1
		if name == "evictions" { // by reason
			family, kind, samples = families["flightcache_evictions_total"], dto.MetricType_COUNTER, 2
		}
		if family == nil {
			t.Errorf("%s is no metric", name)
			continue
		}
		if family.GetType() != kind || family.GetHelp() == "" || len(family.Metric) != samples {
			t.Errorf("%v", family)
			continue
		}
		got := sum(family, nil)
		switch name {
		case "resident_bytes", "goroutines", "mappings", "transport_bytes", "gets", "connections", "connections_accepted": // may have changed meanwhile
		default:
			if n, _ := want.Float64(); got != n {
				t.Errorf("%s is %v, %v in server_stats", name, got, n)
			}
		}
	}
	for name, least := range map[string]float64{
		"flightcache_puts_total": 1, "flightcache_received_rows_total": 2, "flightcache_budget_bytes": 64 << 20, "flightcache_datasets": 1,
		"flightcache_resident_bytes": 1 << 20, "flightcache_goroutines": 1, "flightcache_mappings": 1, "go_goroutines": 1,
		"process_resident_memory_bytes": 1 << 20, "process_open_fds": 1,
	} {
		f := families[name]
		if f == nil || sum(f, nil) < least {
			t.Errorf("%s: %v, want at least %v", name, f, least)
		}
	}
	if status, _, body := ask(t, ready.HTTP, "/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d, %q", status, body)
	}
	if status, _, _ := ask(t, ready.HTTP, "/elsewhere"); status != http.StatusNotFound {
		t.Errorf("elsewhere: %d", status)
	}
	if r := stop(); r.code != 0 {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
	if _, err := net.Dial("tcp", ready.HTTP); err == nil {
		t.Error("it listens after its end")
	}
}

// sum adds up what a metric counts with these labels: values, and of histograms the number of observations.
func sum(family *dto.MetricFamily, labels map[string]string) (total float64) {
	for _, m := range family.GetMetric() {
		matches := 0
		for _, l := range m.Label {
			if labels[l.GetName()] == l.GetValue() {
				matches++
			}
		}
		if matches == len(labels) {
			total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// Whoever asks whether the server is ready learns it from the first moment to the last; that it lives, all the time.
func TestReadiness(t *testing.T) {
	w, err := openHTTP("127.0.0.1:0", false, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	says := func(path, want string, code int) {
		t.Helper()
		if status, _, body := ask(t, w.address(), path); status != code || body != want {
			t.Errorf("%s: %d, %q", path, status, body)
		}
	}
	for _, step := range []struct {
		then func()
		want string
		code int
	}{
		{func() {}, "starting\n", http.StatusServiceUnavailable},
		{w.serving, "ok\n", http.StatusOK},
		{w.notServing, "stopping\n", http.StatusServiceUnavailable},
	} {
		step.then()
		says("/readyz", step.want, step.code)
		says("/healthz", "ok\n", http.StatusOK)
	}
}

// While a server reads its files it is not ready, and says so.
func TestNotReadyWhileStarting(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens") // whoever opens it waits for somebody who writes
	if err := syscall.Mkfifo(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	ready := filepath.Join(dir, "ready.json")
	go func() {
		ended <- run(&env{ctx: ctx, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard},
			[]string{"serve", "--listen", "grpc://127.0.0.1:0", "--http", address, "--auth-tokens", tokens, "--ready-file", ready})
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if status, _, body := ask(t, address, "/readyz"); status != http.StatusServiceUnavailable || body != "starting\n" {
		t.Errorf("%d, %q", status, body)
	}
	if families := scrape(t, address); families["go_goroutines"] == nil || families["flightcache_build_info"] == nil {
		t.Error("there are no metrics of the process while it starts")
	}
	cancel() // it is told to stop before it serves, and goes on to do both
	if err := os.WriteFile(tokens, []byte("a:"+strings.Repeat("0", 64)+"\n"), 0); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("code %d", code)
	}
}

// Profiles are there when they are asked for, and only then.
func TestProfiles(t *testing.T) {
	for flag, want := range map[string]int{"--pprof": http.StatusOK, "--pprof=false": http.StatusNotFound} {
		ready, _ := serve(t, "--http", "127.0.0.1:0", flag)
		for _, page := range []string{"", "goroutine?debug=1", "heap", "cmdline", "profile?seconds=1", "symbol"} {
			if status, _, _ := ask(t, ready.HTTP, "/debug/pprof/"+page); status != want {
				t.Errorf("%s: %q: %d", flag, page, status)
			}
		}
	}
	ready, _ := serve(t, "--http", "127.0.0.1:0", "--pprof")
	for _, page := range []string{"profile", "trace", "heap", "allocs", "mutex"} {
		for _, seconds := range []string{"61", "60.001", "1e9", "99999999999999999999", "Inf", "NaN", "-1", "x"} {
			status, _, body := ask(t, ready.HTTP, "/debug/pprof/"+page+"?seconds="+seconds)
			if status != http.StatusBadRequest || !strings.Contains(body, "want a number up to 60") {
				t.Errorf("%s of %s seconds: %d %s", page, seconds, status, body)
			}
		}
	}
	if status, _, body := ask(t, ready.HTTP, "/debug/pprof/trace?seconds=0.1"); status != http.StatusOK {
		t.Errorf("a short trace: %d %s", status, body)
	}
	core, logs := observer.New(zap.WarnLevel)
	for address, lines := range map[string]int{"127.0.0.1:0": 0, ":0": 1} {
		w, err := openHTTP(address, true, zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		w.close()
		if got := logs.TakeAll(); len(got) != lines {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestHTTPOptions(t *testing.T) {
	ready, stop := serve(t, "--http", "off")
	if ready.HTTP != "" || ready.PID != os.Getpid() || len(ready.Listen) != 1 {
		t.Errorf("%+v", ready)
	}
	stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for args, want := range map[string]string{
		"--http 0.0.0.0:8816":              "beyond the loopback",
		"--http :8816":                     "beyond the loopback",
		"--http example.com:8816":          "beyond the loopback",
		"--http 8816":                      "want HOST:PORT or off",
		"--http off --pprof":               "needs --http",
		"--http on":                        "want HOST:PORT or off",
		"--http " + taken.Addr().String():  "in use",
		"--memory 1MiB --max-message 2MiB": "at most --memory",
	} {
		r := flightcache(t, "", append([]string{"serve", "--listen", "grpc://127.0.0.1:0"}, strings.Fields(args)...)...)
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: code %d, %q; want %q", args, r.code, r.stderr, want)
		}
	}
	for _, ok := range []string{"off", "127.0.0.1:0", "localhost:8816", "[::1]:8816"} {
		if err := checkHTTP(ok, false, false); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	if err := checkHTTP("0.0.0.0:8816", false, true); err != nil {
		t.Error(err)
	}
}
