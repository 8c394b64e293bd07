package flight

import (
	"context"
	"encoding/json"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/compress"
)

// stats are the counters of the server, or of one dataset.
func (f *fixture) stats(dataset string) statsJSON {
	f.Helper()
	body := "{}"
	if dataset != "" {
		body = `{"dataset":"` + dataset + `"}`
	}
	var s statsJSON
	if err := f.action("server_stats", body, &s); err != nil {
		f.Fatal(err)
	}
	return s
}

// Each step says what it adds to the counters; afterwards they are what was added, no more.
func TestCounters(t *testing.T) {
	f := start(t)
	var server, d statsJSON // expected
	check := func(step string) {
		t.Helper()
		// What was made for a read goes when the transport has sent it, which is after its client has it.
		f.eventually("nothing is in flight", func() bool { return f.store.Stats().InFlight == 0 })
		got := f.stats("")
		server.ChargedBytes = f.charged()
		if n := f.figure("datasets"); n != int64(f.catalog.Len()) {
			t.Errorf("%s: %d datasets, there are %d", step, n, f.catalog.Len())
		}
		if got != server {
			t.Errorf("%s: the server counts\n%+v, want\n%+v", step, got, server)
		}
		if f.catalog.Len() == 0 {
			return
		}
		got = f.stats("d")
		d.Dataset, d.ChargedBytes = "d", got.ChargedBytes
		if got != d {
			t.Errorf("%s: the dataset counts\n%+v, want\n%+v", step, got, d)
		}
	}
	both := func(add func(*statsJSON)) {
		add(&server)
		add(&d)
	}
	check("nothing")

	// 1,000 and 500 int64 that stay apart and are encoded: 12,000 plain bytes.
	tb := numbers(func(row int64) int64 { return row }, 1000, 500)
	in := described(byCommand(`{"dataset":"d","batching":"keep"}`), messagesOf(t, tb))
	if _, err := f.send(in); err != nil {
		t.Fatal(err)
	}
	both(func(s *statsJSON) {
		s.Puts, s.RowsIn, s.BytesIn, s.BatchesReceived, s.BytesEncoded = 1, 1500, wireSize(in), 2, plainBytes(f, "d")
	})
	check("put")

	get := func(ticket string, rows, messages, decoded, encoded int64) {
		t.Helper()
		n := bodied(f.get(ticket))
		both(func(s *statsJSON) {
			s.Gets++
			s.RowsOut += rows
			s.BytesOut += n
			s.BatchesSent += messages
			s.BytesDecoded += decoded
			s.BytesEncoded += encoded
		})
		check("get " + ticket)
	}
	get(`{"dataset":"d","wire":"stored"}`, 1500, 2, 0, 0)
	get(`{"dataset":"d","wire":"none"}`, 1500, 2, plainBytes(f, "d"), 0)
	get(`{"dataset":"d","wire":"lz4"}`, 1500, 2, plainBytes(f, "d"), plainBytes(f, "d"))
	get(`{"dataset":"d","columns":[]}`, 1500, 2, 0, 0)
	get(`{"dataset":"d","wire":"stored","limit":1000}`, 1000, 1, 0, 0)
	get(`{"dataset":"d","limit":0}`, 0, 0, 0, 0)

	// What fails counts nothing.
	if _, err := f.send(described(byCommand(`{"dataset":"d","rows":1}`), messagesOf(t, tb))); err == nil {
		t.Fatal("a put with the wrong rows succeeded")
	}
	for _, ticket := range []string{"absent", "{", `{"dataset":"d","columns":["x"]}`} {
		if _, err := read(f.context(), f.client, ticket); err == nil {
			t.Fatalf("%s was read", ticket)
		}
	}
	check("failures")

	// Another dataset is not counted with this one.
	other := described(byCommand(`{"dataset":"other","codec":"none"}`), messagesOf(t, tb))
	if _, err := f.send(other); err != nil {
		t.Fatal(err)
	}
	server.Puts++
	server.RowsIn += 1500
	server.BytesIn += wireSize(other)
	server.BatchesReceived += 2
	server.BytesEncoded = f.stats("").BytesEncoded
	if encoded := server.BytesEncoded - d.BytesEncoded; encoded != 0 {
		t.Errorf("%d bytes encoded for plain storage", encoded)
	}
	check("another dataset")

	// A name that comes again starts from nothing, and the server goes on.
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, f.action("server_stats", `{"dataset":"d"}`, nil), codes.NotFound, `"d"`)
	if _, err := f.send(in); err != nil {
		t.Fatal(err)
	}
	d = statsJSON{Puts: 1, RowsIn: 1500, BytesIn: wireSize(in), BatchesReceived: 2, BytesEncoded: plainBytes(f, "d")}
	server.Puts++
	server.RowsIn += 1500
	server.BytesIn += wireSize(in)
	server.BatchesReceived += 2
	server.BytesEncoded += plainBytes(f, "d")
	check("the name again")
}

