package flight

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
)

func (f *fixture) info(d *arrowflight.FlightDescriptor) *arrowflight.FlightInfo {
	f.Helper()
	info, err := f.client.GetFlightInfo(f.context(), d)
	if err != nil {
		f.Fatalf("info: %v", err)
	}
	return info
}

// What GetFlightInfo says is what its ticket delivers: schema to the byte, rows, decoded bytes.
func TestInfoIsExact(t *testing.T) {
	tb := mixed(14, 1000, 1, 700)
	for _, codec := range []string{"none", "zstd"} {
		f := start(t)
		facts := f.put(byCommand(fmt.Sprintf(`{"dataset":"a/b","codec":%q,"batching":"keep"}`, codec)), tb)
		byName := map[string]int64{}
		for _, c := range facts.Columns {
			byName[c.Name] = c.DecodedBytes
		}
		for columns, bytes := range map[string]int64{
			``:                        facts.DecodedBytes,
			`,"columns":[]`:           0,
			`,"columns":["id"]`:       1701 * 8,
			`,"columns":["none"]`:     0,
			`,"columns":["word",0]`:   byName["word"] + 1701*8,
			`,"columns":["id","id"]`:  2 * 1701 * 8,
			`,"columns":["deep"]`:     byName["deep"],
			`,"columns":["deep.x"]`:   -1, // the struct's own bitmap and its child: less than the whole
			`,"columns":[7,"view",4]`: byName["noise"] + byName["view"] + byName["list"],
		} {
			t.Run(codec+columns, func(t *testing.T) {
				f := f.in(t)
				d := byCommand(`{"dataset":"a/b"` + columns + `}`)
				info := f.info(d)
				if info.TotalRecords != 1701 || !info.Ordered || !proto.Equal(info.FlightDescriptor, d) {
					t.Errorf("info %v", info)
				}
				if info.TotalBytes != bytes && (bytes >= 0 || info.TotalBytes <= 0 || info.TotalBytes >= byName["deep"]) {
					t.Errorf("%d bytes, want %d", info.TotalBytes, bytes)
				}
				if !slices.Equal(f.catalogFacts("a/b"), info.AppMetadata) {
					t.Errorf("app_metadata %s", info.AppMetadata)
				}
				if len(info.Endpoint) != 1 || len(info.Endpoint[0].Location) != 0 {
					t.Fatalf("endpoints %v", info.Endpoint)
				}
				stream := f.get(string(info.Endpoint[0].Ticket.Ticket))
				if got := tableOf(t, stream).rows(); got != info.TotalRecords {
					t.Errorf("%d rows come, %d were counted", got, info.TotalRecords)
				}
				f.oneSchema(d, info, stream)
			})
		}
	}
}

func (f *fixture) catalogFacts(name string) []byte {
	g, err := f.catalog.Current(name)
	if err != nil {
		f.Fatal(err)
	}
	defer g.Release()
	return g.FactsJSON()
}

