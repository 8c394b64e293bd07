package flight

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// Keys of a span's attributes: those of gRPC as OpenTelemetry names them, and ours.
const (
	attrSystem  = attribute.Key("rpc.system")
	attrService = attribute.Key("rpc.service")
	attrMethod  = attribute.Key("rpc.method")
	attrCode    = attribute.Key("rpc.grpc.status_code")
	attrPeer    = attribute.Key("network.peer.address")

	attrDataset = attribute.Key("flightcache.dataset")
	attrAction  = attribute.Key("flightcache.action")
	attrColumns = attribute.Key("flightcache.columns")
	attrRows    = attribute.Key("flightcache.rows")
	attrBytes   = attribute.Key("flightcache.bytes")
)

// traceContext reads by what a client says of which trace its call is a part.
var traceContext = propagation.TraceContext{}

// callHeaders are a call's headers, as propagation reads them.
type callHeaders metadata.MD

// Get gives the value of a header, "" where there is none or more than one.
func (h callHeaders) Get(key string) string {
	if values := metadata.MD(h).Get(key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// Set is not for what a client has sent.
func (callHeaders) Set(string, string) {}

// Keys are the names of all headers.
func (h callHeaders) Keys() []string {
	out := make([]string, 0, len(h))
	for key := range h {
		out = append(out, key)
	}
	return out
}

// traced begins the span of a call, where calls are traced. Probes are not: they would be most of all traces.
func (s *Server) traced(ctx context.Context, c *call, method string) context.Context {
	if s.opts.Tracer == nil || open(method) {
		return ctx
	}
	if headers, ok := metadata.FromIncomingContext(ctx); ok && !s.opts.TracesAlone {
		ctx = traceContext.Extract(ctx, callHeaders(headers))
	}
	name, service, rpc := otherMethod, "", otherMethod // a client may call methods of any name
	if c.seen.name != otherMethod {
		name = strings.TrimPrefix(method, "/")
		service, rpc, _ = strings.Cut(name, "/")
	}
	ctx, c.span = s.opts.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attrSystem.String("grpc"), attrService.String(service), attrMethod.String(rpc)))
	if p, ok := peer.FromContext(ctx); ok && c.span.IsRecording() {
		c.span.SetAttributes(attrPeer.String(p.Addr.String()))
	}
	return ctx
}

// endSpan ends the span of a call that has ended, if it has one.
func (c *call) endSpan(code codes.Code, message string) {
	if c.span == nil {
		return
	}
	defer c.span.End()
	if !c.span.IsRecording() {
		return
	}
	c.span.SetAttributes(attrCode.Int(int(code)))
	if c.dataset != "" {
		c.span.SetAttributes(attrDataset.String(c.dataset))
	}
	if c.action != "" {
		c.span.SetAttributes(attrAction.String(c.action))
	}
	if c.columns > 0 || c.rows > 0 || c.bytes > 0 {
		c.span.SetAttributes(attrColumns.Int(c.columns), attrRows.Int64(c.rows), attrBytes.Int64(c.bytes))
	}
	switch code {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		c.span.SetStatus(otelcodes.Error, message) // the server's own; what a client did wrong is no error of the span
	}
}
