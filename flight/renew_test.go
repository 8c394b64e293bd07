package flight

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/catalog"
)

// clock is a clock that tests move.
type clock struct{ past atomic.Int64 }

// clockStart is where every such clock begins.
var clockStart = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func (c *clock) now() time.Time          { return clockStart.Add(time.Duration(c.past.Load())) }
func (c *clock) forward(d time.Duration) { c.past.Add(int64(d)) }

// startClocked serves a catalogue on a clock of the test's.
func startClocked(t testing.TB, change ...func(*setup)) (*fixture, *clock) {
	c := &clock{}
	return start(t, append([]func(*setup){func(s *setup) { s.catalog.Now = c.now }}, change...)...), c
}

// flightAction carries out one of Flight's own actions and reads its one result.
func (f *fixture) flightAction(name string, request, result proto.Message) error {
	f.Helper()
	body, err := proto.Marshal(request)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.actionBody(name, body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(answer, result)
}

func (f *fixture) renew(e *arrowflight.FlightEndpoint) (*arrowflight.FlightEndpoint, error) {
	f.Helper()
	var out arrowflight.FlightEndpoint
	err := f.flightAction(arrowflight.RenewFlightEndpointActionType, &arrowflight.RenewFlightEndpointRequest{Endpoint: e}, &out)
	return &out, err
}

func (f *fixture) cancel(info *arrowflight.FlightInfo) (arrowflight.CancelStatus, error) {
	f.Helper()
	var out arrowflight.CancelFlightInfoResult
	err := f.flightAction(arrowflight.CancelFlightInfoActionType, &arrowflight.CancelFlightInfoRequest{Info: info}, &out)
	return out.GetStatus(), err
}

func ticketOf(e *arrowflight.FlightEndpoint) string { return string(e.GetTicket().GetTicket()) }

// wantEnded checks that a ticket's generation is gone with its lease.
func (f *fixture) wantEnded(e *arrowflight.FlightEndpoint, parts ...string) {
	f.Helper()
	_, err := read(f.context(), f.client, ticketOf(e))
	wantStatus(f, err, codes.NotFound, append(parts, "lease of this ticket has ended")...)
}

// What GetFlightInfo counted, its tickets deliver, though the dataset was replaced and dropped; when all leases have ended,
// nothing is left of it.
func TestTicketsOutliveTheirDataset(t *testing.T) {
	f, c := startClocked(t)
	tb := mixed(5, 900, 800, 700)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), tb)
	whole := f.info(byPath("d"))
	parts := f.info(byCommand(`{"dataset":"d","partitions":3}`))
	statistics := f.info(byCommand(`{"dataset":"d","statistics":true}`))
	told := f.get(ticketOf(statistics.Endpoint[0]))
	for _, info := range []*arrowflight.FlightInfo{whole, parts, statistics} {
		for _, e := range info.Endpoint {
			if got, want := e.GetExpirationTime().AsTime(), c.now().Add(DefaultLeaseTime); !got.Equal(want) {
				t.Errorf("expires %v, want %v", got, want)
			}
		}
	}
	check := func() {
		t.Helper()
		got := tableOf(t, f.get(ticketOf(whole.Endpoint[0])))
		sameTable(t, got, tb)
		if got.rows() != whole.TotalRecords {
			t.Errorf("%d rows, counted were %d", got.rows(), whole.TotalRecords)
		}
		rows := int64(0)
		for _, e := range parts.Endpoint {
			rows += tableOf(t, f.get(ticketOf(e))).rows()
		}
		if rows != parts.TotalRecords || len(parts.Endpoint) != 3 {
			t.Errorf("%d parts of %d rows, counted were %d", len(parts.Endpoint), rows, parts.TotalRecords)
		}
		sameTable(t, tableOf(t, f.get(ticketOf(statistics.Endpoint[0]))), tableOf(t, told))
	}
	f.put(byPath("d"), numbers(constant(1), 10))
	check()
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	check()
	var stats statsJSON
	if err := f.action("server_stats", "", &stats); err != nil || stats.Leases != 3 || stats.LeasedBytes == 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	for i, info := range []*arrowflight.FlightInfo{whole, parts, statistics} {
		if f.charged() == 0 {
			t.Errorf("nothing is charged while %d leases run", 3-i)
		}
		for range 2 { // a cancellation may be sent again
			if status, err := f.cancel(info); err != nil || status != arrowflight.CancelStatusCancelled {
				t.Errorf("cancel: %v, %v", status, err)
			}
		}
		for _, e := range info.Endpoint {
			f.wantEnded(e, `"d"`)
		}
	}
	f.settles(0)
}