// oneSchema checks that GetSchema, FlightInfo and the stream have the very same schema.
func (f *fixture) oneSchema(d *arrowflight.FlightDescriptor, info *arrowflight.FlightInfo, stream messages) {
	f.Helper()
	result, err := f.client.GetSchema(f.context(), d)
	if err != nil {
		f.Fatal(err)
	}
	if !bytes.Equal(result.Schema, info.Schema) {
		f.Error("GetSchema and GetFlightInfo differ")
	}
	header, err := arrowipc.EncapsulatedMessage(result.Schema, arrowipc.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	// The length before an encapsulated header counts the padding behind it.
	if !bytes.Equal(bytes.TrimRight(header, "\x00"), bytes.TrimRight(stream[0].DataHeader, "\x00")) {
		f.Error("GetSchema and the stream differ")
	}
	decoded, err := arrowflight.DeserializeSchema(result.Schema, memory.NewGoAllocator())
	if err != nil {
		f.Fatal(err)
	}
	if got := tableOf(f, stream).schema; !got.Equal(decoded) || !got.Metadata().Equal(decoded.Metadata()) {
		f.Errorf("schemas %v and %v", got, decoded)
	}
}

// The totals of a dataset are those of the plain bytes, whatever codec stores it.
func TestDecodedBytesDoNotDependOnTheCodec(t *testing.T) {
	f := start(t)
	tb := mixed(15, 3000)
	var first int64
	for _, codec := range []string{"none", "lz4", "zstd"} {
		f.put(byCommand(fmt.Sprintf(`{"dataset":%q,"codec":%q}`, codec, codec)), tb)
		info := f.info(byPath(codec))
		if first == 0 {
			first = info.TotalBytes
		}
		if info.TotalBytes != first || first < 3000*16 {
			t.Errorf("%s: %d bytes, none: %d", codec, info.TotalBytes, first)
		}
	}
}

func TestInfoOfAnEmptyDataset(t *testing.T) {
	f := start(t)
	f.put(byPath("empty"), mixed(1))
	d := byPath("empty")
	info := f.info(d)
	if info.TotalRecords != 0 || info.TotalBytes != 0 || len(info.Endpoint) != 1 {
		t.Errorf("info %v", info)
	}
	f.oneSchema(d, info, f.get(string(info.Endpoint[0].Ticket.Ticket)))
}

// A ticket reads what was counted, or tells that it cannot.
func TestTicketsAreBoundToTheirGeneration(t *testing.T) {
	f := start(t, func(s *setup) { s.service.LeaseTime = -1 })
	f.put(byPath("d"), numbers(constant(1), 10))
	ticket := string(f.info(byPath("d")).Endpoint[0].Ticket.Ticket)
	for range 2 { // a ticket is good for more than one read
		if got := tableOf(t, f.get(ticket)).rows(); got != 10 {
			t.Errorf("%d rows", got)
		}
	}
	f.put(byPath("d"), numbers(constant(2), 20))
	_, err := read(f.context(), f.client, ticket)
	wantStatus(t, err, codes.NotFound, `"d"`, "replaced", "GetFlightInfo")
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	_, err = read(f.context(), f.client, ticket)
	wantStatus(t, err, codes.NotFound, `"d"`, "ListFlights")
	f.put(byPath("d"), numbers(constant(3), 30)) // the same name again is another generation
	_, err = read(f.context(), f.client, ticket)
	wantStatus(t, err, codes.NotFound, "replaced")
}

func TestGenerationInACommand(t *testing.T) {
	f := start(t)
	old := f.put(byPath("d"), numbers(constant(1), 10))
	command := fmt.Sprintf(`{"dataset":"d","generation":%q}`, old.Generation)
	if got := tableOf(t, f.get(command)).rows(); got != 10 {
		t.Errorf("%d rows", got)
	}
	f.put(byPath("d"), numbers(constant(2), 20))
	_, err := f.client.GetFlightInfo(f.context(), byCommand(command))
	wantStatus(t, err, codes.NotFound, old.Generation)
	_, err = read(f.context(), f.client, command)
	wantStatus(t, err, codes.NotFound, old.Generation)
}

func TestBadTickets(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), mixed(16, 10))
	sealed := f.info(byPath("d")).Endpoint[0].Ticket.Ticket
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)/2] ^= 1
	other := start(t)
	other.put(byPath("d"), mixed(16, 10))
	for name, c := range map[string]struct {
		ticket string
		code   codes.Code
		part   string
	}{
		"empty":               {"", codes.InvalidArgument, "empty"},
		"one byte":            {"\x01", codes.InvalidArgument, "ticket"},
		"flipped":             {string(flipped), codes.InvalidArgument, "ticket"},
		"of another server":   {string(other.info(byPath("d")).Endpoint[0].Ticket.Ticket), codes.InvalidArgument, "ticket"},
		"bad name":            {"a//b", codes.InvalidArgument, "segment"},
		"absent":              {"absent", codes.NotFound, `"absent"`},
		"half a command":      {`{"dataset"`, codes.InvalidArgument, "early"},
		"column that is not":  {`{"dataset":"d","columns":["nope"]}`, codes.InvalidArgument, `"nope"`},
		"ordinal that is not": {`{"dataset":"d","columns":[8]}`, codes.InvalidArgument, "8 columns"},
		"filter":              {`{"dataset":"d","filters":[]}`, codes.InvalidArgument, `filters`},
		"too long":            {string(bytes.Repeat([]byte("x"), 1<<20)), codes.InvalidArgument, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			f := f.in(t)
			_, err := read(f.context(), f.client, c.ticket)
			wantStatus(t, err, c.code, c.part)
		})
	}
}

