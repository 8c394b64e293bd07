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
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/zap"

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
		family := families["flightcache_"+name]
		kind := dto.MetricType_GAUGE
		if total := families["flightcache_"+name+"_total"]; total != nil {
			family, kind = total, dto.MetricType_COUNTER
		}
		if family == nil {
			t.Errorf("%s is no metric", name)
			continue
		}
		if family.GetType() != kind || family.GetHelp() == "" || len(family.Metric) != 1 {
			t.Errorf("%v", family)
			continue
		}
		got := family.Metric[0].GetGauge().GetValue() + family.Metric[0].GetCounter().GetValue()
		switch name {
		case "resident_bytes", "goroutines", "mappings", "transport_bytes", "gets": // may have changed meanwhile
		default:
			if n, _ := want.Float64(); got != n {
				t.Errorf("%s is %v, %v in server_stats", name, got, n)
			}
		}
	}
	for name, least := range map[string]float64{
		"flightcache_puts_total": 1, "flightcache_rows_in_total": 2, "flightcache_budget_bytes": 64 << 20, "flightcache_datasets": 1,
		"flightcache_resident_bytes": 1 << 20, "flightcache_goroutines": 1, "flightcache_mappings": 1, "go_goroutines": 1,
		"process_resident_memory_bytes": 1 << 20, "process_open_fds": 1,
	} {
		f := families[name]
		if f == nil || f.Metric[0].GetGauge().GetValue()+f.Metric[0].GetCounter().GetValue() < least {
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

// While the server drains, it is not healthy.
func TestHealthWhileStopping(t *testing.T) {
	w, err := openHTTP("127.0.0.1:0", func() []flight.Figure { return nil }, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.notServing()
	if status, _, body := ask(t, w.address(), "/healthz"); status != http.StatusServiceUnavailable || body != "stopping\n" {
		t.Errorf("%d, %q", status, body)
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
		if err := checkHTTP(ok, false); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	if err := checkHTTP("0.0.0.0:8816", true); err != nil {
		t.Error(err)
	}
}