// A lease ends at its time: what was replaced is gone, what is newest still reads.
func TestLeasesEnd(t *testing.T) {
	f, c := startClocked(t, func(s *setup) { s.service.LeaseTime = time.Hour })
	f.put(byPath("d"), numbers(constant(1), 10))
	old := f.info(byPath("d")).Endpoint[0]
	f.put(byPath("d"), numbers(constant(2), 20))
	now := f.info(byPath("d")).Endpoint[0]
	c.forward(time.Hour - 1)
	if got := tableOf(t, f.get(ticketOf(old))).rows(); got != 10 {
		t.Errorf("%d rows", got)
	}
	c.forward(1)
	f.wantEnded(old, `"d"`, "replaced", "GetFlightInfo")
	if got := tableOf(t, f.get(ticketOf(now))).rows(); got != 20 {
		t.Errorf("%d rows", got)
	}
	_, err := f.renew(now)
	wantStatus(t, err, codes.NotFound, `"d"`, "lease has ended", "GetFlightInfo")
}

// What a lease alone kept is given back when its time is over, though nobody asks.
func TestLeasedBytesComeBack(t *testing.T) {
	f := start(t, func(s *setup) { s.service.LeaseTime = 50 * time.Millisecond })
	f.put(byPath("d"), numbers(constant(1), 10_000))
	for range 20 {
		f.info(byPath("d"))
	}
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	f.settles(0)
}

