package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// collector receives spans as OpenTelemetry's does.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
}

// Export takes spans.
func (c *collector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range r.ResourceSpans {
		c.resource = attributes(x.Resource.Attributes)
		for _, s := range x.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// ServeHTTP is Export over HTTP.
func (c *collector) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	request := &collectorpb.ExportTraceServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(body, request)
	}
	if err != nil || in.URL.Path != "/v1/traces" {
		http.Error(out, fmt.Sprint(in.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.Export(in.Context(), request)
	out.Header().Set("Content-Type", "application/x-protobuf")
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		if s, ok := a.Value.Value.(*commonpb.AnyValue_StringValue); ok {
			out[a.Key] = s.StringValue
		} else {
			out[a.Key] = fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return out
}

// Parents that a client says its calls have: the last byte tells whether they are sampled.
const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
)

// traceCalls makes calls, of which one has a parent.
func traceCalls(t *testing.T, address string) {
	t.Helper()
	must(t, "a,b,c\n1,2,3\n4,5,6\n", "put", "-", "sales/2024", "--format", "csv", "--address", address)
	conn, err := grpc.NewClient(strings.TrimPrefix(address, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	client := arrowflight.NewFlightServiceClient(conn)
	get := func(ticket string, flags string) {
		in := metadata.AppendToOutgoingContext(ctx, "traceparent", "00-"+parentTrace+"-"+parentSpan+"-"+flags)
		stream, err := client.DoGet(in, &arrowflight.Ticket{Ticket: []byte(ticket)})
		for err == nil {
			_, err = stream.Recv()
		}
	}
	get(`{"dataset":"sales/2024","columns":["a","b"]}`, "01")
	get("absent", "01")
	get("sales/2024", "00") // which the client does not want in its traces
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
}

// A server that is told of a collector by the standard variables sends it a span for each call, within the trace of its client.
func TestTraces(t *testing.T) {
	grpcCollector, httpCollector, aloneCollector := &collector{}, &collector{}, &collector{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(receiver, grpcCollector)
	go receiver.Serve(l)
	defer receiver.Stop()
	page := httptest.NewServer(httpCollector)
	defer page.Close()
	alonePage := httptest.NewServer(aloneCollector)
	defer alonePage.Close()
	for _, x := range []struct {
		name string
		to   *collector
		env  map[string]string
	}{
		{"grpc", grpcCollector, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
		{"alone", aloneCollector, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": alonePage.URL, "OTEL_PROPAGATORS": "none"}},
		{"http", httpCollector, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": page.URL, "OTEL_SERVICE_NAME": "cache-7"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for name, value := range x.env {
				t.Setenv(name, value)
			}
			ready, stop := serve(t, "--http", "off")
			traceCalls(t, ready.Listen[0])
			r := stop() // sends what is left
			if r.code != 0 || !strings.Contains(r.stderr, "calls are traced") || strings.Contains(r.stderr, "missing") {
				t.Errorf("code %d: %s", r.code, r.stderr)
			}
			x.to.mu.Lock()
			defer x.to.mu.Unlock()
			if want := cmp.Or(x.env["OTEL_SERVICE_NAME"], "flightcache"); x.to.resource["service.name"] != want {
				t.Errorf("the service is %q, want %q", x.to.resource["service.name"], want)
			}
			checkSpans(t, x.to.spans, x.env["OTEL_PROPAGATORS"] != "none")
		})
	}
}

func checkSpans(t *testing.T, spans []*tracepb.Span, below bool) {
	t.Helper()
	const service = "arrow.flight.protocol.FlightService"
	found := map[string]int{}
	for _, s := range spans {
		a := attributes(s.Attributes)
		if s.Kind != tracepb.Span_SPAN_KIND_SERVER || s.Name != service+"/"+a["rpc.method"] || a["rpc.system"] != "grpc" || a["rpc.service"] != service ||
			!strings.HasPrefix(a["network.peer.address"], "127.0.0.1:") || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%v", s)
		}
		found[a["rpc.method"]]++
		trace, parent := fmt.Sprintf("%x", s.TraceId), fmt.Sprintf("%x", s.ParentSpanId)
		if child := a["rpc.method"] == "DoGet" && below; child != (trace == parentTrace) || child != (parent == parentSpan) {
			t.Errorf("%s is of trace %s, below %s", s.Name, trace, parent)
		}
		switch {
		case a["rpc.method"] == "DoPut":
			if a["flightcache.dataset"] != "sales/2024" || a["flightcache.rows"] != "2" || a["flightcache.columns"] != "3" || a["flightcache.bytes"] == "0" || a["rpc.grpc.status_code"] != "0" {
				t.Errorf("put: %v", a)
			}
		case a["flightcache.dataset"] == "sales/2024":
			if a["flightcache.rows"] != "2" || a["flightcache.columns"] != "2" && below || a["flightcache.bytes"] == "0" || a["rpc.grpc.status_code"] != "0" ||
				len(s.Events) != 1 || s.Events[0].Name != "first message" {
				t.Errorf("get: %v, %v", a, s.Events)
			}
		case a["flightcache.dataset"] == "absent":
			if a["rpc.grpc.status_code"] != "5" || s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET || a["flightcache.rows"] != "" {
				t.Errorf("get of what is absent: %v, %v", a, s.Status)
			}
		default:
			t.Errorf("%v", s)
		}
	}
	gets := 2
	if !below {
		gets++ // the client's wish to have one in no trace is not looked at either
	}
	if found["DoGet"] != gets || found["DoPut"] != 1 || len(found) != 2 {
		t.Errorf("spans of %v", found)
	}
}

// Where no collector is named, nothing is traced; what cannot be is told at the start, without secrets.
func TestTraceSettings(t *testing.T) {
	for _, x := range []struct {
		env  string
		want traceSettings
		err  string
	}{
		{"", traceSettings{}, ""},
		{"OTEL_SERVICE_NAME=x", traceSettings{}, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", traceSettings{true, "http://c:4318", protocolHTTP, false}, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317 OTEL_EXPORTER_OTLP_PROTOCOL=grpc", traceSettings{true, "http://c:4317", protocolGRPC, false}, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
			traceSettings{true, "https://t", protocolHTTP, false}, ""},
		{"OTEL_TRACES_EXPORTER=otlp", traceSettings{true, "", protocolHTTP, false}, ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://c", traceSettings{}, ""},
		{"OTEL_SDK_DISABLED=TRUE OTEL_EXPORTER_OTLP_ENDPOINT=http://c", traceSettings{}, ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=Baggage,tracecontext", traceSettings{true, "", protocolHTTP, false}, ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=tracecontext", traceSettings{true, "", protocolHTTP, false}, ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=baggage", traceSettings{true, "", protocolHTTP, true}, ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=none", traceSettings{true, "", protocolHTTP, true}, ""},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=tracecontext,none", traceSettings{}, "OTEL_PROPAGATORS=tracecontext,none: none goes with no other"},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_PROPAGATORS=tracecontext,b3", traceSettings{}, `"b3" is not known; want tracecontext and baggage, or none`},
		{"OTEL_PROPAGATORS=b3", traceSettings{}, ""}, // nothing is traced
		{"OTEL_TRACES_EXPORTER=zipkin", traceSettings{}, "OTEL_TRACES_EXPORTER=zipkin: want otlp or none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_PROTOCOL=http/json", traceSettings{}, "want grpc or http/protobuf"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=user:hunter2@c:4317", traceSettings{}, "want a URL"},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(x.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		got, err := readTraceSettings(func(name string) string { return env[name] })
		switch {
		case x.err == "" && (err != nil || got != x.want):
			t.Errorf("%s: %+v, %v", x.env, got, err)
		case x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%s: %v", x.env, err)
		}
	}
	if name := (traceSettings{true, "https://user:hunter2@c:4317/x?key=hunter2", protocolGRPC, false}).name(); name != "https://c:4317" {
		t.Errorf("in the log it is %s", name)
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
	if r := flightcache(t, "", "serve", "--listen", "grpc://127.0.0.1:0", "--http", "off"); r.code == 0 || !strings.Contains(r.stderr, "zipkin") {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
}

// A collector that is not there costs the server lines in the log, and its end a moment; no call.
func TestTracesToNobody(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+free.Addr().String())
	ready, stop := serve(t, "--http", "off")
	traceCalls(t, ready.Listen[0])
	if r := stop(); r.code != 0 || !strings.Contains(r.stderr, "traces") {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
}
