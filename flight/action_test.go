package flight

import (
	"errors"
	"io"
	"slices"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flightcache/flightcache/catalog"
)

func TestDrop(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	var result map[string]any
	if err := f.action("drop", `{"dataset":"d"}`, &result); err != nil {
		t.Fatal(err)
	}
	if len(result) != 2 || result["dataset"] != "d" || result["dropped"] != true {
		t.Errorf("result %v", result)
	}
	f.settles(0)
	wantStatus(t, f.action("drop", `{"dataset":"d"}`, nil), codes.NotFound, `"d"`)
	if err := f.action("drop", `{"dataset":"d","if_exists":true}`, &result); err != nil || result["dropped"] != false {
		t.Errorf("result %v, %v", result, err)
	}
}

func TestDescribe(t *testing.T) {
	f := start(t)
	put := f.put(byPath("a", "b"), mixed(18, 100))
	var got catalog.Facts
	if err := f.action("describe", `{"dataset":"a/b"}`, &got); err != nil {
		t.Fatal(err)
	}
	if got.Generation != put.Generation || got.Rows != 100 || got.Codec != "zstd" || len(got.Columns) != 8 {
		t.Errorf("facts %+v, the put said %+v", got, put)
	}
	var decoded, stored, nulls int64
	for _, c := range got.Columns {
		decoded += c.DecodedBytes
		stored += c.StoredBytes
		if c.Name == "none" {
			nulls = c.NullCount
		}
	}
	if decoded != got.DecodedBytes || stored > got.StoredBytes || stored == 0 || nulls != 100 {
		t.Errorf("columns add up to %d and %d bytes, the dataset has %d and %d; %d nulls", decoded, stored, got.DecodedBytes, got.StoredBytes, nulls)
	}
	wantStatus(t, f.action("describe", `{"dataset":"absent"}`, nil), codes.NotFound, `"absent"`)
}

// ListActions tells of what DoAction does and of nothing else.
func TestListedActionsAreDone(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	stream, err := f.client.ListActions(f.context(), &arrowflight.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for {
		a, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if a.Description == "" {
			t.Errorf("%s has no description", a.Type)
		}
		listed = append(listed, a.Type)
	}
	slices.Sort(listed)
	want := []string{
		"CancelFlightInfo", "RenewFlightEndpoint", "abort", "begin", "commit", "compact", "describe", "drop", "evict", "pin", "server_stats",
		"statistics", "unpin",
	}
	if !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	for _, name := range []string{"pin", "unpin", "compact", "begin", "describe", "server_stats", "statistics", "drop"} {
		if err := f.action(name, `{"dataset":"d"}`, new(any)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestActionsThatAreNot(t *testing.T) {
	f := start(t)
	for name, c := range map[string]struct {
		action, body string
		code         codes.Code
		part         string
	}{
		"unknown":       {"dropp", "", codes.InvalidArgument, `"drop"`},
		"no name":       {"", "", codes.InvalidArgument, "unknown action"},
		"no dataset":    {"drop", "", codes.InvalidArgument, `"dataset" is missing`},
		"no JSON":       {"drop", "d", codes.InvalidArgument, "JSON"},
		"unknown key":   {"describe", `{"dataset":"d","x":1}`, codes.InvalidArgument, `"x"`},
		"renew":         {arrowflight.RenewFlightEndpointActionType, "", codes.InvalidArgument, "RenewFlightEndpointRequest"},
		"cancel":        {arrowflight.CancelFlightInfoActionType, "", codes.InvalidArgument, "CancelFlightInfoRequest"},
		"set session":   {arrowflight.SetSessionOptionsActionType, "", codes.Unimplemented, "SetSessionOptions"},
		"get session":   {arrowflight.GetSessionOptionsActionType, "", codes.Unimplemented, "GetSessionOptions"},
		"close session": {arrowflight.CloseSessionActionType, "", codes.Unimplemented, "CloseSession"},
	} {
		t.Run(name, func(t *testing.T) {
			wantStatus(t, f.in(t).action(c.action, c.body, nil), c.code, c.part)
		})
	}
}

func TestCallsThatAreNot(t *testing.T) {
	f := start(t)
	handshake, err := f.client.Handshake(f.context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = handshake.Recv()
	wantStatus(t, err, codes.Unimplemented, "Handshake")
	exchange, err := f.client.DoExchange(f.context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = exchange.Recv()
	wantStatus(t, err, codes.Unimplemented, "DoExchange", "DoPut and DoGet")
}

func TestHealth(t *testing.T) {
	f := start(t)
	client := healthpb.NewHealthClient(f.dial())
	check := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for _, service := range []string{"", "arrow.flight.protocol.FlightService"} {
			r, err := client.Check(f.context(), &healthpb.HealthCheckRequest{Service: service})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != want {
				t.Errorf("service %q is %v, want %v", service, r.Status, want)
			}
		}
	}
	check(healthpb.HealthCheckResponse_SERVING)
	f.server.NotServing()
	check(healthpb.HealthCheckResponse_NOT_SERVING)
	if _, err := f.client.GetFlightInfo(f.context(), byPath("d")); err == nil {
		t.Error("an absent dataset has an info")
	} else {
		wantStatus(t, err, codes.NotFound) // what still comes is answered
	}
}
