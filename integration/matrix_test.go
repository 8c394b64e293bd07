package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// sent keeps what a record writer would send.
type sent struct{ messages []proto.Message }

// Send keeps one message.
func (s *sent) Send(d *flight.FlightData) error {
	s.messages = append(s.messages, proto.Clone(d))
	return nil
}

// putOf are the messages of a put of some rows.
func putOf(t *testing.T, descriptor *flight.FlightDescriptor, rows int) []proto.Message {
	t.Helper()
	batch := flatBatch(memory.DefaultAllocator, 0, rows)
	defer batch.Release()
	return messagesOf(t, descriptor, batch)
}

// messagesOf are the messages of a put of batches.
func messagesOf(t *testing.T, descriptor *flight.FlightDescriptor, batches ...arrow.RecordBatch) []proto.Message {
	t.Helper()
	var s sent
	w := flight.NewRecordWriter(&s, ipc.WithSchema(batches[0].Schema()))
	w.SetFlightDescriptor(descriptor)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return s.messages
}

func byPath(dataset string) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: strings.Split(dataset, "/")}
}

func byCommand(format string, args ...any) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: fmt.Appendf(nil, format, args...)}
}

func ticket(text string) *flight.Ticket { return &flight.Ticket{Ticket: []byte(text)} }

func action(kind, format string, args ...any) *flight.Action {
	return &flight.Action{Type: kind, Body: fmt.Appendf(nil, format, args...)}
}

// wrapped is one of Flight's own actions.
func wrapped(t *testing.T, kind string, body proto.Message) *flight.Action {
	t.Helper()
	b, err := proto.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return &flight.Action{Type: kind, Body: b}
}

// prepared is what a cell of the matrix may use: a dataset, and what good has of it.
type prepared struct {
	info        *flight.FlightInfo
	transaction string
}

// prepare puts the dataset anew, and asks for a ticket and a transaction of it.
func prepare(s *site, c *grpc.ClientConn, dataset string) (p prepared) {
	s.Helper()
	ask := func(method string, messages ...proto.Message) []byte {
		s.Helper()
		answers, err := call(s.as("good"), c, method, messages...)
		if err != nil || len(answers) != 1 {
			s.Fatalf("%s by who may: %d answers, %v", method, len(answers), err)
		}
		return answers[0].ProtoReflect().GetUnknown()
	}
	ask("DoPut", putOf(s.T, byPath(dataset), 1000)...)
	p.info = &flight.FlightInfo{}
	if err := proto.Unmarshal(ask("GetFlightInfo", byPath(dataset)), p.info); err != nil {
		s.Fatal(err)
	}
	var result flight.Result
	if err := proto.Unmarshal(ask("DoAction", action("begin", `{"dataset":%q,"mode":"append","ttl":60}`, dataset)), &result); err != nil {
		s.Fatal(err)
	}
	var begun struct{ Transaction string }
	if err := json.Unmarshal(result.Body, &begun); err != nil || begun.Transaction == "" {
		s.Fatalf("begin answered %s: %v", result.Body, err)
	}
	p.transaction = begun.Transaction
	return p
}

// row is a call about sales/a, and the codes of those who are known.
type row struct {
	name, method        string
	reader, other, good codes.Code
	send                func(prepared) []proto.Message
}

