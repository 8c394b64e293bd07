package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/identity"
)

// call is what the log says of one RPC. It belongs to the call's handler.
type call struct {
	start time.Time
	seen  *methodMetrics
	begun bool // its first message has come or gone

	dataset string
	action  string
	rows    int64
	bytes   int64 // of FlightData on the wire; of an action that takes a dataset away, or out of memory, stored ones

	transaction string
	columns     int        // top-level ones, of a read or a put
	span        trace.Span // nil: the call is not traced

	caller *identity.Caller // nil: nobody was asked
	who    string           // as limits count callers; "": the call was not let in
	reason string           // why it is not known who calls; "": it is
	denied string           // what the caller may not do; "": nothing of that kind
	puts   bool             // the caller may put what it puts

	claim *batchstore.Claim // of a put, whose waits the store is told of; nil: none
	read  atomic.Pointer[batchstore.Claim]
}

// holds is how much memory a read has that is its own, in bytes. It may be called by any goroutine.
func (c *call) holds() int64 {
	if read := c.read.Load(); read != nil {
		return read.Bytes()
	}
	return 0
}

type callKey struct{}

// callOf gives the record of the call that a context belongs to.
func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return &call{} // a service that is not ours, or a test that calls a handler directly
	}
	return c
}

// arrived makes the record of a call that has come.
func (s *Server) arrived(method string) *call {
	return &call{start: time.Now(), seen: s.calls.begin(method)}
}

// begins notes that a message of the call's data has come or gone.
func (c *call) begins() {
	if c.begun || c.seen == nil || c.seen.first == nil {
		return
	}
	c.begun = true
	c.seen.first.Observe(time.Since(c.start).Seconds())
	if c.span != nil {
		c.span.AddEvent("first message")
	}
}

// unary and stream run every handler: they turn its error into a status, turn a panic into Internal, and log one line.

func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	c := s.arrived(info.FullMethod)
	ctx, cancel := beforeDeadline(context.WithValue(s.traced(ctx, c, info.FullMethod), callKey{}, c))
	defer cancel()
	defer func() { s.finish(ctx, c, info.FullMethod, err) }()
	defer s.recover(info.FullMethod, &err)
	leave, err := s.admit(ctx, c, info.FullMethod)
	if err != nil {
		return nil, toStatus(err)
	}
	defer leave()
	resp, err = handler(ctx, req)
	return resp, toStatus(err)
}

func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	c := s.arrived(info.FullMethod)
	ctx, cancel := beforeDeadline(context.WithValue(s.traced(ss.Context(), c, info.FullMethod), callKey{}, c))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer func() { s.finish(ctx, c, info.FullMethod, err) }()
	defer s.recover(info.FullMethod, &err)
	in := receivingOf(ctx)
	wrapped := &callStream{ServerStream: ss, ctx: ctx, server: s, call: c, in: in, put: info.FullMethod == methodDoPut}
	s.watch(wrapped, giveUp)
	leave, err := s.admit(ctx, c, info.FullMethod)
	if err != nil {
		in.Limit(maxRequest, giveUp)
		if wrapped.put {
			drain(wrapped, maxStrange, s.opts.DrainTime)
		}
		return toStatus(err)
	}
	defer leave()
	in.Limit(s.largest(info.FullMethod), giveUp)
	if open(info.FullMethod) {
		defer context.AfterFunc(s.serving, func() { time.AfterFunc(farewell, func() { giveUp(errStopping) }) })()
	}
	return toStatus(handler(srv, wrapped))
}

// farewell is how long who watches the server's health has to hear that it stops. Such calls last for ever otherwise, and are not what a
// server waits for.
const farewell = 100 * time.Millisecond

// errStopping: a call that would last for ever meets a server that is about to stop.
var errStopping = errors.New("the server is stopping")

// deadlineMargin is the most of a call's time that its handler does not get.
const deadlineMargin = 100 * time.Millisecond

// beforeDeadline gives a context that ends shortly before the deadline of a call, if it has one: at the deadline itself gRPC
// resets the stream, and who does not watch the time, as a proxy, would see a cancelled call and not one that took too long.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(deadlineMargin, time.Until(deadline)/10)))
}

// unknown answers calls of methods that there are not. They come this far so that they are counted, logged and denied as all others.
func unknown(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if len(method) > maxMethod {
		method = method[:maxMethod]
	}
	return fmt.Errorf("%w: there is no method %q", errUnsupported, method)
}

// maxMethod is how much of an unknown method's name is told again, in bytes.
const maxMethod = 200

// recover keeps a handler's panic from ending the process. It is a fault of ours, so the log has its stack; the client
// learns only that there was one.
func (s *Server) recover(method string, err *error) {
	if p := recover(); p != nil {
		s.opts.Log.Error("panic in a handler", zap.String("method", method), zap.String("panic", fmt.Sprint(p)),
			zap.ByteString("stack", debug.Stack()))
		*err = status.Error(codes.Internal, "internal error; the server's log has the details")
	}
}

// shortName is a method's name without its service's.
func shortName(method string) string { return method[strings.LastIndexByte(method, '/')+1:] }

func (s *Server) finish(ctx context.Context, c *call, method string, err error) {
	code, took := status.Code(err), time.Since(c.start)
	c.seen.end(c, code, took)
	message := ""
	if err != nil {
		message = status.Convert(err).Message()
	}
	c.endSpan(code, message)
	s.audit.tell(ctx, c, method, code, message)
	fields := []zap.Field{
		zap.String("rpc", c.seen.name), zap.String("code", code.String()),
		zap.Duration("duration", took),
	}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, zap.String("peer", p.Addr.String()))
	}
	if c.caller != nil {
		fields = append(fields, zap.String("caller", descriptors.Legible(c.caller.Name)), zap.String("by", string(c.caller.Kind)))
	}
	if c.reason != "" {
		fields = append(fields, zap.String("reason", c.reason))
	}
	if c.denied != "" {
		fields = append(fields, zap.String("denied", c.denied))
	}
	if c.dataset != "" {
		fields = append(fields, zap.String("dataset", descriptors.Legible(c.dataset)))
	}
	if c.action != "" {
		fields = append(fields, zap.String("action", descriptors.Legible(c.action)))
	}
	if c.rows > 0 || c.bytes > 0 {
		fields = append(fields, zap.Int64("rows", c.rows), zap.Int64("bytes", c.bytes))
	}
	if err != nil {
		fields = append(fields, zap.String("error", message))
	}
	switch code {
	case codes.OK:
		s.opts.Log.Info("call", fields...)
	case codes.Internal, codes.DataLoss, codes.Unknown:
		s.opts.Log.Error("call", fields...)
	default:
		s.refused.Warn("call", fields...)
	}
}
