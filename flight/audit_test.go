package flight

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// audited is a guarded server and its audit.
func audited(t *testing.T) (*fixture, *observer.ObservedLogs) {
	t.Helper()
	core, lines := observer.New(zap.InfoLevel)
	f, _ := guarded(t, func(s *setup) { s.service.Audit = zap.New(core) })
	return f, lines
}

// says gives the audit's lines since it was asked last, each as "event key=value …" in the order of the keys, without what differs
// from run to run.
func says(t *testing.T, lines *observer.ObservedLogs) (out []string) {
	t.Helper()
	for _, e := range lines.TakeAll() {
		fields := e.ContextMap()
		if peer, _ := fields["peer"].(string); !strings.HasPrefix(peer, "127.0.0.1:") {
			t.Errorf("%s: the peer is %q", e.Message, peer)
		}
		delete(fields, "peer")
		delete(fields, "error")
		line := e.Message
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			line += fmt.Sprintf(" %s=%v", key, fields[key])
		}
		out = append(out, line)
	}
	return out
}

func wantLines(t *testing.T, lines *observer.ObservedLogs, want ...string) {
	t.Helper()
	if got := says(t, lines); !slices.Equal(got, want) {
		t.Errorf("the audit says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// actAs carries out an action as a caller, and reads its result.
func (f *fixture) actAs(caller, name, body string, result any) error {
	f.Helper()
	stream, err := f.client.DoAction(f.as(caller), &arrowflight.Action{Type: name, Body: []byte(body)})
	if err != nil {
		f.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	if result != nil {
		if err := json.Unmarshal(r.GetBody(), result); err != nil {
			f.Fatal(err)
		}
	}
	_, err = stream.Recv() // the call has ended, and its line is there
	return ended(err)
}

// Every write has a line that says who, what and how it went, and so has every denied call; reads have none.
func TestAudit(t *testing.T) {
	f, lines := audited(t)
	tb := noise(10)
	put := func(caller, command string) (size int64, err error) {
		messages := described(byCommand(command), messagesOf(t, tb))
		_, err = sendTo(f.as(caller), f.client, messages)
		return wireSize(messages), err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n, err := put(good, `{"dataset":"sales/a"}`)
	must(err)
	wantLines(t, lines, fmt.Sprintf("put by=token bytes=%d caller=good code=OK dataset=sales/a rows=10", n))

	n, err = put(good, `{"dataset":"sales/a","rows":11}`)
	wantStatus(t, err, codes.InvalidArgument)
	wantLines(t, lines, fmt.Sprintf("put by=token bytes=%d caller=good code=InvalidArgument dataset=sales/a rows=0", n))

	// Reads have no line, nor have actions that change nothing.
	for range 2 {
		must(ends(f.client.DoGet(f.as(reader), &arrowflight.Ticket{Ticket: []byte("sales/a")})))
		must(f.actAs(reader, "describe", `{"dataset":"sales/a"}`, nil))
	}
	if err := f.actAs(reader, "describe", `{"dataset":"sales/absent"}`, nil); err == nil {
		t.Error("what is not there is described")
	}
	wantLines(t, lines)

	// Denied calls do, whatever their callers are told.
	_, err = put(reader, `{"dataset":"sales/a"}`)
	wantStatus(t, err, codes.PermissionDenied)
	got := says(t, lines)
	if len(got) != 1 || !strings.HasPrefix(got[0], "put by=token bytes=") || !strings.HasSuffix(got[0], " caller=reader code=PermissionDenied dataset=sales/a denied=write rows=0") {
		t.Errorf("%q", got)
	}
	wantStatus(t, ends(f.client.DoGet(f.as(other), &arrowflight.Ticket{Ticket: []byte("sales/a")})), codes.NotFound)
	wantLines(t, lines, "DoGet by=token caller=other code=NotFound dataset=sales/a denied=read")
	wantStatus(t, f.actAs(other, "describe", `{"dataset":"sales/a"}`, nil), codes.NotFound)
	wantStatus(t, f.actAs(reader, "pin", `{"dataset":"sales/a"}`, nil), codes.PermissionDenied)
	wantStatus(t, f.actAs(reader, "server_stats", "", nil), codes.PermissionDenied)
	wantLines(t, lines,
		"describe by=token caller=other code=NotFound dataset=sales/a denied=read",
		"pin by=token caller=reader code=PermissionDenied dataset=sales/a denied=administer",
		"server_stats by=token caller=reader code=PermissionDenied denied=administer")
	wantStatus(t, ends(f.client.DoGet(f.as(bad), &arrowflight.Ticket{Ticket: []byte("sales/a")})), codes.Unauthenticated)
	_, err = f.client.GetFlightInfo(f.as(nobody), byPath("sales", "a"))
	wantStatus(t, err, codes.Unauthenticated)
	wantLines(t, lines, "DoGet code=Unauthenticated reason=an unknown token", "GetFlightInfo code=Unauthenticated reason=nothing was shown")

	// The other writes.
	for _, step := range []struct{ action, want string }{
		{"pin", "pin by=token caller=good code=OK dataset=sales/a"},
		{"evict", "evict by=token caller=good code=FailedPrecondition dataset=sales/a"},
		{"unpin", "unpin by=token caller=good code=OK dataset=sales/a"},
		{"compact", "compact by=token caller=good code=OK dataset=sales/a"},
	} {
		if err := f.actAs(good, step.action, `{"dataset":"sales/a"}`, nil); (err == nil) != strings.Contains(step.want, "code=OK") {
			t.Errorf("%s: %v", step.action, err)
		}
		wantLines(t, lines, step.want)
	}
	var begun beginResult
	must(f.actAs(good, "begin", `{"dataset":"sales/a","mode":"append"}`, &begun))
	within := fmt.Sprintf(`{"dataset":"sales/a","transaction":%q}`, begun.Transaction)
	n, err = put(good, within)
	must(err)
	must(f.actAs(good, "commit", within, nil))
	wantLines(t, lines,
		"begin by=token caller=good code=OK dataset=sales/a transaction="+begun.Transaction,
		fmt.Sprintf("put by=token bytes=%d caller=good code=OK dataset=sales/a rows=10 transaction=%s", n, begun.Transaction),
		"commit by=token caller=good code=OK dataset=sales/a transaction="+begun.Transaction)
	must(f.actAs(good, "begin", `{"dataset":"sales/a"}`, &begun))
	must(f.actAs(good, "abort", fmt.Sprintf(`{"dataset":"sales/a","transaction":%q}`, begun.Transaction), nil))
	says(t, lines)

	// What goes is told with its size.
	g, err := f.catalog.Current("sales/a")
	must(err)
	stored := g.Stored
	g.Release()
	must(f.actAs(good, "drop", `{"dataset":"sales/a"}`, nil))
	wantStatus(t, f.actAs(good, "drop", `{"dataset":"sales/a"}`, nil), codes.NotFound)
	_, err = put(good, `{"dataset":"else"}`)
	must(err)
	says(t, lines)
	must(f.actAs(other, "evict", `{"dataset":"else"}`, nil))
	if got := says(t, lines); len(got) != 1 || !strings.HasSuffix(got[0], "caller=other code=OK dataset=else rows=10") {
		t.Errorf("%q", got)
	}
	must(f.actAs(good, "drop", `{"dataset":"sales/a","if_exists":true}`, nil))
	wantLines(t, lines, "drop by=token caller=good code=OK dataset=sales/a")
	if stored <= 0 {
		t.Errorf("%d bytes were stored", stored)
	}
}

// ended is the error of a stream that was read to its end.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// basic is the header of a name and a password.
func basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// Logins have lines, the failed ones with why; no line has a password or a token.
func TestAuditOfLogins(t *testing.T) {
	f, lines := audited(t)
	login := func(header string) error {
		stream, err := f.client.Handshake(metadata.AppendToOutgoingContext(f.context(), headerAuthorization, header))
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		for err == nil {
			_, err = stream.Recv()
		}
		return ended(err)
	}
	if err := login(basic("alice", "pw")); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, login(basic("alice", "hunter2")), codes.Unauthenticated)
	wantStatus(t, login("Bearer s3cret"), codes.Unauthenticated)
	var text strings.Builder
	for _, e := range lines.All() {
		fmt.Fprint(&text, e.Message, e.ContextMap())
	}
	for _, secret := range []string{"pw", "hunter2", "s3cret", "Basic", "Bearer"} {
		if strings.Contains(text.String(), secret) {
			t.Errorf("the audit has %q: %s", secret, &text)
		}
	}
	got := says(t, lines)
	if len(got) != 3 || got[0] != "login by=password caller=alice code=OK" || !strings.HasPrefix(got[1], "login code=Unauthenticated reason=") || !strings.HasPrefix(got[2], "login code=Unauthenticated reason=") {
		t.Errorf("%q", got)
	}
}

// Of many denied calls some have no line, which the next line and a metric say; of writes all do.
func TestAuditIsBoundedForDeniedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		a := audit{log: zap.New(core), sparing: sparing{burst: denialsBurst, every: denialsEvery}}
		get, ctx := "/arrow.flight.protocol.FlightService/DoGet", context.Background()
		seen := &methodMetrics{name: "DoGet"}
		for range denialsBurst + 10 {
			a.tell(ctx, &call{seen: seen, reason: "nothing was shown"}, get, codes.Unauthenticated, "")
		}
		for range 1000 {
			a.tell(ctx, &call{}, methodDoPut, codes.OK, "")
			a.tell(ctx, &call{seen: seen}, get, codes.OK, "")
		}
		if n := logs.FilterMessage("DoGet").Len(); n != denialsBurst {
			t.Errorf("%d lines about denied calls", n)
		}
		if n := logs.FilterMessage("put").Len(); n != 1000 {
			t.Errorf("%d lines about puts", n)
		}
		time.Sleep(2 * denialsEvery)
		logs.TakeAll()
		for range 3 {
			a.tell(ctx, &call{seen: seen, denied: "read"}, get, codes.NotFound, "")
		}
		all := logs.TakeAll()
		if len(all) != 2 || all[0].ContextMap()["omitted"] != int64(10) || all[1].ContextMap()["omitted"] != nil {
			t.Errorf("%v", all)
		}
		if a.lines.Load() != denialsBurst+1000+2 || a.spared.Load() != 11 {
			t.Errorf("%d lines, %d spared", a.lines.Load(), a.spared.Load())
		}
	})
}

// What clients choose is legible in the log and the audit: nothing in it is hidden, or shown in another order.
func TestNamesAreLegible(t *testing.T) {
	f, lines := audited(t)
	const name, shown = "sales/a\u202eb", `sales/a\u202eb`
	err := ends(f.client.DoGet(f.as(good), &arrowflight.Ticket{Ticket: []byte(name)}))
	wantStatus(t, err, codes.NotFound, shown)
	if n := f.logs.FilterField(zap.String("dataset", shown)).Len(); n != 1 {
		t.Errorf("%d lines of the log name it", n)
	}
	put := described(byPath("sales", "a\u202eb"), messagesOf(t, noise(10)))
	_, err = sendTo(f.as(good), f.client, put)
	wantStatus(t, err, codes.InvalidArgument, "invisible character U+202E")
	wantStatus(t, f.actAs(good, "begin", `{"dataset":"`+name+`"}`, nil), codes.InvalidArgument, "invisible character U+202E")
	wantStatus(t, f.actAs(good, "drop", `{"dataset":"`+name+`"}`, nil), codes.NotFound, shown)
	wantLines(t, lines, fmt.Sprintf("put by=token bytes=%d caller=good code=InvalidArgument rows=0", proto.Size(put[0])), "begin by=token caller=good code=InvalidArgument",
		"drop by=token caller=good code=NotFound dataset="+shown)
}
