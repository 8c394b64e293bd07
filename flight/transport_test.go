package flight

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
)

// A read that takes hours comes to its end: no connection is closed for its age, nor for standing still.
func TestReadOfHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := batchstore.New(batchstore.Options{Arena: arena.Options{ReserveBytes: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		names := catalog.New(catalog.Options{})
		service, err := New(store, names, Options{Codec: compress.None})
		if err != nil {
			t.Fatal(err)
		}
		listener := bufconn.Listen(1 << 20)
		server := service.GRPC()
		served := make(chan error)
		go func() { served <- server.Serve(listener) }()
		dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
		conn, err := grpc.NewClient("passthrough:memory", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		client := arrowflight.NewFlightServiceClient(conn)

		tb := noise(repeat(24, 100_000)...)
		put := described(byCommand(`{"dataset":"d","batching":"keep"}`), messagesOf(t, tb))
		if _, err := sendTo(t.Context(), client, put); err != nil {
			t.Fatal(err)
		}
		stream, err := client.DoGet(t.Context(), &arrowflight.Ticket{Ticket: []byte("d")})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var got messages
		for {
			m, err := stream.Recv()
			if err != nil {
				break
			}
			got = append(got, m)
			time.Sleep(20 * time.Minute)
		}
		if took := time.Since(start); took < 8*time.Hour {
			t.Errorf("the read took %v", took)
		}
		sameTable(t, tableOf(t, got), tb)

		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		service.Close()
		names.Clear()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