// plainBytes is what a dataset of one int64 column without nulls is plain: its values.
func plainBytes(f *fixture, name string) int64 {
	g, err := f.catalog.Current(name)
	if err != nil {
		f.Fatal(err)
	}
	defer g.Release()
	if g.Decoded != 8*g.Rows {
		f.Errorf("%d decoded bytes for %d rows", g.Decoded, g.Rows)
	}
	return g.Decoded
}

// A read that was stopped counts what went out.
func TestCountersOfACancelledRead(t *testing.T) {
	f := start(t)
	bigPut(f)
	ctx, cancel := context.WithCancel(f.context())
	stalled(f, ctx, f.client, ways["stored"])
	f.blocked()
	cancel()
	f.eventually("the read ends", func() bool { return f.ended("DoGet") == 1 })
	s := f.stats("d")
	if s.Gets != 1 || s.BatchesSent < 1 || s.BatchesSent >= 16 || s.RowsOut != s.BatchesSent*40_000 || s.BytesOut < 1 {
		t.Errorf("counted %+v", s)
	}
}

// Names that come and go leave nothing behind.
func TestDroppedNamesAreForgotten(t *testing.T) {
	f := start(t)
	for range 3 {
		f.put(byPath("d"), numbers(constant(1), 1))
		if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
			t.Fatal(err)
		}
	}
	bigPut(f)
	ctx, cancel := context.WithCancel(f.context())
	stalled(f, ctx, f.client, ways["stored"])
	if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
		t.Fatal(err)
	}
	cancel() // a read that ends after the drop
	f.eventually("the read ends", func() bool { return f.ended("DoGet") == 1 })
	for range 3 { // nor do names that never were
		read(f.context(), f.client, "absent")
		f.action("server_stats", `{"dataset":"absent"}`, nil)
	}
	f.server.stats.mu.Lock()
	defer f.server.stats.mu.Unlock()
	if n := len(f.server.stats.datasets); n != 0 {
		t.Errorf("%d names are still counted", n)
	}
}

func TestStatsAreJSONOfTheDocumentedKeys(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 1))
	for body, n := range map[string]int{`{}`: len(figures), `{"dataset":"d"}`: 22} {
		var raw map[string]json.RawMessage
		if err := f.action("server_stats", body, &raw); err != nil {
			t.Fatal(err)
		}
		if len(raw) != n {
			t.Errorf("%s: keys %v", body, raw)
		}
		for _, key := range []string{"puts", "gets", "rows_in", "rows_out", "bytes_in", "bytes_out", "bytes_encoded", "bytes_decoded",
			"batches_received", "batches_sent", "batches_considered", "batches_pruned", "compactions", "batches_compacted", "batches_joined", "bytes_compacted", "batches_deferred", "bytes_deferred", "charged_bytes", "leases", "leased_bytes"} {
			if _, ok := raw[key]; !ok {
				t.Errorf("%s: no %q", body, key)
			}
		}
	}
}

func TestOptionsAreValidated(t *testing.T) {
	for name, o := range map[string]Options{
		"codec":       {Codec: 9},
		"wire":        {Wire: "snappy"},
		"max message": {MaxReceive: 10},
		"large":       {MaxReceive: 1 << 31},
		"drain bytes": {DrainBytes: -1},
		"drain time":  {DrainTime: -1},
		"transaction": {TransactionTime: -1},
		"compaction":  {Compact: "often"},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%s: %+v is valid", name, o)
		}
		if _, err := New(nil, nil, o); err == nil {
			t.Errorf("%s: a server was made", name)
		}
	}
	for _, o := range []Options{{}, {Codec: compress.None, Wire: WireStored, MaxReceive: 64 << 10}, {MaxReceive: 1<<31 - 1 - framingRoom}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
