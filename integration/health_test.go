package integration

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// Health needs no credentials. While a server drains, who watches it learns that it is not serving; a get that runs ends well, and
// nothing new begins.
func TestHealthWhileDraining(t *testing.T) {
	s := startSite(t)
	client, err := flight.NewClientWithMiddleware(s.address, nil, nil, grpc.WithTransportCredentials(credentials.NewTLS(s.trust())))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	batch := flatBatch(memory.DefaultAllocator, 0, ownCount)
	defer batch.Release()
	large := make([]arrow.RecordBatch, 2000)
	for i := range large {
		large[i] = batch
	}
	if _, err := call(s.as("good"), s.dial(), "DoPut", messagesOf(t, byCommand(`{"dataset":"sales/a","codec":"none"}`), large...)...); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	health := healthpb.NewHealthClient(s.dial())
	watch, err := health.Watch(ctx, &healthpb.HealthCheckRequest{Service: "arrow.flight.protocol.FlightService"})
	if err != nil {
		t.Fatal(err)
	}
	next := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if r, err := watch.Recv(); err != nil || r.Status != want {
			t.Fatalf("%v, %v; want %v", r, err, want)
		}
	}
	next(healthpb.HealthCheckResponse_SERVING)
	get, err := client.DoGet(s.as("reader"), &flight.Ticket{Ticket: []byte("sales/a")})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := flight.NewRecordReader(get)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	s.stop()
	next(healthpb.HealthCheckResponse_NOT_SERVING)
	cancel()

	// What was on its way when the server said so is still answered.
	refused := func() bool {
		ctx, cancel := context.WithTimeout(s.as("reader"), time.Second)
		defer cancel()
		_, err := client.GetFlightInfo(ctx, byPath("sales/a"))
		return status.Code(err) == codes.Unavailable || status.Code(err) == codes.DeadlineExceeded
	}
	for start := time.Now(); !refused(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("new calls are taken")
		}
	}
	if c, err := net.Dial("tcp", s.address); err == nil {
		c.Close()
		t.Error("new connections are taken")
	}
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if reader.Err() != nil || rows != int64(len(large))*ownCount {
		t.Errorf("the get that ran came to %d rows: %v", rows, reader.Err())
	}
}
