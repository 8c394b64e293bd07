package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// Protocols of OTLP that can be asked for.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// traceSettings are what OpenTelemetry's variables say of where traces go. Headers, certificates, sampling and batches are read by its
// own code.
type traceSettings struct {
	on       bool
	endpoint string // "": the protocol's own on this machine
	protocol string
	alone    bool // what clients say of their traces is not looked at
}

// readTraceSettings reads them as OpenTelemetry has them, except that there are no traces where no endpoint is named: a server that
// nobody told of a collector looks for none.
func readTraceSettings(getenv func(string) string) (s traceSettings, err error) {
	env := func(names ...string) (value string) {
		for _, name := range names {
			value = cmp.Or(value, strings.TrimSpace(getenv(name)))
		}
		return value
	}
	exporter := env("OTEL_TRACES_EXPORTER")
	s.endpoint = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	s.protocol = cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"), protocolHTTP)
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || exporter == "none" || exporter == "" && s.endpoint == "" {
		return traceSettings{}, nil
	}
	s.on = true
	var errs []error
	if s.alone, err = readPropagators(getenv("OTEL_PROPAGATORS")); err != nil {
		errs = append(errs, err)
	}
	if exporter != "" && exporter != "otlp" {
		errs = append(errs, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: want otlp or none", exporter))
	}
	if s.protocol != protocolGRPC && s.protocol != protocolHTTP {
		errs = append(errs, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s: want %s or %s", s.protocol, protocolGRPC, protocolHTTP))
	}
	if s.endpoint != "" {
		if u, err := url.Parse(s.endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: want a URL, as http://localhost:4317")) // it may have a secret in it
		}
	}
	return s, errors.Join(errs...)
}

// readPropagators reads the variable that names by what a client may say of which trace its call is a part, and tells whether
// tracecontext is not among them. Baggage may be, as in OpenTelemetry's default: the server has no use for it, and passes nothing on.
func readPropagators(list string) (alone bool, err error) {
	list = cmp.Or(strings.TrimSpace(list), "tracecontext,baggage")
	alone = true
	names := strings.Split(list, ",")
	for _, name := range names {
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == "tracecontext":
			alone = false
		case name == "baggage", name == "none" && len(names) == 1:
		case name == "none":
			return false, fmt.Errorf("OTEL_PROPAGATORS=%s: none goes with no other", list)
		default:
			return false, fmt.Errorf("OTEL_PROPAGATORS=%s: %q is not known; want tracecontext and baggage, or none", list, name)
		}
	}
	return alone, nil
}

// name is where traces go, without what a log should not have.
func (s traceSettings) name() string {
	u, err := url.Parse(s.endpoint)
	if s.endpoint == "" || err != nil {
		return "the default of " + s.protocol
	}
	return u.Scheme + "://" + u.Host
}

// traceEnd is how long the last spans have to go out when the server ends.
const traceEnd = 2 * time.Second

// openTraces makes what traces calls, nil where nothing asks for it, and what ends that. The settings say how.
func openTraces(ctx context.Context, log *zap.Logger) (trace.Tracer, traceSettings, func(), error) {
	s, err := readTraceSettings(os.Getenv)
	if err != nil || !s.on {
		return nil, s, func() {}, err
	}
	var exporter *otlptrace.Exporter
	if s.protocol == protocolGRPC {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return nil, s, nil, fmt.Errorf("traces (OTEL_EXPORTER_OTLP_…): %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", zap.Error(err)) }))
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "flightcache"), attribute.String("service.version", programVersion())),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		log.Warn("traces: OTEL_RESOURCE_ATTRIBUTES", zap.Error(err)) // what could be read of them is there
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	log.Info("calls are traced", zap.String("to", s.name()), zap.String("protocol", s.protocol))
	return provider.Tracer("github.com/flightcache/flightcache/flight"), s, func() {
		ctx, cancel := context.WithTimeout(context.Background(), traceEnd)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("traces: the last ones may be missing", zap.Error(err))
		}
	}, nil
}
