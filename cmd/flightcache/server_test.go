package main

import (
	"net"
	"testing"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/flight"
)

// startServer starts a server as `serve` does and returns its address. It ends with the test, and everything that was put
// into it must then have been given back.
func startServer(t testing.TB) string {
	t.Helper()
	store, err := batchstore.New(batchstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := catalog.New(catalog.Options{Charge: flight.ChargeTo(store)})
	service, err := flight.New(store, names, flight.Options{Codec: compress.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := service.GRPC(), make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served // a short test may have stopped the server before it began to serve
		service.Close()
		names.Clear()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return "grpc://" + listener.Addr().String()
}
