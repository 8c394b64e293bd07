package flight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/flight/identity"
	"github.com/flightcache/flightcache/flight/permissions"
)

// The callers of these tests: each has a token that is its name.
const (
	nobody  = ""    // shows nothing
	bad     = "bad" // shows a token that is not known
	expired = "expired"
	reader  = "reader" // may read sales
	other   = "other"  // may do everything with another dataset
	good    = "good"   // may do everything
)

const testRules = `
roles:
  reader: {read: ["sales/**"]}
  other: {admin: ["else"]}
  good: {admin: ["**"]}
callers: {reader: [reader], other: [other], good: [good], alice: [reader]}
`

// guarded is a server that knows callers, and what they may do.
func guarded(t *testing.T, change ...func(*setup)) (f *fixture, rules string) {
	t.Helper()
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var tokens strings.Builder
	for _, name := range []string{reader, other, good} {
		fmt.Fprintln(&tokens, identity.TokenLine(name, name))
	}
	password, err := identity.PasswordLine("alice", "pw", bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	who, err := identity.Open(identity.Options{
		TokensFile: file("tokens", tokens.String()), PasswordsFile: file("passwords", password), KeyFile: file("key", strings.Repeat("ab", 32)), Delay: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(who.Close)
	rules = file("rules", testRules)
	may, err := permissions.Open(rules, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(may.Close)
	own := func(s *setup) { s.service.Identity, s.service.Permissions = who, may }
	return start(t, append([]func(*setup){own}, change...)...), rules
}

// as is a context of a caller's calls.
func (f *fixture) as(caller string) context.Context {
	switch caller {
	case nobody:
		return f.context()
	case expired:
		token, err := identity.SignedToken([]byte(strings.Repeat("ab", 32)), good, time.Now().Add(-time.Minute))
		if err != nil {
			f.Fatal(err)
		}
		caller = token
	}
	return metadata.AppendToOutgoingContext(f.context(), "authorization", "Bearer "+caller)
}

// ends reads a stream to its end.
func ends[T any](stream grpc.ServerStreamingClient[T], err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// guardedCall is a call about a dataset.
type guardedCall struct {
	name                string
	reader, other, good codes.Code
	do                  func(ctx context.Context, f *fixture, dataset string) error
}

func actionCall(name string, reader, other, good codes.Code, body string) guardedCall {
	return guardedCall{name, reader, other, good, func(ctx context.Context, f *fixture, dataset string) error {
		b := []byte(strings.ReplaceAll(body, "DATASET", dataset))
		return ends(f.client.DoAction(ctx, &arrowflight.Action{Type: name, Body: b}))
	}}
}

// transactionCall is one that ends a transaction of the dataset.
func transactionCall(name string, allowed codes.Code) guardedCall {
	return guardedCall{name, codes.PermissionDenied, codes.NotFound, allowed, func(ctx context.Context, f *fixture, dataset string) error {
		stream, err := f.client.DoAction(f.as(good), &arrowflight.Action{Type: "begin", Body: []byte(`{"dataset":"` + dataset + `","mode":"append"}`)})
		if err != nil {
			return err
		}
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		var begun struct{ Transaction string }
		if err := json.Unmarshal(r.Body, &begun); err != nil {
			return err
		}
		body := fmt.Sprintf(`{"dataset":%q,"transaction":%q}`, dataset, begun.Transaction)
		err = ends(f.client.DoAction(ctx, &arrowflight.Action{Type: name, Body: []byte(body)}))
		ends(f.client.DoAction(f.as(good), &arrowflight.Action{Type: "abort", Body: []byte(body)}))
		return err
	}}
}

// sealed gives an endpoint of the dataset, by somebody who may.
func (f *fixture) sealed(dataset string) *arrowflight.FlightInfo {
	info, err := f.client.GetFlightInfo(f.as(good), byPath(strings.Split(dataset, "/")...))
	if err != nil { // it is not there: a ticket for another name, which says the same
		return &arrowflight.FlightInfo{Endpoint: []*arrowflight.FlightEndpoint{endpoint([]byte(dataset), nil)}}
	}
	return info
}

func guardedCalls() []guardedCall {
	const ok, hidden, denied = codes.OK, codes.NotFound, codes.PermissionDenied
	get := func(name, form string) guardedCall {
		return guardedCall{name, ok, hidden, ok, func(ctx context.Context, f *fixture, dataset string) error {
			return ends(f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte(strings.ReplaceAll(form, "DATASET", dataset))}))
		}}
	}
	descriptor := func(dataset string) *arrowflight.FlightDescriptor { return byPath(strings.Split(dataset, "/")...) }
	return []guardedCall{
		{"GetFlightInfo", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			_, err := f.client.GetFlightInfo(ctx, descriptor(d))
			return err
		}},
		{"GetFlightInfo of statistics", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			_, err := f.client.GetFlightInfo(ctx, byCommand(`{"dataset":"`+d+`","statistics":true}`))
			return err
		}},
		{"PollFlightInfo", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			_, err := f.client.PollFlightInfo(ctx, descriptor(d))
			return err
		}},
		{"GetSchema", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			_, err := f.client.GetSchema(ctx, descriptor(d))
			return err
		}},
		{"ListFlights", ok, ok, ok, func(ctx context.Context, f *fixture, _ string) error {
			return ends(f.client.ListFlights(ctx, &arrowflight.Criteria{}))
		}},
		get("DoGet by name", "DATASET"), get("DoGet by command", `{"dataset":"DATASET","columns":[]}`),
		{"DoGet by a sealed ticket", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			return ends(f.client.DoGet(ctx, f.sealed(d).Endpoint[0].Ticket))
		}},
		{"DoPut", denied, denied, ok, func(ctx context.Context, f *fixture, d string) error {
			_, err := sendTo(ctx, f.client, described(descriptor(d), messagesOf(f, noise(10))))
			return err
		}},
		{"DoExchange", codes.Unimplemented, codes.Unimplemented, codes.Unimplemented, func(ctx context.Context, f *fixture, _ string) error {
			stream, err := f.client.DoExchange(ctx)
			if err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		}},
		{"Handshake", ok, ok, ok, func(ctx context.Context, f *fixture, _ string) error {
			stream, err := f.client.Handshake(ctx)
			if err != nil {
				return err
			}
			stream.CloseSend()
			_, err = stream.Recv()
			return err
		}},
		{"ListActions", ok, ok, ok, func(ctx context.Context, f *fixture, _ string) error {
			return ends(f.client.ListActions(ctx, &arrowflight.Empty{}))
		}},
		actionCall("describe", ok, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("statistics", ok, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("server_stats", ok, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("server_stats", denied, denied, ok, `{}`),
		actionCall("pin", denied, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("unpin", denied, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("compact", denied, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("evict", denied, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("drop", denied, hidden, ok, `{"dataset":"DATASET"}`),
		actionCall("drop", denied, hidden, ok, `{"dataset":"DATASET","if_exists":true}`),
		actionCall("begin", denied, denied, ok, `{"dataset":"DATASET","ttl":1}`),
		transactionCall("commit", codes.FailedPrecondition), // it has no puts
		transactionCall("abort", ok),
		{"CancelFlightInfo", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			body, err := proto.Marshal(&arrowflight.CancelFlightInfoRequest{Info: f.sealed(d)})
			if err != nil {
				return err
			}
			return ends(f.client.DoAction(ctx, &arrowflight.Action{Type: arrowflight.CancelFlightInfoActionType, Body: body}))
		}},
		{"RenewFlightEndpoint", ok, hidden, ok, func(ctx context.Context, f *fixture, d string) error {
			body, err := proto.Marshal(&arrowflight.RenewFlightEndpointRequest{Endpoint: f.sealed(d).Endpoint[0]})
			if err != nil {
				return err
			}
			return ends(f.client.DoAction(ctx, &arrowflight.Action{Type: arrowflight.RenewFlightEndpointActionType, Body: body}))
		}},
		actionCall(arrowflight.SetSessionOptionsActionType, codes.Unimplemented, codes.Unimplemented, codes.Unimplemented, ""),
		actionCall("none such", codes.InvalidArgument, codes.InvalidArgument, codes.InvalidArgument, ""),
	}
}

// Every RPC and action, by callers of every kind.
func TestWhoMayDoWhat(t *testing.T) {
	f, _ := guarded(t)
	for _, c := range guardedCalls() {
		for _, caller := range []string{nobody, bad, expired, reader, other, good} {
			if _, err := sendTo(f.as(good), f.client, described(byPath("sales", "a"), messagesOf(t, noise(100)))); err != nil {
				t.Fatal(err)
			}
			want := map[string]codes.Code{reader: c.reader, other: c.other, good: c.good}
			err := c.do(f.as(caller), f, "sales/a")
			code, known := want[caller]
			if !known {
				code = codes.Unauthenticated
				if m := status.Convert(err).Message(); m != identity.ErrUnauthenticated.Error() {
					t.Errorf("%s by %q: %q", c.name, caller, m)
				}
			}
			if got := status.Code(err); got != code {
				t.Errorf("%s by %q: %v, want %v: %v", c.name, caller, got, code, err)
			}
		}
	}
	if f.lines("panic") > 0 {
		t.Error("a handler panicked")
	}
	f.eventually("all is dropped", func() bool {
		ends(f.client.DoAction(f.as(good), &arrowflight.Action{Type: "drop", Body: []byte(`{"dataset":"sales/a","if_exists":true}`)}))
		return f.catalog.Len() == 0
	})
}

// Whether a dataset that a caller may not see is there or not, it learns the same.
func TestHiddenDatasetsAreNotThere(t *testing.T) {
	f, _ := guarded(t)
	for _, name := range []string{"sales/a", "else"} {
		if _, err := sendTo(f.as(good), f.client, described(byPath(strings.Split(name, "/")...), messagesOf(t, noise(100)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range guardedCalls() {
		if strings.HasPrefix(c.name, "DoGet by a sealed") || c.name == "commit" || c.name == "abort" {
			continue // there is no such ticket, nor transaction, of what is not there
		}
		there, absent := c.do(f.as(other), f, "sales/a"), c.do(f.as(other), f, "sales/b")
		message := func(err error, name string) string {
			return status.Code(err).String() + ": " + strings.ReplaceAll(status.Convert(err).Message(), name, "NAME")
		}
		if a, b := message(there, "sales/a"), message(absent, "sales/b"); a != b {
			t.Errorf("%s: of one that is there %q, of one that is not %q", c.name, a, b)
		}
	}
	for caller, want := range map[string]int{reader: 1, other: 1, good: 2} {
		stream, err := f.client.ListFlights(f.as(caller), &arrowflight.Criteria{})
		n := 0
		for err == nil {
			if _, err = stream.Recv(); err == nil {
				n++
			}
		}
		if n != want {
			t.Errorf("%s sees %d datasets, want %d", caller, n, want)
		}
	}
}

// Permissions that change end no read that goes on, and hold for the next call.
func TestPermissionsChangeAmidAGet(t *testing.T) {
	f, rules := guarded(t)
	tb := noise(repeat(24, 100_000)...)
	if _, err := sendTo(f.as(good), f.client, described(byCommand(`{"dataset":"sales/a","batching":"keep"}`), messagesOf(t, tb))); err != nil {
		t.Fatal(err)
	}
	ticket := f.sealed("sales/a").Endpoint[0].Ticket
	stream, err := f.client.DoGet(f.as(reader), ticket)
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	got := messages{m}
	if err := os.WriteFile(rules, []byte(strings.Replace(testRules, "reader: [reader]", "reader: []", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.server.opts.Permissions.Look()
	wantStatus(t, ends(f.client.DoGet(f.as(reader), ticket)), codes.NotFound, "no such dataset")
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	sameTable(t, tableOf(t, got), tb)
}

// Nor do they end a put that has been permitted, however large its messages are.
func TestPermissionsChangeAmidAPut(t *testing.T) {
	f, rules := guarded(t)
	tb := noise(repeat(3, 3*mib/8)...)
	all := described(byPath("else"), messagesOf(t, tb))
	stream, err := f.client.DoPut(f.as(other))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all[:2] {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	f.eventually("they have come", func() bool { return f.received.Load() == 2 })
	if err := os.WriteFile(rules, []byte(strings.Replace(testRules, "other: [other]", "other: []", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.server.opts.Permissions.Look()
	for _, m := range all[2:] {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	stream.CloseSend()
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	_, err = sendTo(f.as(other), f.client, all)
	wantStatus(t, err, codes.PermissionDenied, `may not write dataset "else"`)
	f.wantMetrics(map[string]float64{"calls_denied_total{reason=permission}": 1, "calls_total{code=OK,method=DoPut}": 1})
}

// Who logs in, in any of the ways of clients, gets a token in the header of the response, which is then good.
func TestLogins(t *testing.T) {
	f, _ := guarded(t)
	if _, err := sendTo(f.as(good), f.client, described(byPath("sales", "a"), messagesOf(t, noise(10)))); err != nil {
		t.Fatal(err)
	}
	works := func(how string, headers metadata.MD) {
		t.Helper()
		values := headers.Get("authorization")
		if len(values) != 1 || !strings.HasPrefix(values[0], "Bearer ") {
			t.Errorf("%s: the response's headers are %v", how, headers)
			return
		}
		ctx := metadata.AppendToOutgoingContext(f.context(), "authorization", values[0])
		if err := ends(f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte("sales/a")})); err != nil {
			t.Errorf("%s: with its token: %v", how, err)
		}
	}
	basic := metadata.AppendToOutgoingContext(f.context(), "authorization", "Basic YWxpY2U6cHc=") // alice:pw

	shake, err := f.client.Handshake(basic)
	if err != nil {
		t.Fatal(err)
	}
	headers, err := shake.Header() // before this side has ended, as some clients do
	if err != nil {
		t.Fatal(err)
	}
	works("a handshake by header", headers)
	if _, err := shake.Recv(); err != nil {
		t.Error(err)
	}

	payload, err := proto.Marshal(&arrowflight.BasicAuth{Username: "alice", Password: "pw"})
	if err != nil {
		t.Fatal(err)
	}
	if shake, err = f.client.Handshake(f.context()); err != nil {
		t.Fatal(err)
	}
	if err := shake.Send(&arrowflight.HandshakeRequest{Payload: payload}); err != nil {
		t.Fatal(err)
	}
	answer, err := shake.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if headers, err = shake.Header(); err != nil {
		t.Fatal(err)
	}
	works("a handshake by payload", headers)
	ctx := metadata.AppendToOutgoingContext(f.context(), "auth-token-bin", string(answer.GetPayload()))
	if err := ends(f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: []byte("sales/a")})); err != nil {
		t.Errorf("with the token of the payload: %v", err)
	}

	var unary, streaming metadata.MD
	if _, err := f.client.GetSchema(basic, byPath("sales", "a"), grpc.Header(&unary)); err != nil {
		t.Fatal(err)
	}
	works("a unary call", unary)
	get, err := f.client.DoGet(basic, &arrowflight.Ticket{Ticket: []byte("sales/a")}, grpc.Header(&streaming))
	if err := ends(get, err); err != nil {
		t.Fatal(err)
	}
	works("a stream", streaming)

	for _, payload := range [][]byte{nil, []byte("x"), payload[:len(payload)-1]} {
		if shake, err = f.client.Handshake(f.context()); err != nil {
			t.Fatal(err)
		}
		shake.Send(&arrowflight.HandshakeRequest{Payload: payload})
		_, err = shake.Recv()
		wantStatus(t, err, codes.Unauthenticated)
	}
	if strings.Contains(fmt.Sprint(f.logs.All()), "pw") || f.logs.FilterFieldKey("reason").Len() == 0 {
		t.Error("the log has the password, or no reason")
	}
}

// Headers that nobody sends by intent: the server says no, and lives. Probes need none.
func TestOddHeaders(t *testing.T) {
	f, _ := guarded(t)
	call := func(headers ...string) error {
		ctx := metadata.AppendToOutgoingContext(f.context(), headers...)
		return ends(f.client.ListActions(ctx, &arrowflight.Empty{}))
	}
	for _, values := range [][]string{
		{"bearer x"}, {"BEARER x"}, {"Bearer"}, {"Basic eA=="}, {"Basic"}, {""}, {"Bearer good", "Bearer good"}, {"Bearer " + strings.Repeat("x", 32<<10)},
	} {
		var headers []string
		for _, v := range values {
			headers = append(headers, "authorization", v)
		}
		wantStatus(t, call(headers...), codes.Unauthenticated)
	}
	if err := call("authorization", "Bearer "+strings.Repeat("x", 64<<10)); err == nil {
		t.Error("a header of 64 KiB is taken")
	}
	for _, value := range []string{"bearer good", "BEARER good"} {
		if err := call("authorization", value); err != nil {
			t.Errorf("%q: %v", value, err)
		}
	}
	r, err := healthpb.NewHealthClient(f.dial()).Check(f.context(), &healthpb.HealthCheckRequest{})
	if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", r, err)
	}
}

// A ticket with any byte changed gives no data.
func TestForgedTickets(t *testing.T) {
	f, _ := guarded(t)
	for _, name := range []string{"a", "b"} {
		if _, err := sendTo(f.as(good), f.client, described(byPath("sales", name), messagesOf(t, noise(10)))); err != nil {
			t.Fatal(err)
		}
	}
	ticket := f.sealed("sales/a").Endpoint[0].Ticket.Ticket
	ctx := f.as(good)
	for i := range ticket {
		for _, flip := range []byte{1, 0x80, 0xff} {
			forged := append([]byte{}, ticket...)
			forged[i] ^= flip
			if err := ends(f.client.DoGet(ctx, &arrowflight.Ticket{Ticket: forged})); err == nil {
				t.Fatalf("byte %d ^ %x: the ticket is taken", i, flip)
			}
		}
	}
}

// Grants for large messages are for callers that may put: all others are refused without one, whatever waits for them, and learn what they
// would have learned.
func TestWhoGetsGrants(t *testing.T) {
	f, _ := guarded(t, func(s *setup) {
		s.service.MessageWait, s.service.TransportBytes, s.service.DrainTime = time.Hour, mib, time.Hour
	})
	large := noise(3 * mib / 8)
	metadata := arrow.NewMetadata([]string{"pandas"}, []string{strings.Repeat("x", mib)})
	puts := func(dataset string, tb table) []*arrowflight.FlightData {
		return described(byPath(strings.Split(dataset, "/")...), messagesOf(t, tb))
	}
	wide := noise(10)
	wide.schema = arrow.NewSchema(wide.schema.Fields(), &metadata)
	client, leave := f.stingy(2 * mib)
	go sendTo(f.as(good), client, puts("held", large))
	f.eventually("its grant is taken", func() bool { return f.unread() > mib })
	for _, c := range []struct {
		who, dataset string
		tb           table
		code         codes.Code
		parts        []string
	}{
		{nobody, "else", large, codes.Unauthenticated, nil},
		{bad, "else", wide, codes.Unauthenticated, nil},
		{reader, "sales/a", large, codes.PermissionDenied, []string{`"reader" may not write dataset "sales/a"`}},
		{reader, "sales/a", wide, codes.PermissionDenied, []string{`"reader" may not write any dataset`}},
		{other, "sales/a", large, codes.PermissionDenied, []string{`"other" may not write dataset "sales/a"`}},
	} {
		_, err := sendTo(f.as(c.who), f.client, puts(c.dataset, c.tb))
		wantStatus(t, err, c.code, c.parts...)
	}
	leave()
	f.eventually("nothing is held", func() bool { return f.unread() == 0 })
	for _, tb := range []table{large, wide} {
		if _, err := sendTo(f.as(other), f.client, puts("else", tb)); err != nil {
			t.Error(err)
		}
	}
}

// A caller that holds grants with streams that stand still is in the way of its own puts only.
func TestGrantsOfCallers(t *testing.T) {
	f, _ := guarded(t, func(s *setup) {
		s.service.MessageWait, s.service.TransportBytes, s.service.StallTime = 100*time.Millisecond, 64*mib, time.Hour
	})
	large := described(byPath("else"), messagesOf(t, noise(4*mib/8)))
	for range 2 {
		client, leave := f.stingy(3 * mib)
		go sendTo(f.as(good), client, large)
		defer leave()
	}
	f.eventually("the share is taken", func() bool { return f.unread() > 4*mib })
	_, err := sendTo(f.as(good), f.client, large)
	wantStatus(t, err, codes.ResourceExhausted, "of the same caller")
	if _, err := sendTo(f.as(other), f.client, large); err != nil {
		t.Error(err)
	}
}