func matrix(t *testing.T) []row {
	const (
		ok, hidden, denied = codes.OK, codes.NotFound, codes.PermissionDenied
		never, invalid     = codes.Unimplemented, codes.InvalidArgument
		dataset            = "sales/a"
	)
	says := func(m ...proto.Message) func(prepared) []proto.Message {
		return func(prepared) []proto.Message { return m }
	}
	acts := func(kind, body string) func(prepared) []proto.Message { return says(action(kind, "%s", body)) }
	const about = `{"dataset":"sales/a"}`
	ofTransaction := func(kind string) func(prepared) []proto.Message {
		return func(p prepared) []proto.Message {
			return []proto.Message{action(kind, `{"dataset":%q,"transaction":%q}`, dataset, p.transaction)}
		}
	}
	return []row{
		{"Handshake", "Handshake", ok, ok, ok, says()},
		{"Handshake with a message", "Handshake", ok, ok, ok, says(&flight.HandshakeRequest{})},
		{"ListFlights", "ListFlights", ok, ok, ok, says(&flight.Criteria{})},
		{"ListActions", "ListActions", ok, ok, ok, says(&flight.Empty{})},
		{"GetFlightInfo by path", "GetFlightInfo", ok, hidden, ok, says(byPath(dataset))},
		{"GetFlightInfo by command", "GetFlightInfo", ok, hidden, ok, says(byCommand(about))},
		{"GetFlightInfo of statistics", "GetFlightInfo", ok, hidden, ok, says(byCommand(`{"dataset":"sales/a","statistics":true}`))},
		{"PollFlightInfo", "PollFlightInfo", ok, hidden, ok, says(byPath(dataset))},
		{"GetSchema", "GetSchema", ok, hidden, ok, says(byPath(dataset))},
		{"DoGet by name", "DoGet", ok, hidden, ok, says(ticket(dataset))},
		{"DoGet by command", "DoGet", ok, hidden, ok, says(ticket(about))},
		{"DoGet by a sealed ticket", "DoGet", ok, hidden, ok, func(p prepared) []proto.Message {
			return []proto.Message{p.info.Endpoint[0].Ticket}
		}},
		{"DoPut by path", "DoPut", denied, denied, ok, says(putOf(t, byPath(dataset), 10)...)},
		{"DoPut by command", "DoPut", denied, denied, ok, says(putOf(t, byCommand(`{"dataset":"sales/a","mode":"append"}`), 10)...)},
		{"DoPut of nothing", "DoPut", invalid, invalid, invalid, says()},
		{"DoExchange", "DoExchange", never, never, never, says()},
		{"describe", "DoAction", ok, hidden, ok, acts("describe", about)},
		{"statistics", "DoAction", ok, hidden, ok, acts("statistics", about)},
		{"server_stats of a dataset", "DoAction", ok, hidden, ok, acts("server_stats", about)},
		{"server_stats", "DoAction", denied, denied, ok, acts("server_stats", `{}`)},
		{"pin", "DoAction", denied, hidden, ok, acts("pin", about)},
		{"unpin", "DoAction", denied, hidden, ok, acts("unpin", about)},
		{"compact", "DoAction", denied, hidden, ok, acts("compact", about)},
		{"evict", "DoAction", denied, hidden, ok, acts("evict", about)},
		{"drop", "DoAction", denied, hidden, ok, acts("drop", about)},
		{"drop if it is there", "DoAction", denied, hidden, ok, acts("drop", `{"dataset":"sales/a","if_exists":true}`)},
		{"begin", "DoAction", denied, denied, ok, acts("begin", about)},
		{"commit", "DoAction", denied, hidden, codes.FailedPrecondition, ofTransaction("commit")}, // it has no puts
		{"abort", "DoAction", denied, hidden, ok, ofTransaction("abort")},
		{"CancelFlightInfo", "DoAction", ok, hidden, ok, func(p prepared) []proto.Message {
			return []proto.Message{wrapped(t, flight.CancelFlightInfoActionType, &flight.CancelFlightInfoRequest{Info: p.info})}
		}},
		{"RenewFlightEndpoint", "DoAction", ok, hidden, ok, func(p prepared) []proto.Message {
			return []proto.Message{wrapped(t, flight.RenewFlightEndpointActionType, &flight.RenewFlightEndpointRequest{Endpoint: p.info.Endpoint[0]})}
		}},
		{"SetSessionOptions", "DoAction", never, never, never, acts(flight.SetSessionOptionsActionType, "")},
		{"GetSessionOptions", "DoAction", never, never, never, acts(flight.GetSessionOptionsActionType, "")},
		{"CloseSession", "DoAction", never, never, never, acts(flight.CloseSessionActionType, "")},
		{"an action of Flight SQL", "DoAction", never, never, never, acts("BeginTransaction", "")},
		{"an unknown action", "DoAction", invalid, invalid, invalid, acts("none such", "")},
	}
}

// notKnown is all that is told to who cannot be told.
const notKnown = "not authenticated: credentials are missing, wrong or expired"