// A renewal moves the lease of its endpoint, and a cancellation ends the leases of its info: those of others stay.
func TestRenewAndCancelTouchOneLease(t *testing.T) {
	f, c := startClocked(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	one, two, three := f.info(byPath("d")), f.info(byPath("d")), f.info(byPath("d"))
	if ticketOf(one.Endpoint[0]) == ticketOf(two.Endpoint[0]) {
		t.Fatal("two infos share a lease")
	}
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	if status, err := f.cancel(one); err != nil || status != arrowflight.CancelStatusCancelled {
		t.Errorf("cancel: %v, %v", status, err)
	}
	f.wantEnded(one.Endpoint[0])
	c.forward(DefaultLeaseTime / 2)
	renewed, err := f.renew(two.Endpoint[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := c.now().Add(DefaultLeaseTime); !renewed.ExpirationTime.AsTime().Equal(want) || ticketOf(renewed) != ticketOf(two.Endpoint[0]) {
		t.Errorf("renewed to %v, want %v", renewed.ExpirationTime.AsTime(), want)
	}
	f.get(ticketOf(three.Endpoint[0]))
	c.forward(DefaultLeaseTime / 2)
	f.wantEnded(three.Endpoint[0])
	f.get(ticketOf(renewed))
	c.forward(DefaultLeaseTime / 2)
	f.wantEnded(renewed)
}

// What takes no lease says so, and its tickets read what is newest.
func TestWhatTakesNoLease(t *testing.T) {
	f, _ := startClocked(t, func(s *setup) { s.catalog.MaxLeases = 1 })
	f.put(byPath("d"), numbers(constant(1), 10))
	stream, err := f.client.ListFlights(f.context(), &arrowflight.Criteria{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.GetSchema(f.context(), byPath("d")); err != nil {
		t.Fatal(err)
	}
	if n, _ := f.catalog.Leases(); n != 0 {
		t.Errorf("ListFlights and GetSchema took %d leases", n)
	}
	first, over := f.info(byPath("d")), f.info(byPath("d"))
	if first.Endpoint[0].ExpirationTime == nil || over.Endpoint[0].ExpirationTime != nil {
		t.Errorf("one lease there may be: %v and %v", first.Endpoint[0].ExpirationTime, over.Endpoint[0].ExpirationTime)
	}
	for name, info := range map[string]*arrowflight.FlightInfo{"listed": listed, "over the bound": over} {
		if info.Endpoint[0].ExpirationTime != nil {
			t.Errorf("%s: it expires", name)
		}
		_, err := f.renew(info.Endpoint[0])
		wantStatus(t, err, codes.InvalidArgument, `"d"`, "no lease")
		if status, err := f.cancel(info); err != nil || status != arrowflight.CancelStatusNotCancellable {
			t.Errorf("%s: cancel: %v, %v", name, status, err)
		}
		if got := tableOf(t, f.get(ticketOf(info.Endpoint[0]))).rows(); got != 10 {
			t.Errorf("%s: %d rows", name, got)
		}
	}
}

func TestBadRenewalsAndCancellations(t *testing.T) {
	f, _ := startClocked(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	info := f.info(byPath("d"))
	damaged := proto.Clone(info).(*arrowflight.FlightInfo)
	damaged.Endpoint[0].Ticket.Ticket[5] ^= 1
	mixed := proto.Clone(info).(*arrowflight.FlightInfo)
	mixed.Endpoint = append(mixed.Endpoint, damaged.Endpoint[0])
	_, err := f.renew(damaged.Endpoint[0])
	wantStatus(t, err, codes.InvalidArgument, "damaged")
	_, err = f.renew(&arrowflight.FlightEndpoint{})
	wantStatus(t, err, codes.InvalidArgument, "ticket")
	_, err = f.renew(nil)
	wantStatus(t, err, codes.InvalidArgument, "RenewFlightEndpointRequest")
	for _, info := range []*arrowflight.FlightInfo{damaged, mixed} {
		_, err = f.cancel(info)
		wantStatus(t, err, codes.InvalidArgument, "nothing was cancelled")
	}
	_, err = f.cancel(nil)
	wantStatus(t, err, codes.InvalidArgument, "CancelFlightInfoRequest")
	for _, name := range []string{arrowflight.RenewFlightEndpointActionType, arrowflight.CancelFlightInfoActionType} {
		wantStatus(t, f.action(name, "\xff\xff", nil), codes.InvalidArgument, name)
	}
	wantStatus(t, f.action(arrowflight.RenewFlightEndpointActionType, strings.Repeat("x", maxEndpointBytes+1), nil), codes.InvalidArgument, "at most")
	many := append(protowire.AppendTag(nil, 1, protowire.BytesType), protowire.AppendBytes(nil, bytes.Repeat([]byte{3<<3 | 2, 0}, 1<<20))...)
	wantStatus(t, f.action(arrowflight.CancelFlightInfoActionType, string(many), nil), codes.InvalidArgument, "endpoint 0", "empty")
	if n, _ := f.catalog.Leases(); n != 1 {
		t.Errorf("%d leases run, want the one", n)
	}
}

// No body of Flight's own actions makes the server panic, or end a lease that it does not name.
func FuzzFlightActions(f *testing.F) {
	fix := start(f, func(s *setup) { s.service.LeaseTime = 24 * time.Hour })
	fix.put(byPath("d"), numbers(constant(1), 10))
	info := fix.info(byPath("d"))
	fix.info(byPath("d")) // which nothing names
	for _, m := range []proto.Message{
		&arrowflight.CancelFlightInfoRequest{Info: info}, &arrowflight.RenewFlightEndpointRequest{Endpoint: info.Endpoint[0]},
		&arrowflight.CancelFlightInfoRequest{}, &arrowflight.CancelFlightInfoRequest{Info: &arrowflight.FlightInfo{Endpoint: []*arrowflight.FlightEndpoint{{}}}},
	} {
		body, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte{0x0a, 0x80})
	f.Fuzz(func(t *testing.T, body []byte) {
		_, renewed := fix.server.renewFlightEndpoint(&call{}, body)
		_, cancelled := fix.server.cancelFlightInfo(&call{}, body)
		for _, err := range []error{renewed, cancelled} {
			if status.Code(toStatus(err)) == codes.Internal {
				t.Errorf("%v has no code of its own", err)
			}
		}
		if n, _ := fix.catalog.Leases(); n == 0 {
			t.Error("a lease was ended that nothing names")
		}
	})
}

// Describe and the counts tell of leases.
func TestLeasesAreTold(t *testing.T) {
	f, _ := startClocked(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	f.put(byPath("e"), numbers(constant(1), 10))
	f.info(byPath("d"))
	f.info(byPath("d"))
	f.info(byPath("e"))
	stored := f.put(byPath("d"), numbers(constant(2), 10)).StoredBytes
	var d catalog.Description
	if err := f.action("describe", `{"dataset":"d"}`, &d); err != nil || d.Leases != 2 || d.LeasedBytes != stored {
		t.Errorf("described as %+v, %v; want 2 leases that keep %d bytes", d, err, stored)
	}
	for body, want := range map[string]int{`{}`: 3, `{"dataset":"d"}`: 2, `{"dataset":"e"}`: 1} {
		var s statsJSON
		if err := f.action("server_stats", body, &s); err != nil || s.Leases != want || (s.LeasedBytes == stored) != (want > 1) {
			t.Errorf("%s: %+v, %v", body, s, err)
		}
	}
}
