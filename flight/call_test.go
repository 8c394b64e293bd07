package flight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
)

// A panic is a fault of ours: its call fails, the log has where, and the server goes on.
func TestPanicEndsItsCallOnly(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	f.logs.TakeAll()
	secret := "what a client should not see"
	hook(t, func(*Server) ([]byte, error) { panic(secret) })
	err := f.action(hooked, "", nil)
	wantStatus(t, err, codes.Internal, "internal error", "log")
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the client sees the panic: %v", err)
	}
	entries := f.logs.FilterMessage("panic in a handler").All()
	if len(entries) != 1 {
		t.Fatalf("%d log entries about the panic, want 1", len(entries))
	}
	fields := entries[0].ContextMap()
	stack, _ := fields["stack"].(string)
	if fields["panic"] != secret || !strings.Contains(stack, "TestPanicEndsItsCallOnly") {
		t.Errorf("the log does not tell of the panic: %v", fields)
	}
	if f.ended("DoAction") != 1 {
		t.Error("the call is not in the log")
	}
	sameTable(t, tableOf(t, f.get("d")), numbers(constant(1), 10))
}

func TestPanicInAUnaryCall(t *testing.T) {
	f := start(t)
	f.server.catalog = nil
	_, err := f.client.GetFlightInfo(f.context(), byPath("d"))
	f.server.catalog = f.catalog
	wantStatus(t, err, codes.Internal, "internal error")
	_, err = f.client.GetFlightInfo(f.context(), byPath("d"))
	wantStatus(t, err, codes.NotFound)
}

// One line a call says who asked for what, how much of it there was and how it ended; never what was in it.
func TestOneLogLineACall(t *testing.T) {
	f := start(t)
	secret := "a value that is nobody's business"
	tb := mixed(9, 300)
	in := f.put(byPath("sales", "2024"), tb)
	line := func(rpc string) map[string]any {
		t.Helper()
		f.eventually("the call is logged", func() bool { return f.ended(rpc) > 0 })
		all := f.logs.TakeAll()
		if len(all) != 1 {
			t.Fatalf("%d lines, want 1: %v", len(all), all)
		}
		fields := all[0].ContextMap()
		if fields["rpc"] != rpc {
			t.Errorf("rpc %v, want %s", fields["rpc"], rpc)
		}
		if _, ok := fields["duration"]; !ok {
			t.Error("no duration")
		}
		if peer, _ := fields["peer"].(string); !strings.HasPrefix(peer, "127.0.0.1:") {
			t.Errorf("peer %v", fields["peer"])
		}
		if want := level(fields["code"].(string)); all[0].Level != want {
			t.Errorf("level %v, want %v", all[0].Level, want)
		}
		for k, v := range fields {
			if s, ok := v.(string); ok && strings.Contains(s, secret) {
				t.Errorf("%s tells a payload: %q", k, s)
			}
		}
		return fields
	}
	want := func(fields map[string]any, what map[string]any) {
		t.Helper()
		for k, v := range what {
			if fields[k] != v {
				t.Errorf("%v: %s is %v, want %v", fields["rpc"], k, fields[k], v)
			}
		}
	}

	want(line("DoPut"), map[string]any{
		"code": "OK", "dataset": "sales/2024", "rows": in.Rows, "bytes": wireSize(described(byPath("sales", "2024"), messagesOf(t, tb))),
	})
	out := f.get(`{"dataset":"sales/2024","columns":["id"]}`)
	want(line("DoGet"), map[string]any{"code": "OK", "dataset": "sales/2024", "rows": int64(300), "bytes": bodied(out)})
	if _, err := f.client.GetFlightInfo(f.context(), byPath("sales", "2024")); err != nil {
		t.Fatal(err)
	}
	want(line("GetFlightInfo"), map[string]any{"code": "OK", "dataset": "sales/2024", "rows": nil})
	if err := f.action("describe", `{"dataset":"sales/2024"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	want(line("DoAction"), map[string]any{"code": "OK", "dataset": "sales/2024", "action": "describe"})
	if _, err := read(f.context(), f.client, "absent"); err == nil {
		t.Fatal("an absent dataset was read")
	}
	fields := line("DoGet")
	want(fields, map[string]any{"code": "NotFound", "dataset": "absent", "rows": nil})
	if text, _ := fields["error"].(string); !strings.Contains(text, "absent") {
		t.Errorf("error %v", fields["error"])
	}
	if _, err := f.send(messages{{AppMetadata: []byte(secret), DataHeader: []byte(secret), DataBody: []byte(secret)}}); err == nil {
		t.Fatal("garbage was put")
	}
	want(line("DoPut"), map[string]any{"code": "InvalidArgument"})
}

func level(code string) zapcore.Level {
	switch code {
	case "OK":
		return zapcore.InfoLevel
	case "Internal", "DataLoss", "Unknown":
		return zapcore.ErrorLevel
	}
	return zapcore.WarnLevel
}

// wireSize is how many bytes of FlightData a client's messages are.
func wireSize(in []*arrowflight.FlightData) (n int64) {
	for _, m := range in {
		n += int64(protoSize(m))
	}
	return n
}

// A client that goes away is no fault of the server's, and the log does not call it one.
func TestGoneClientsAreNoErrorsOfTheServer(t *testing.T) {
	f := start(t)
	bigPut(f)
	for rpc, begin := range map[string]func(context.Context, arrowflight.FlightServiceClient){
		"DoPut": func(ctx context.Context, client arrowflight.FlightServiceClient) {
			begun(f, ctx, client, described(byPath("e"), messagesOf(t, numbers(constant(1), 10))))
		},
		"DoGet": func(ctx context.Context, client arrowflight.FlightServiceClient) {
			f.logs.TakeAll()
			stalled(f, ctx, client, ways["stored"])
			f.blocked()
		},
	} {
		for _, how := range []string{"cancelled", "disconnected"} {
			t.Run(rpc+" "+how, func(t *testing.T) {
				f := f.in(t)
				ctx, cancel := context.WithCancel(f.context())
				defer cancel()
				w := f.wire()
				begin(ctx, w.client)
				if how == "cancelled" {
					cancel()
				} else {
					w.cut()
				}
				f.eventually("the call is logged", func() bool { return f.ended(rpc) == 1 })
				line := f.logs.FilterMessage("call").All()[0]
				code := line.ContextMap()["code"]
				if code != "Canceled" && code != "Unavailable" || line.Level != zapcore.WarnLevel {
					t.Errorf("logged as %v, at level %v: %v", code, line.Level, line.ContextMap()["error"])
				}
			})
		}
	}
}

// A handler learns of its call's deadline a little before gRPC resets the stream.
func TestBeforeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for given, want := range map[time.Duration]time.Duration{
			time.Hour: time.Hour - 100*time.Millisecond, time.Second: 900 * time.Millisecond, 10 * time.Millisecond: 9 * time.Millisecond,
		} {
			whole, cancel := context.WithTimeout(context.Background(), given)
			ctx, end := beforeDeadline(whole)
			start := time.Now()
			<-ctx.Done()
			if took := time.Since(start); took != want || !errors.Is(ctx.Err(), context.DeadlineExceeded) || whole.Err() != nil {
				t.Errorf("%v: the handler's context ended after %v (%v), the call's %v", given, took, ctx.Err(), whole.Err())
			}
			end()
			cancel()
		}
		ctx, end := beforeDeadline(context.Background())
		defer end()
		if _, has := ctx.Deadline(); has {
			t.Error("a call without a deadline has one")
		}
	})
}
