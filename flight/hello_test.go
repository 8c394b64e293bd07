package flight

import (
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// Nothing large is taken from those of whom it is not known who they are.
func TestLargeHello(t *testing.T) {
	f, _ := guarded(t)
	large := strings.Repeat("x", 3<<20)
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || status.Code(err) == codes.Unauthenticated || !strings.Contains(err.Error(), "at most 65536") {
			t.Errorf("%s: %v", what, err)
		}
	}
	shake, err := f.client.Handshake(f.context())
	if err != nil {
		t.Fatal(err)
	}
	_ = shake.Send(&arrowflight.HandshakeRequest{Payload: []byte(large)})
	_, err = shake.Recv()
	refused("Handshake", err)
	asks, err := reflectionpb.NewServerReflectionClient(f.dial()).ServerReflectionInfo(f.context())
	if err != nil {
		t.Fatal(err)
	}
	_ = asks.Send(&reflectionpb.ServerReflectionRequest{Host: large})
	_, err = asks.Recv()
	refused("ServerReflectionInfo", err)
}

// Who watches the server's health hears that it stops, and does not keep it from stopping; nor does who has asked what services
// there are.
func TestWatchersDoNotHoldTheStop(t *testing.T) {
	f := start(t)
	conn := f.dial()
	watch, err := healthpb.NewHealthClient(conn).Watch(f.context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	asks, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(f.context())
	if err != nil {
		t.Fatal(err)
	}
	is := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.Status != want {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	}
	is(healthpb.HealthCheckResponse_SERVING)
	f.server.NotServing()
	is(healthpb.HealthCheckResponse_NOT_SERVING)
	if _, err := watch.Recv(); err == nil {
		t.Error("it is still watched")
	}
	if _, err := asks.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("services: %v", err)
	}
}

// However many calls are refused, the log does not grow as fast.
func TestRefusedCallsInTheLog(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	f := start(t, func(s *setup) { s.service.Log = zap.New(core) })
	const calls = 20_000
	begin := time.Now()
	for range calls {
		f.server.refused.Warn("call")
	}
	seconds := int(time.Since(begin)/time.Second) + 2
	if n := logs.Len(); n < refusedBurst || n > seconds*refusedBurst+calls/refusedEvery {
		t.Errorf("%d lines of %d calls", n, calls)
	}
}
