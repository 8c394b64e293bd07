package integration

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// The stock client logs in by its handshake, with its middleware for cookies, which reads the headers of the answer; and its token
// is good at another server of the group.
func TestStockClientLogsIn(t *testing.T) {
	s := startSite(t)
	prepare(s, s.dial(), "sales/a")
	connect := func() flight.Client {
		t.Helper()
		client, err := flight.NewClientWithMiddleware(s.address, nil, []flight.ClientMiddleware{flight.NewClientCookieMiddleware()},
			grpc.WithTransportCredentials(credentials.NewTLS(s.trust())))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return client
	}
	client := connect()
	if _, err := client.AuthenticateBasicToken(t.Context(), "alice", "guess"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a wrong password: %v", err)
	}
	ctx, err := client.AuthenticateBasicToken(t.Context(), "alice", "pw")
	if err != nil {
		t.Fatal(err)
	}
	if err := ownRows(ctx, client, []byte("sales/a")); err != nil {
		t.Error(err)
	}
	if err := ownRows(t.Context(), client, []byte("sales/a")); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without the token: %v", err)
	}
	s.serve() // another server, with the same key
	prepare(s, s.dial(), "sales/a")
	if err := ownRows(ctx, connect(), []byte("sales/a")); err != nil {
		t.Errorf("at another server of the group: %v", err)
	}
}
