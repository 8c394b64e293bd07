package integration

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Passwords and keys of signed tokens change while the server runs: what was shown before is taken as long as its password, or its key,
// is there.
func TestPasswordsAndKeysChange(t *testing.T) {
	s := startSite(t)
	c := s.dial()
	prepare(s, c, "sales/a")
	get := func(authorization string) codes.Code {
		_, err := call(header(s.Context(), authorization), c, "DoGet", ticket("sales/a"))
		return status.Code(err)
	}
	becomes := func(what, authorization string, want codes.Code) {
		t.Helper()
		for start := time.Now(); get(authorization) != want; time.Sleep(100 * time.Millisecond) {
			if time.Since(start) > patience {
				t.Fatalf("%s: %v, and never %v", what, get(authorization), want)
			}
		}
	}
	wants := func(what, authorization string, want codes.Code) {
		t.Helper()
		if got := get(authorization); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:"+password))
	}
	signed := func(key string) string {
		s.write("signing", key)
		token, _ := s.run("", binary, "secret", "sign", "good", "--key", s.path("signing"))
		return "Bearer " + strings.TrimSpace(token)
	}
	newKey := func() string {
		key, _ := s.run("", binary, "secret", "key")
		return key
	}

	ofPassword := "Bearer " + s.login(c, basic("pw"))
	wants("the password", basic("pw"), codes.OK)
	wants("its token", ofPassword, codes.OK)
	changed, _ := s.run("other\n", binary, "secret", "password", "alice")
	s.write("passwords", changed)
	becomes("the new password", basic("other"), codes.OK)
	wants("the old password", basic("pw"), codes.Unauthenticated)
	wants("the old password's token", ofPassword, codes.Unauthenticated)
	ofPassword = "Bearer " + s.login(c, basic("other"))

	first, second := s.read("key"), newKey()
	old, next := signed(first), signed(second)
	wants("a token of the key", old, codes.OK)
	wants("a token of a key that is not there", next, codes.Unauthenticated)
	s.write("key", second+first)
	becomes("a token of the new key", next, codes.OK)
	wants("a token of the key that is still there", old, codes.OK)
	wants("a password's token of that key", ofPassword, codes.OK)
	byNew := "Bearer " + s.login(c, basic("other"))
	s.write("key", second)
	becomes("a token of the key that is gone", old, codes.Unauthenticated)
	wants("a password's token of the key that is gone", ofPassword, codes.Unauthenticated)
	wants("one of the new key", byNew, codes.OK)
	wants("a token of the new key", next, codes.OK)
	wants("the password", basic("other"), codes.OK)
}

// login gives the token by which a login is answered.
func (s *site) login(c *grpc.ClientConn, authorization string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(header(s.Context(), authorization), patience)
	defer cancel()
	stream, err := flight.NewFlightServiceClient(c).Handshake(ctx)
	if err != nil {
		s.Fatal(err)
	}
	var answer metadata.MD
	if answer, err = stream.Header(); err != nil {
		s.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		s.Fatal(err)
	}
	values := answer.Get("authorization")
	if len(values) != 1 {
		s.Fatalf("a login is answered with %q", values)
	}
	return strings.TrimPrefix(values[0], "Bearer ")
}
