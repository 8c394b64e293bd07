package flight

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// metrics are all samples of the server by name and labels, as name{method=DoGet,code=OK}; of histograms the number of
// observations.
func (f *fixture) metrics() map[string]float64 {
	f.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(f.server.Metrics()...)
	families, err := registry.Gather()
	if err != nil {
		f.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := strings.TrimPrefix(family.GetName(), metricPrefix)
			if labels != nil {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func (f *fixture) wantMetrics(want map[string]float64) {
	f.Helper()
	got := f.metrics()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, there := got[name]; !there || value != want[name] {
			f.Errorf("%s is %v (there: %v), want %v", name, value, there, want[name])
		}
	}
}

// Calls are counted by method and code, while they run and when they have ended.
func TestCallMetrics(t *testing.T) {
	f := start(t)
	bigPut(f)
	f.get(`{"dataset":"d","limit":1}`)
	for range 2 {
		if _, err := read(f.context(), f.client, "absent"); err == nil {
			t.Fatal("it was read")
		}
	}
	if _, err := f.client.GetFlightInfo(f.context(), byPath("d")); err != nil {
		t.Fatal(err)
	}
	if _, err := healthpb.NewHealthClient(f.dial()).Check(f.context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.context())
	stalled(f, ctx, f.client, ways["stored"])
	f.blocked()
	f.wantMetrics(map[string]float64{"calls_running{method=DoGet}": 1, "calls_running{method=DoPut}": 0, "call_first_message_seconds{method=DoGet}": 2})
	cancel()
	f.eventually("the read ends", func() bool { return f.ended("DoGet") == 4 })
	f.wantMetrics(map[string]float64{
		"calls_total{code=OK,method=DoPut}": 1, "calls_total{code=OK,method=DoGet}": 1, "calls_total{code=NotFound,method=DoGet}": 2,
		"calls_total{code=Canceled,method=DoGet}": 1, "calls_total{code=OK,method=GetFlightInfo}": 1, "calls_total{code=OK,method=Check}": 1,
		"calls_total{code=OK,method=ListFlights}": 0, "calls_running{method=DoGet}": 0, "call_seconds{method=DoGet}": 4, "call_seconds{method=DoPut}": 1,
		"call_first_message_seconds{method=DoGet}": 2, "call_first_message_seconds{method=DoPut}": 1, "call_seconds{method=Check}": 1,
		"calls_denied_total{reason=login}": 0, "calls_denied_total{reason=permission}": 0, "connections": 2, "connections_accepted_total": 2,
		"leases": 1, "leases_granted_total": 1, "puts_total": 1,
	})
}

// Calls of those who do not show who they are, or ask for what they may not do, are counted as that, whatever they are told.
func TestDeniedCallMetrics(t *testing.T) {
	f, _ := guarded(t)
	if _, err := sendTo(f.as(good), f.client, described(byPath("sales", "a"), messagesOf(t, noise(10)))); err != nil {
		t.Fatal(err)
	}
	get := func(caller string) error {
		return ends(f.client.DoGet(f.as(caller), &arrowflight.Ticket{Ticket: []byte("sales/a")}))
	}
	wantStatus(t, get(bad), codes.Unauthenticated)
	wantStatus(t, get(nobody), codes.Unauthenticated)
	wantStatus(t, get(other), codes.NotFound)
	if err := get(reader); err != nil {
		t.Fatal(err)
	}
	_, err := sendTo(f.as(reader), f.client, described(byPath("sales", "a"), messagesOf(t, noise(10))))
	wantStatus(t, err, codes.PermissionDenied)
	f.wantMetrics(map[string]float64{
		"calls_denied_total{reason=login}": 2, "calls_denied_total{reason=permission}": 2, "calls_total{code=Unauthenticated,method=DoGet}": 2,
		"calls_total{code=NotFound,method=DoGet}": 1, "calls_total{code=PermissionDenied,method=DoPut}": 1,
	})
}

// Methods that there are not are counted under one name and logged without theirs, which is the client's, but for what it is told; who does
// not show who it is learns no more than elsewhere.
func TestUnknownMethods(t *testing.T) {
	f, lines := audited(t)
	conn := f.dial()
	for i := range 300 {
		method := fmt.Sprintf("/service%d/Method\u202e%d%s", i%7, i, strings.Repeat("x", i))
		err := conn.Invoke(f.as(good), method, &arrowflight.Empty{}, &arrowflight.Empty{})
		wantStatus(t, err, codes.Unimplemented, "not supported by this server", fmt.Sprintf(`Method\u202e%d`, i))
		if len(err.Error()) > 400 {
			t.Fatalf("the error has %d bytes", len(err.Error()))
		}
	}
	wantStatus(t, conn.Invoke(f.as(bad), "/no.such/Method", &arrowflight.Empty{}, &arrowflight.Empty{}), codes.Unauthenticated)
	stream, err := conn.NewStream(f.as(good), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, methodDoPut+"2")
	if err == nil {
		err = stream.RecvMsg(&arrowflight.Empty{})
	}
	wantStatus(t, err, codes.Unimplemented, "DoPut2")
	f.eventually("all have ended", func() bool { return f.running("other") == 0 })
	f.wantMetrics(map[string]float64{
		"calls_total{code=Unimplemented,method=other}": 301, "calls_total{code=Unauthenticated,method=other}": 1,
		"calls_denied_total{reason=login}": 1, "calls_total{code=OK,method=other}": 0,
	})
	if n := f.ended("other"); n < 200 {
		t.Errorf("%d lines in the log", n)
	}
	wantLines(t, lines, "other code=Unauthenticated reason=an unknown token")
}

// Datasets that go are counted by why, and so are bodies that leave memory.
func TestEvictionMetrics(t *testing.T) {
	f := start(t, func(s *setup) { s.service.Eviction = EvictionDrop })
	for _, name := range []string{"a", "b"} {
		f.put(byPath(name), numbers(constant(1), 10))
	}
	if err := f.action("evict", `{"dataset":"a"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	if !(datasets{f.server}).Evict(1) {
		t.Fatal("nothing was evicted")
	}
	f.wantMetrics(map[string]float64{
		"evictions_total{reason=action}": 1, "evictions_total{reason=memory}": 1, "expirations_total": 0, "unloads_total{reason=action}": 0,
	})

	f = start(t, func(s *setup) {
		s.service.Eviction, s.store.Dir, s.store.Spill = EvictionSpill, t.TempDir(), true
	})
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), numbers(constant(1), 1000, 1000))
	if err := f.action("evict", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	f.wantMetrics(map[string]float64{"unloads_total{reason=action}": 2, "unloads_total{reason=memory}": 0, "reloads_total": 0, "evictions_total{reason=action}": 0})
	for range 3 {
		f.get("d")
	}
	f.wantMetrics(map[string]float64{"reloads_total": 2})
}

// Codecs are counted by what they did, and pruning by what was looked at.
func TestCodecAndPruningMetrics(t *testing.T) {
	f := start(t)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), numbers(func(row int64) int64 { return row }, 1000, 1000, 1000))
	f.wantMetrics(map[string]float64{
		"codec_buffers_total{codec=zstd,operation=encode}": 3, "codec_plain_bytes_total{codec=zstd,operation=encode}": 24_000,
		"codec_buffers_total{codec=lz4,operation=encode}": 0, "codec_buffers_total{codec=zstd,operation=decode}": 0, "batches_received_total": 3,
	})
	m := f.metrics()
	if m["codec_seconds_total{codec=zstd,operation=encode}"] <= 0 || m["codec_stored_bytes_total{codec=zstd,operation=encode}"] >= 24_000 {
		t.Errorf("%v", m)
	}
	f.get(`{"dataset":"d","wire":"lz4"}`)
	f.get(`{"dataset":"d","wire":"stored","filters":[["n",">=",2500]],"prune_only":true}`)
	f.wantMetrics(map[string]float64{
		"codec_buffers_total{codec=lz4,operation=encode}": 3, "codec_buffers_total{codec=zstd,operation=decode}": 3,
		"codec_plain_bytes_total{codec=zstd,operation=decode}": 24_000, "batches_considered_total": 3, "batches_pruned_total": 2,
	})
}

// No label has a value that a client chooses, all names and units are as Prometheus wants them, and what is told of before
// anything has happened is all that there is to tell of afterwards.
func TestMetricNames(t *testing.T) {
	f := start(t)
	gather := func() map[string]*dto.MetricFamily {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(f.server.Metrics()...)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		out := map[string]*dto.MetricFamily{}
		for _, x := range families {
			out[x.GetName()] = x
			for _, unit := range []string{"bytes", "seconds"} {
				words := strings.Split(strings.TrimSuffix(x.GetName(), "_total"), "_")
				if slices.Contains(words, unit) && words[len(words)-1] != unit {
					t.Errorf("%s: its unit is not at its end", x.GetName())
				}
			}
		}
		return out
	}
	before := gather()
	f.put(byPath("chosen"), numbers(constant(1), 10))
	f.get("chosen")
	if err := f.action("unheard-of", "{}", nil); err == nil {
		t.Fatal("it was carried out")
	}
	allowed := []string{"method", "code", "reason", "result", "codec", "operation"}
	for name, x := range gather() {
		if before[name] == nil {
			t.Errorf("%s is new", name)
		}
		for _, m := range x.Metric {
			for _, l := range m.Label {
				if !slices.Contains(allowed, l.GetName()) || strings.Contains(l.GetValue(), "chosen") || strings.Contains(l.GetValue(), "unheard") {
					t.Errorf("%s: label %v", name, l)
				}
			}
		}
	}
}
