package flight

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/flight/secure"
)

// fixture is a served store and a client of it. When the test ends it must have given everything back: no charged byte,
// no goroutine.
type fixture struct {
	testing.TB
	address string
	store   *batchstore.Store
	catalog *catalog.Catalog
	durable *Durable // nil without a data folder
	data    string   // the folder, or ""
	server  *Server
	grpc    *grpc.Server
	logs    *observer.ObservedLogs
	tls     *secure.Files // nil: there is none
	client  arrowflight.FlightServiceClient

	received, sent *atomic.Int64 // messages that handlers have received and sent, over all streams
}

// in is the fixture with a subtest to report to.
func (f *fixture) in(t testing.TB) *fixture {
	c := *f
	c.TB = t
	return &c
}

// counted is a stream that counts what its handler receives and sends.
type counted struct {
	grpc.ServerStream
	received, sent *atomic.Int64
}

func (c counted) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	if err == nil {
		c.sent.Add(1)
	}
	return err
}

func (c counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.received.Add(1)
	}
	return err
}

// setup is what a test may change of the server.
type setup struct {
	store   batchstore.Options
	service Options
	catalog catalog.Options
	data    string         // the data folder; "": none
	disk    func(*Durable) // is called before anything is restored; nil: nothing
	tls     *secure.Files  // nil: nothing is encrypted, and tests dial without
}

// start serves on a loopback port until the test ends. Freed memory is poisoned, so that a use after free shows as
// wrong bytes.
func start(t testing.TB, change ...func(*setup)) *fixture {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	core, logs := observer.New(zap.DebugLevel)
	s := setup{
		store:   batchstore.Options{Arena: arena.Options{ReserveBytes: 4 << 30, WarmBytes: 16 << 20, Poison: true}},
		service: Options{Codec: compress.Zstd, Log: zap.New(core)},
	}
	for _, f := range change {
		f(&s)
	}
	f := &fixture{TB: t, logs: logs, data: s.data, received: &atomic.Int64{}, sent: &atomic.Int64{}}
	var err error
	if s.data != "" {
		s.store.Dir = filepath.Join(s.data, "segments")
	}
	if f.store, err = batchstore.New(s.store); err != nil {
		t.Fatal(err)
	}
	if s.data != "" {
		if f.durable, err = OpenDurable(f.store, filepath.Join(s.data, "catalog.db"), zap.New(core)); err != nil {
			t.Fatal(err)
		}
		s.catalog.Keeper = f.durable
		if s.disk != nil {
			s.disk(f.durable)
		}
	}
	s.catalog.Charge = ChargeTo(f.store)
	f.catalog = catalog.New(s.catalog)
	if f.durable != nil {
		if err := f.durable.Restore(f.catalog); err != nil {
			t.Fatal(err)
		}
	}
	if f.server, err = New(f.store, f.catalog, s.service); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	if s.tls != nil {
		listener = &Listener{Listener: listener, Name: "grpc+tls://" + f.address, TLS: s.tls}
	}
	f.grpc = f.server.GRPC(grpc.ChainStreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			return handler(srv, counted{ss, f.received, f.sent})
		}))
	served := make(chan error, 1)
	go func() { served <- f.grpc.Serve(listener) }()
	t.Cleanup(func() {
		f.grpc.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		f.server.Close()
		f.catalog.ClearVolatile()
		f.store.KeepFiles(true)
		f.catalog.Clear()
		if f.durable != nil {
			if err := f.durable.Close(); err != nil {
				t.Errorf("close what is durable: %v", err)
			}
		}
		f.settles(0)
		if err := f.store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	f.client = arrowflight.NewFlightServiceClient(f.dial())
	return f
}

// dial connects a client with a large receive limit. It is closed before the server stops.
func (f *fixture) dial(options ...grpc.DialOption) *grpc.ClientConn {
	f.Helper()
	conn, err := grpc.NewClient(f.address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 30)),
	}, options...)...)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { conn.Close() })
	return conn
}

// stock connects a client that was told nothing: it takes messages of 4 MiB.
func (f *fixture) stock() *grpc.ClientConn {
	f.Helper()
	conn, err := grpc.NewClient(f.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { conn.Close() })
	return conn
}

