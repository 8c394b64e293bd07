package flight

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"

	"github.com/flightcache/flightcache/flight/gather"
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
)

// Sizes of the transport, chosen by measurement (see ARCHITECTURE.md). A stream's
// window bounds what its client may send before a handler asks for more; that of a connection bounds nothing, as gRPC opens
// it again whatever handlers do.
const (
	streamWindow     = 768 << 10
	connectionWindow = 64 << 20
)

// pingInterval is the least time between the pings of a client that keeps its connection alive by them. Clients are promised a
// second; pings that were held up on their way come closer together. gRPC's default for a server, five minutes, and none without
// a call, would close the connections of clients that follow their own defaults.
const pingInterval = 200 * time.Millisecond

// handshakeTime is how long a connection may take to be made: its TLS handshake, and the client's first bytes.
const handshakeTime = 20 * time.Second

// transportOptions have gRPC receive through the meter: every connection is a counted one, every call finds its stream, and
// what was handed over is told.
func (s *Server) transportOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(handshakes{s}),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.InTapHandle(s.arrives),
		grpc.StatsHandler(connectionTracker{s}),
		grpc.ReadBufferSize(0),  // a counted connection has its own
		grpc.WriteBufferSize(0), // and gathers what is written
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
		grpc.MaxConcurrentStreams(uint32(s.opts.Bounds.Streams)),
		grpc.MaxHeaderListSize(uint32(s.opts.Bounds.HeaderBytes)),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
		// No connection is closed for its age: that would cut reads that take long.
	}
}

// countedInfo is how a connection's context finds the counted connection: it is all of a handshake that gRPC hands on.
type countedInfo struct {
	credentials.AuthInfo
	conn  *intake.Conn
	out   *gather.Conn
	place *limits.Place
}

// receiving is what is known of one call's data on its way in.
type receiving struct {
	*intake.Stream
	left   sync.WaitGroup // receives that were left behind when their stream was given up
	cancel func()         // ends the context by which gRPC waits for the client of a streaming call; nil: of a unary one
	timer  *time.Timer    // until a unary call's request must have come; nil: for ever, or of another call
}

type receivingKey struct{}

// receivingOf gives the data of a call. Every call of a server built by this package has it.
func receivingOf(ctx context.Context) *receiving { return ctx.Value(receivingKey{}).(*receiving) }

// arrives is called by a connection's reader for each call, before it reads on: the stream that was opened last is the call's.
func (s *Server) arrives(ctx context.Context, info *tap.Info) (context.Context, error) {
	r := &receiving{Stream: connectionOf(ctx).intake.Opened()}
	switch {
	case s.unaries[info.FullMethodName]:
		// gRPC reads the request before any of our code runs. All that ends that is the context's end.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		r.Limit(maxRequest, func(error) { cancel() })
		if idle := s.opts.Bounds.PutIdle; idle > 0 {
			r.timer = time.AfterFunc(idle, cancel)
		}
	default:
		ctx, r.cancel = context.WithCancel(ctx)
	}
	return context.WithValue(ctx, receivingKey{}, r), nil
}

// connectionTracker is the stats.Handler by which calls find their connection, connections tell their end, and messages that
// they were handed over. gRPC reports ConnEnd only after the connection's writer has ended.
type connectionTracker struct{ s *Server }

func (t connectionTracker) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	c := &connection{leases: map[*lease]struct{}{}}
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(countedInfo); ok {
			c.intake, c.out, c.place = info.conn, info.out, info.place
			info.place.Ready()
		}
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

func (t connectionTracker) HandleConn(ctx context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		t.s.connections.Add(1)
		t.s.accepted.Add(1)
	case *stats.ConnEnd:
		t.s.connections.Add(-1)
		c := connectionOf(ctx)
		<-c.out.Ended()
		c.close()
	}
}

func (connectionTracker) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (connectionTracker) HandleRPC(ctx context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InPayload:
		r := receivingOf(ctx)
		r.Took(int64(s.WireLength))
		if r.timer != nil {
			r.timer.Stop()
		}
	case *stats.End:
		if t := receivingOf(ctx).timer; t != nil {
			t.Stop()
		}
		// The stream has ended, and so do they. The server waits for this, and closes what they use after it.
		receivingOf(ctx).left.Wait()
	}
}

type connectionKey struct{}

// connectionOf gives the connection of a call. Every connection of a server built by this package has one.
func connectionOf(ctx context.Context) *connection { return ctx.Value(connectionKey{}).(*connection) }
