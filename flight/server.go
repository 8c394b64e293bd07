package flight

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
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
	intake  *intake.Meter
	callers *limits.Callers
	places  *limits.Connections
	frames  *framePool
	unaries map[string]bool // by full method name; before the server serves
	health  *health.Server
	refused *zap.Logger // of calls that clients got refused; of very many at once it logs a part

	serving context.Context // until the server is about to stop
	stop    context.CancelFunc
	// strangers tells of clients that do not get as far as a call.
	strangers sparing
	calls     *callMetrics
	audit     audit

	connections, accepted atomic.Int64 // that are open, and that were ever made

	compactor *compactor
	encoder   *encoder
	reclaimer reclaimer
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
		putting: putting{names: map[string]int{}}, intake: intake.New(o.intake(store.Stats().Budget)), unaries: map[string]bool{}, frames: &framePool{},
		calls: newCallMetrics(), audit: audit{log: o.Audit, sparing: sparing{burst: denialsBurst, every: denialsEvery}},
	}
	s.serving, s.stop = context.WithCancel(context.Background())
	s.refused = o.Log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Second, refusedBurst, refusedEvery)
	}))
	s.callers, s.places = limits.NewCallers(o.Bounds.callers()), limits.NewConnections(max(o.Bounds.Connections, 0))
	s.compactor, s.encoder = newCompactor(s), newEncoder(s)
	store.Attach(datasets{s})
	c.OnExpiry(s.stats.forget)
	s.encoder.lookAtAll()
	return s, nil
}

// Of calls that are refused each has a line in the log, up to refusedBurst a second; of those beyond, one of refusedEvery has.
const (
	refusedBurst = 200
	refusedEvery = 1000
)

// GRPC makes the gRPC server of this service, with health and reflection, ready to Serve. It is called once. Further options,
// such as interceptors, are added to its own; credentials are given by [Options].
func (s *Server) GRPC(more ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(slices.Concat([]grpc.ServerOption{
		grpc.ForceServerCodecV2(NewCodec()),
		grpc.MaxRecvMsgSize(s.opts.MaxReceive + framingRoom),
		grpc.MaxSendMsgSize(1<<31 - 1),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(unknown),
		experimental.BufferPool(s.frames),
	}, s.transportOptions(), more)...)
	arrowflight.RegisterFlightServiceServer(g, s)
	healthpb.RegisterHealthServer(g, s.health)
	reflection.Register(g)
	for service, info := range g.GetServiceInfo() {
		for _, m := range info.Methods {
			s.calls.know("/" + service + "/" + m.Name)
			s.unaries["/"+service+"/"+m.Name] = !m.IsClientStream && !m.IsServerStream
		}
	}
	s.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	s.health.SetServingStatus("arrow.flight.protocol.FlightService", healthpb.HealthCheckResponse_SERVING)
	return g
}

// NotServing turns health to NOT_SERVING, for good: the server is about to stop. Connections that are being made have a second more.
func (s *Server) NotServing() {
	s.health.Shutdown()
	s.stop()
	s.places.Hurry()
}

// Close ends what goes on in the background, and waits for it. It is called after the gRPC server has stopped and before
// the catalogue and the store go; a second call does nothing.
func (s *Server) Close() {
	s.stop()
	s.reclaimer.close()
	s.encoder.close()
	s.compactor.close()
}

// grown tells those who work in the background that batches have come to a dataset.
func (s *Server) grown(dataset string) {
	s.encoder.look(dataset)
	s.compactor.grown(dataset)
}
