package flight

import (
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// Server is the Flight service over one catalogue and one store. What it does not answer says Unimplemented.
type Server struct {
	arrowflight.BaseFlightServer

	opts    Options
	store   *batchstore.Store
	catalog *catalog.Catalog
	sealer  *descriptors.Sealer
	stats   counters
	putting putting
	health  *health.Server

	compactor *compactor
}

// New makes the service. The caller closes it after the gRPC server has stopped; the store and the catalogue stay the
// caller's, who closes them after that.
func New(store *batchstore.Store, c *catalog.Catalog, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("flight options: %w", err)
	}
	if o.Eviction == EvictionSpill && !store.Spills() {
		return nil, fmt.Errorf("flight options: eviction %q: there is no folder to spill to (option --data-dir)", o.Eviction)
	}
	if most := store.Stats().Budget; most > 0 {
		if o.MaxReceive == 0 {
			o.MaxReceive = int(min(DefaultMaxReceive, most))
		}
		if int64(o.MaxReceive) > most {
			return nil, fmt.Errorf("flight options: max message %d: want at most the memory budget, %d", o.MaxReceive, most)
		}
	}
	o = o.withDefaults()
	s := &Server{
		opts: o, store: store, catalog: c, sealer: descriptors.NewSealer(*o.TicketKey),
		stats: counters{datasets: map[string]*counts{}, exists: hasDataset(c)}, health: health.NewServer(),
		putting: putting{names: map[string]int{}},
	}
	s.compactor = newCompactor(s)
	store.Attach(datasets{s})
	c.OnExpiry(s.stats.forget)
	return s, nil
}

// Sizes of the transport, chosen by measurement (see ARCHITECTURE.md): a write buffer of 1 MiB makes reads cheapest; the
// windows matter to puts only, and bound what one stream and one connection may have on their way.
const (
	readBufferSize   = 256 << 10
	writeBufferSize  = 1 << 20
	streamWindow     = 16 << 20
	connectionWindow = 64 << 20
)

// GRPC makes the gRPC server of this service, with health and reflection, ready to Serve. Further options, such as
// credentials, are added to its own.
func (s *Server) GRPC(more ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(NewCodec()),
		grpc.MaxRecvMsgSize(s.opts.MaxReceive + framingRoom),
		grpc.MaxSendMsgSize(1<<31 - 1),
		grpc.ReadBufferSize(readBufferSize),
		grpc.WriteBufferSize(writeBufferSize),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
		grpc.StatsHandler(connectionTracker{}),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		experimental.BufferPool(newFramePool()),
	}, more...)...)
	arrowflight.RegisterFlightServiceServer(g, s)
	healthpb.RegisterHealthServer(g, s.health)
	reflection.Register(g)
	s.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	s.health.SetServingStatus("arrow.flight.protocol.FlightService", healthpb.HealthCheckResponse_SERVING)
	return g
}

// NotServing turns health to NOT_SERVING, for good: the server is about to stop.
func (s *Server) NotServing() { s.health.Shutdown() }