// agent makes a client that names itself so in its user agent.
func (f *fixture) agent(name string) arrowflight.FlightServiceClient {
	return arrowflight.NewFlightServiceClient(f.dial(grpc.WithUserAgent(name)))
}

// patience bounds every wait of these tests. Nothing is expected to take so long.
const patience = 30 * time.Second

func (f *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	return ctx
}

// eventually waits for what another goroutine brings about.
func (f *fixture) eventually(what string, done func() bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("waited in vain: %s", what)
		}
	}
}

// settles waits until so many bytes are charged.
func (f *fixture) settles(charged int64) {
	f.Helper()
	for deadline := time.Now().Add(patience); f.charged() != charged; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.Errorf("%d bytes stay charged, want %d", f.charged(), charged)
			return
		}
	}
}

// collects waits until so many bytes are charged, after garbage collections: some of what is lent to the transport may
// come back only with one.
func (f *fixture) collects(charged int64) {
	f.Helper()
	for deadline := time.Now().Add(patience); f.charged() != charged && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		runtime.GC()
	}
	f.settles(charged)
}

func (f *fixture) charged() int64 { return f.store.Stats().Charged }

func byPath(path ...string) *arrowflight.FlightDescriptor {
	return &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: path}
}

func byCommand(json string) *arrowflight.FlightDescriptor {
	return &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: []byte(json)}
}

// send puts messages as they are, half-closes, and gives the facts that the server answers with.
func (f *fixture) send(messages []*arrowflight.FlightData) (catalog.Facts, error) {
	f.Helper()
	return sendTo(f.context(), f.client, messages)
}

// sendTo is send by another client.
func sendTo(ctx context.Context, client arrowflight.FlightServiceClient, messages []*arrowflight.FlightData) (facts catalog.Facts, err error) {
	stream, err := client.DoPut(ctx)
	if err != nil {
		return facts, err
	}
	for _, m := range messages {
		if err := stream.Send(m); errors.Is(err, io.EOF) {
			break // the status comes with Recv
		} else if err != nil {
			return facts, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return facts, err
	}
	result, err := stream.Recv()
	if err != nil {
		return facts, err
	}
	if err := json.Unmarshal(result.GetAppMetadata(), &facts); err != nil {
		return facts, err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return facts, errors.Join(errors.New("want one result and the end"), err)
	}
	return facts, nil
}

// put stores a table under a descriptor.
func (f *fixture) put(d *arrowflight.FlightDescriptor, tb table) catalog.Facts {
	f.Helper()
	facts, err := f.send(described(d, messagesOf(f, tb)))
	if err != nil {
		f.Fatalf("put: %v", err)
	}
	return facts
}

// read gets a ticket and all messages of its stream.
func read(ctx context.Context, client arrowflight.FlightServiceClient, ticket string) ([]*arrowflight.FlightData, error) {
	stream, err := client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte(ticket)})
	if err != nil {
		return nil, err
	}
	var out []*arrowflight.FlightData
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
}

// get reads a ticket that must be answered.
func (f *fixture) get(ticket string) []*arrowflight.FlightData {
	f.Helper()
	messages, err := read(f.context(), f.client, ticket)
	if err != nil {
		f.Fatalf("get %s: %v", ticket, err)
	}
	return messages
}

// actionBody carries out an action and returns the body of its one result.
func (f *fixture) actionBody(name string, body []byte) ([]byte, error) {
	f.Helper()
	stream, err := f.client.DoAction(f.context(), &arrowflight.Action{Type: name, Body: body})
	if err != nil {
		return nil, err
	}
	r, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		f.Errorf("action %s: want one result and the end, got %v", name, err)
	}
	return r.GetBody(), nil
}

// action carries out an action and reads its one JSON result into result.
func (f *fixture) action(name, body string, result any) error {
	f.Helper()
	answer, err := f.actionBody(name, []byte(body))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, result); err != nil {
		f.Errorf("action %s: %v in %s", name, err, answer)
	}
	return nil
}

// wantStatus checks an error's code, and that its message has each of these parts.
func wantStatus(t testing.TB, err error, code codes.Code, parts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want code %v", err, code)
		return
	}
	for _, p := range parts {
		if message := status.Convert(err).Message(); !strings.Contains(message, p) {
			t.Errorf("message %q does not say %q", message, p)
		}
	}
}
