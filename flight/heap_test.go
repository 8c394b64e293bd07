//go:build !race

// What is weighed and counted here counts in the run without the race detector only: under it, the heap has other sizes, pools lose on
// purpose what they are given, and thousands of puts one after the other take a minute.

package flight

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/arrowipc"
)

// noted gives each batch of a stream custom metadata.
func noted(t testing.TB, messages []*arrowflight.FlightData, bytes int) []*arrowflight.FlightData {
	for _, m := range messages[1:] {
		parsed, err := arrowipc.ReadMessage(m.DataHeader, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var h arrowipc.HeaderBuilder
		m.DataHeader = h.RecordBatch(parsed.Batch, parsed.BodyLength, []arrowipc.KeyValue{{Key: "k", Value: strings.Repeat("v", bytes)}})
	}
	return messages
}

// heapInUse is Go's heap, after a collection.
func heapInUse() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What datasets take on the heap without their bodies, wide schemas, much metadata and small batches, is what is charged.
func TestFactsAreCharged(t *testing.T) {
	for name, c := range map[string]struct {
		datasets int
		put      string
		messages func(i int) []*arrowflight.FlightData
	}{
		"wide and empty":  {6, "", func(i int) []*arrowflight.FlightData { return messagesOf(t, wideTable(3000, i)) }},
		"wide, one row":   {6, "", func(i int) []*arrowflight.FlightData { return messagesOf(t, wideTable(3000, i, 1)) }},
		"metadata":        {6, "", func(i int) []*arrowflight.FlightData { return messagesOf(t, wideTable(1, 4*mib+i, 1)) }},
		"one schema":      {200, "", func(int) []*arrowflight.FlightData { return messagesOf(t, wideTable(100, 0, 1)) }},
		"many small ones": {3000, "", func(int) []*arrowflight.FlightData { return messagesOf(t, wideTable(3, 0, 1)) }},
		"many batches": {1, `,"batching":"keep"`, func(int) []*arrowflight.FlightData {
			return messagesOf(t, wideTable(10, 0, slices.Repeat([]int{1}, 3000)...))
		}},
		"metadata of batches": {5, "", func(int) []*arrowflight.FlightData { return noted(t, messagesOf(t, wideTable(2, 0, 1, 1)), mib) }},
	} {
		t.Run(name, func(t *testing.T) {
			f, ctx := start(t), context.Background() // a context for each put would be counted as well
			put := func(i int) {
				d := byCommand(fmt.Sprintf(`{"dataset":"d%d"%s}`, i, c.put))
				if _, err := sendTo(ctx, f.client, described(d, c.messages(i))); err != nil {
					t.Fatal(err)
				}
			}
			var charged, took int64
			right := func() bool {
				ratio := float64(charged) / float64(took)
				return 1/1.5 <= ratio && ratio <= 1.5
			}
			put(0) // pools and caches
			if err := f.action("drop", `{"dataset":"d0"}`, new(any)); err != nil {
				t.Fatal(err)
			}
			// What other tests have left may go at any time, which disturbs one measurement, and not every one.
			for attempt := 0; attempt < 5 && !right(); attempt++ {
				f.settles(0)
				f.logs.TakeAll()
				before, bodies := heapInUse(), f.server.store.Stats()
				for i := range c.datasets {
					put(i)
				}
				f.logs.TakeAll()
				after := f.server.store.Stats()
				took, charged = heapInUse()-before, after.Facts-bodies.Facts
				for i := range c.datasets {
					if err := f.action("drop", fmt.Sprintf(`{"dataset":"d%d"}`, i), new(any)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !right() {
				t.Errorf("%d bytes are charged, and %d are taken", charged, took)
			}
			f.settles(0)
		})
	}
}

// What a message costs in allocations does not depend on its bytes, in neither direction.
func TestMessagesAllocateTheSameWhateverTheirBytes(t *testing.T) {
	for name, x := range map[string]func(n int) func(){
		"received":           func(n int) func() { return receiver(t, n) },
		"sent, one piece":    func(n int) func() { return sender(t, 1, n) },
		"sent, three pieces": func(n int) func() { return sender(t, 3, n) },
	} {
		small, large := testing.AllocsPerRun(50, x(4<<10)), testing.AllocsPerRun(50, x(4<<20))
		if large > small+1 {
			t.Errorf("%s: %v allocations with 4 KiB, %v with 4 MiB", name, small, large)
		}
	}
}
