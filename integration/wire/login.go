package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Variables that say how every command reaches a server that is guarded. Both are empty for one that is not.
const (
	rootsVariable = "WIRE_ROOTS" // a file of certificates to trust
	tokenVariable = "WIRE_TOKEN" // a bearer token
)

// transport is what TLS needs, nil where there is none.
func transport() (*tls.Config, error) {
	path := os.Getenv(rootsVariable)
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New(rootsVariable + ": no certificates")
	}
	return &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}, nil
}

// target is an address without its scheme.
func target(address string) string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	return rest
}

// dial makes a connection, through TLS where there is any.
func dial(ctx context.Context, address string) (net.Conn, error) {
	config, err := transport()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", target(address))
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", target(address))
}

// bearer shows the token with every call.
type bearer string

// GetRequestMetadata gives the header.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity tells that the token is for nobody else.
func (bearer) RequireTransportSecurity() bool { return true }

// connect makes a stock client.
func connect(address string) (flight.Client, error) {
	config, err := transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if config != nil {
		options = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(config))}
	}
	if token := os.Getenv(tokenVariable); token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(token)))
	}
	return flight.NewClientWithMiddleware(target(address), nil, nil, options...)
}