func TestBadDescriptors(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), mixed(16, 10))
	for name, c := range map[string]struct {
		d    *arrowflight.FlightDescriptor
		code codes.Code
		part string
	}{
		"none":          {&arrowflight.FlightDescriptor{}, codes.InvalidArgument, "PATH or CMD"},
		"unknown type":  {&arrowflight.FlightDescriptor{Type: 9, Path: []string{"d"}}, codes.InvalidArgument, "PATH or CMD"},
		"empty path":    {byPath(), codes.InvalidArgument, "name"},
		"empty command": {byCommand(""), codes.InvalidArgument, "empty"},
		"unknown key":   {byCommand(`{"dataset":"d","colums":[]}`), codes.InvalidArgument, `"columns"`},
		"put's key":     {byCommand(`{"dataset":"d","mode":"append"}`), codes.InvalidArgument, `"mode"`},
		"absent":        {byPath("absent"), codes.NotFound, `"absent"`},
		"no column":     {byCommand(`{"dataset":"d","columns":["idd"]}`), codes.InvalidArgument, `"idd"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := f.in(t)
			_, err := f.client.GetFlightInfo(f.context(), c.d)
			wantStatus(t, err, c.code, c.part)
			_, err = f.client.GetSchema(f.context(), c.d)
			wantStatus(t, err, c.code, c.part)
			_, err = f.client.PollFlightInfo(f.context(), c.d)
			wantStatus(t, err, c.code, c.part)
		})
	}
}

func TestPollIsCompleteAtOnce(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), mixed(16, 10))
	poll, err := f.client.PollFlightInfo(f.context(), byPath("d"))
	if err != nil {
		t.Fatal(err)
	}
	if poll.FlightDescriptor != nil || poll.Progress == nil || math.Abs(*poll.Progress-1) > 0 || poll.Info.GetTotalRecords() != 10 {
		t.Errorf("poll %v", poll)
	}
	if got := tableOf(t, f.get(string(poll.Info.Endpoint[0].Ticket.Ticket))).rows(); got != 10 {
		t.Errorf("%d rows", got)
	}
}

func TestListFlights(t *testing.T) {
	f := start(t)
	for _, name := range []string{"b", "a/2", "a/10", "ab", "ä"} {
		f.put(byCommand(fmt.Sprintf(`{"dataset":%q}`, name)), mixed(17, len(name)))
	}
	for prefix, want := range map[string][]string{
		"": {"a/10", "a/2", "ab", "b", "ä"}, "a": {"a/10", "a/2", "ab"}, "a/": {"a/10", "a/2"}, "b": {"b"}, "c": nil, "a/2/": nil,
	} {
		stream, err := f.client.ListFlights(f.context(), &arrowflight.Criteria{Expression: []byte(prefix)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			info, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var facts catalog.Facts
			if err := json.Unmarshal(info.AppMetadata, &facts); err != nil {
				t.Fatal(err)
			}
			got = append(got, facts.Dataset)
			ticket := string(info.Endpoint[0].Ticket.Ticket)
			if ticket != facts.Dataset || info.TotalRecords != int64(len(facts.Dataset)) {
				t.Errorf("%s: ticket %q, %d rows", facts.Dataset, ticket, info.TotalRecords)
			}
			again := f.info(info.FlightDescriptor)
			again.Endpoint = info.Endpoint
			if !proto.Equal(again, info) {
				t.Errorf("%s: GetFlightInfo says %v, ListFlights %v", facts.Dataset, again, info)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q: %q, want %q", prefix, got, want)
		}
	}
}
