package flight

import (
	"encoding/json"
	"fmt"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
)

// A limit is exact, wherever it falls, and FlightInfo counts what comes.
func TestLimit(t *testing.T) {
	tb := mixed(12, 100, 64, 1, 300)
	for _, codec := range []string{"none", "zstd"} {
		f := start(t)
		f.put(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q,"batching":"keep"}`, codec)), tb)
		for _, wire := range []string{"none", "stored", "lz4"} {
			for limit, messages := range map[int64]int{0: 1, 1: 2, 99: 2, 100: 2, 101: 3, 164: 3, 165: 4, 166: 5, 464: 5, 465: 5, 466: 5, 1 << 62: 5} {
				t.Run(fmt.Sprintf("%s as %s, %d", codec, wire, limit), func(t *testing.T) {
					f := f.in(t)
					command := fmt.Sprintf(`{"dataset":"d","wire":%q,"limit":%d}`, wire, limit)
					got := f.get(command)
					if len(got) != messages {
						t.Errorf("%d messages, want %d", len(got), messages)
					}
					sameTable(t, tableOf(t, got), tb.slice(0, limit))
					info, err := f.client.GetFlightInfo(f.context(), byCommand(command))
					if err != nil {
						t.Fatal(err)
					}
					if want := min(limit, 465); info.TotalRecords != want {
						t.Errorf("info counts %d rows, want %d", info.TotalRecords, want)
					}
				})
			}
		}
	}
}

func TestLimitOfAProjection(t *testing.T) {
	f := start(t)
	tb := mixed(13, 100, 100)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), tb)
	sameTable(t, tableOf(t, f.get(`{"dataset":"d","columns":["view","id"],"limit":150}`)), tb.slice(0, 150).columns(3, 0))
	none := tableOf(t, f.get(`{"dataset":"d","columns":[],"limit":150}`))
	if len(none.schema.Fields()) != 0 || none.rows() != 150 {
		t.Errorf("%d columns and %d rows, want 0 and 150", len(none.schema.Fields()), none.rows())
	}
}

// batch_metadata says with each message which stored batch its rows are of.
func TestBatchMetadata(t *testing.T) {
	f := start(t)
	tb := noise(20_000, 10, 9000)
	f.put(byCommand(`{"dataset":"d","codec":"none","batching":"keep"}`), tb)
	got := f.get(fmt.Sprintf(`{"dataset":"d","batch_metadata":true,"max_message_bytes":%d}`, 64<<10))
	if got[0].AppMetadata != nil {
		t.Errorf("the schema has metadata %s", got[0].AppMetadata)
	}
	rows := map[int]int64{}
	for i, m := range got[1:] {
		var facts map[string]int64
		if err := json.Unmarshal(m.AppMetadata, &facts); err != nil {
			t.Fatalf("message %d: %v in %q", i, err, m.AppMetadata)
		}
		if len(facts) != 2 {
			t.Errorf("message %d: %s", i, m.AppMetadata)
		}
		one := tableOf(t, []*arrowflight.FlightData{got[0], m})
		if facts["rows"] != one.rows() {
			t.Errorf("message %d says %d rows and has %d", i, facts["rows"], one.rows())
		}
		rows[int(facts["batch"])] += facts["rows"]
	}
	if rows[0] != 20_000 || rows[1] != 10 || rows[2] != 9000 || len(rows) != 3 {
		t.Errorf("rows by stored batch: %v", rows)
	}
	for i, m := range f.get("d") {
		if m.AppMetadata != nil {
			t.Errorf("message %d has metadata nobody asked for: %s", i, m.AppMetadata)
		}
	}
}