// Every RPC and action over TLS, by callers of every kind, with its exact code.
func TestWhoMayDoWhat(t *testing.T) {
	s := newSite(t)
	from := startIssuer(s)
	t.Setenv("SSL_CERT_FILE", s.path("ca.pem"))
	s.serve("--jwt-keys-url", from.url, "--jwt-issuer", "https://id.example.org", "--jwt-audience", "flights", "--jwt-roles", "groups")
	c := s.dial()
	if _, err := call(header(t.Context(), from.token(jwt.MapClaims{"sub": "good"})), c, "ListActions", &flight.Empty{}); err != nil {
		t.Fatalf("a token that would be good, if it had not expired: %v", err)
	}
	expired, _ := s.run("", binary, "secret", "sign", "good", "--key", s.path("key"), "--good=-1s")
	wrongPassword := "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:guess"))
	strangers := map[string]context.Context{
		"nobody": s.Context(), "bad": header(s.Context(), "Bearer "+s.tokens["good"]+"x"), "expired": header(s.Context(), "Bearer "+strings.TrimSpace(expired)),
		"expired web token": header(s.Context(), from.token(jwt.MapClaims{"sub": "good", "exp": time.Now().Add(-time.Minute).Unix()})),
	}
	rows := matrix(t)
	cells := 0
	first := prepare(s, c, "sales/a")
	var all sync.WaitGroup // a refusal takes its time
	for _, r := range rows {
		for who, ctx := range strangers {
			cells++
			all.Go(func() {
				if _, err := call(ctx, c, r.method, r.send(first)...); status.Code(err) != codes.Unauthenticated || status.Convert(err).Message() != notKnown {
					t.Errorf("%s by %s: %v", r.name, who, err)
				}
			})
		}
	}
	all.Wait()
	if _, err := call(header(s.Context(), wrongPassword), c, "Handshake"); status.Code(err) != codes.Unauthenticated || status.Convert(err).Message() != notKnown {
		t.Errorf("a wrong password: %v", err)
	}
	for _, r := range rows {
		for who, want := range map[string]codes.Code{"reader": r.reader, "other": r.other, "good": r.good} {
			cells++
			p := prepare(s, c, "sales/a")
			if _, err := call(s.as(who), c, r.method, r.send(p)...); status.Code(err) != want {
				t.Errorf("%s by %s: %v, want %v", r.name, who, err, want)
			}
		}
	}
	if cells < 200 {
		t.Errorf("%d calls", cells)
	}
}

// Headers that nobody sends by intent, over TLS: each has its code, and the server goes on.
func TestOddHeaders(t *testing.T) {
	s := startSite(t)
	c := s.dial()
	good := s.tokens["good"]
	list := func(values ...string) error {
		_, err := call(header(s.Context(), values...), c, "ListActions", &flight.Empty{})
		return err
	}
	long := strings.Repeat("x", 64<<10)
	var all sync.WaitGroup // a refusal takes its time
	for _, values := range [][]string{
		{"bearer x"}, {"BEARER x"}, {"Bearer"}, {"Bearer "}, {"Basic eA=="}, {"Basic"}, {"Basic !"}, {""}, {" "}, {good}, {"Token " + good},
		{"Bearer " + good, "Bearer " + good}, {"Bearer x", "Bearer " + good}, {"Bearer " + good + "," + good}, {"Bearer " + long[:32<<10]},
		{"Bearer fc1." + long[:100] + "." + long[:43]}, {"Bearer a.b.c"},
	} {
		all.Go(func() {
			if err := list(values...); status.Code(err) != codes.Unauthenticated || status.Convert(err).Message() != notKnown {
				t.Errorf("%.40q: %v", values, err)
			}
		})
	}
	all.Wait()
	for _, value := range []string{"Bearer " + good, "bearer " + good, "BEARER " + good, "bEaReR   " + good + " "} {
		if err := list(value); err != nil {
			t.Errorf("%.10q: %v", value, err)
		}
	}
	// A client that goes by the server's settings does not send what is larger; one that does not is cut off.
	if err := list("Bearer " + long); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "header list size") {
		t.Errorf("a header of 64 KiB: %v", err)
	}
	r := s.dialRaw()
	r.call("ListActions", [2]string{"authorization", "Bearer " + long})
	r.expect("closed")
	for value, want := range map[string]string{
		"Bearer \x00": "reset PROTOCOL_ERROR", "Bearer \r\n": "reset PROTOCOL_ERROR", "Bearer \x7f": "reset PROTOCOL_ERROR",
		"Bearer \xff\xfe": "end grpc-status=16 grpc-message=" + notKnown,
	} {
		r := s.dialRaw()
		r.call("ListActions", [2]string{"authorization", value})
		r.message(&flight.Empty{}, true)
		r.expect(want)
	}
	if err := list("Bearer " + good); err != nil {
		t.Errorf("after all of that: %v", err)
	}
}
