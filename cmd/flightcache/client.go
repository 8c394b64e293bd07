package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
)

// Transport sizes of the client. gRPC's defaults (64 KiB windows, 4 MiB messages) suit small calls, not bulk data.
const (
	streamWindow = 16 << 20
	connWindow   = 64 << 20
	socketBuffer = 1 << 20
	// maxResultBytes bounds an action's result: JSON facts, never data.
	maxResultBytes = 64 << 20
)

// defaultPort is the port of an address that names none.
const defaultPort = "8815"

// clientFlags are the flags that every client subcommand takes.
type clientFlags struct {
	Address string `help:"The server's address: grpc://HOST:PORT, grpc+tls://HOST:PORT or grpc+unix:///PATH; ${default} if not given." default:"grpc://127.0.0.1:8815" placeholder:"URI"`
	Output  string `help:"How to print the result: table or json." enum:"table,json" default:"table"`

	identityFlags
}

func (f *clientFlags) json() bool { return f.Output == "json" }

// client is a connection to one server. Close it once.
type client struct {
	flight.Client
	address string
}

// connect prepares a connection; nothing is sent before the first call. Errors are about the address.
func (f *clientFlags) connect() (*client, error) {
	target, encrypted, err := dialTarget(f.Address)
	if err != nil {
		return nil, err
	}
	options, err := f.dialOptions(target, encrypted)
	if err != nil {
		return nil, err
	}
	c, err := flight.NewClientWithMiddleware(target, nil, nil, append(options,
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(socketBuffer),
		grpc.WithWriteBufferSize(socketBuffer),
		grpc.WithUserAgent("flightcache/"+programVersion()),
	)...)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", f.Address, err)
	}
	return &client{Client: c, address: f.Address}, nil
}

// dialTarget turns an address as users write it (a Flight location URI) into a gRPC target, and tells whether it has TLS.
func dialTarget(address string) (target string, encrypted bool, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return "", false, fmt.Errorf("address %q has no scheme; write grpc://%s", address, address)
	}
	switch scheme {
	case "grpc", "grpc+tcp", "grpc+tls":
		u, err := url.Parse(address)
		if err != nil {
			return "", false, fmt.Errorf("address %q: %w", address, err)
		}
		if u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return "", false, fmt.Errorf("address %q is not of the form %s://HOST:PORT", address, scheme)
		}
		port := u.Port()
		if port == "" {
			port = defaultPort
		}
		return net.JoinHostPort(u.Hostname(), port), scheme == "grpc+tls", nil
	case "grpc+unix":
		if !strings.HasPrefix(rest, "/") {
			return "", false, fmt.Errorf("address %q: a socket's path is absolute; write grpc+unix:///PATH", address)
		}
		return "unix://" + rest, false, nil
	}
	return "", false, fmt.Errorf("address %q: unknown scheme %q; use grpc://, grpc+tls:// or grpc+unix://", address, scheme)
}

// action runs a DoAction whose body is one JSON object and whose result is exactly one JSON value, which it returns.
func (c *client) action(ctx context.Context, name string, body any) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	stream, err := c.DoAction(ctx, &flight.Action{Type: name, Body: text}, grpc.MaxCallRecvMsgSize(maxResultBytes))
	if err != nil {
		return nil, rpcError(c.address, err)
	}
	result, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the server at %s gave no result for the action %s", c.address, name)
	}
	if err != nil {
		return nil, rpcError(c.address, err)
	}
	// The status comes after the result: an action that fails late has failed.
	if _, err := stream.Recv(); err == nil {
		return nil, fmt.Errorf("the server at %s gave more than one result for the action %s", c.address, name)
	} else if !errors.Is(err, io.EOF) {
		return nil, rpcError(c.address, err)
	}
	if !json.Valid(result.Body) {
		return nil, fmt.Errorf("the server at %s gave a result for the action %s that is not JSON", c.address, name)
	}
	return result.Body, nil
}

// datasetBody is the body of an action on one dataset, or on the whole server if Dataset is empty.
type datasetBody struct {
	Dataset string `json:"dataset,omitempty"`
}
