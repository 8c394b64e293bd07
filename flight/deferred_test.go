package flight

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
)

// held keeps all layouts as they are until it is called.
func (f *fixture) held() (goOn func()) {
	turn := f.server.compactor.turn
	turn <- struct{}{}
	return sync.OnceFunc(func() { <-turn })
}

// later puts a table that is to be encoded later.
func (f *fixture) later(dataset string, tb table, keys string) catalog.Facts {
	f.Helper()
	return f.put(byCommand(fmt.Sprintf(`{"dataset":%q,"encode":"deferred"%s}`, dataset, keys)), tb)
}

// encoded waits until nothing of a dataset waits to be encoded, and describes it.
func (f *fixture) encoded(dataset string) (d catalog.Description) {
	f.Helper()
	f.eventually(dataset+" is encoded", func() bool {
		d = f.describe(dataset)
		return d.PlainBytes == 0
	})
	return d
}

// codecs are those of the batches in a stream.
func codecs(t testing.TB, messages []*arrowflight.FlightData) (out []compress.Codec) {
	t.Helper()
	for _, m := range messages {
		h, err := arrowipc.ReadMessage(m.DataHeader, arrowipc.Limits{}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if h.Type == arrowipc.HeaderRecordBatch {
			out = append(out, compress.Codec(h.Batch.Compression))
		}
	}
	return out
}

// steps is a table of many batches whose bytes shrink.
func steps(rows ...int) table { return numbers(func(row int64) int64 { return row / 100 }, rows...) }

// A deferred put is answered with its plain batches, which readers get until the encoded ones take their places. Then all is as
// if it had been encoded at once, and what was counted before, leased or not, is still good.
func TestDeferredPut(t *testing.T) {
	for name, leased := range map[string]bool{"leased": true, "not leased": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(s *setup) {
				if !leased {
					s.service.LeaseTime = -1
				}
			})
			tb := mixed(3, 4000, 3000, 2000)
			want := f.put(byCommand(`{"dataset":"now","batching":"keep"}`), tb)
			goOn := f.held()
			defer goOn()
			facts := f.later("d", tb, `,"batching":"keep"`)
			// What came is encoded as it lies, with bytes of the producer's that a put at once would leave out.
			near := func(a, b int64) bool { return a >= b && a-b <= b/8 }
			d := f.describe("d")
			if facts.StoredBytes < facts.DecodedBytes || d.PlainBytes != facts.StoredBytes || facts.Codec != "zstd" || facts.Batches != 3 {
				t.Errorf("answered %+v, described as %+v", facts, d)
			}
			if n := f.store.Stats().Plain; n != facts.StoredBytes {
				t.Errorf("the server has %d plain bytes, want %d", n, facts.StoredBytes)
			}
			stored := func(want compress.Codec) {
				t.Helper()
				messages := f.get(`{"dataset":"d","wire":"stored"}`)
				for _, c := range codecs(t, messages) {
					if c != want {
						t.Errorf("sent under %v, want %v", c, want)
					}
				}
				sameTable(t, tableOf(t, messages), tb)
			}
			stored(compress.None)
			all, parts := f.info(byPath("d")), f.info(byCommand(`{"dataset":"d","partitions":3}`))
			charged := f.charged()
			goOn()
			now := f.encoded("d")
			if !near(now.StoredBytes, want.StoredBytes) || now.DecodedBytes != want.DecodedBytes || now.Batches != 3 || now.Generation != facts.Generation {
				t.Errorf("described as %+v, want the sizes of %+v", now, want)
			}
			for i, c := range now.Columns {
				if !near(c.StoredBytes, want.Columns[i].StoredBytes) || c.BoundFacts != want.Columns[i].BoundFacts || c.NullCount != want.Columns[i].NullCount {
					t.Errorf("column %q: %+v, want %+v", c.Name, c, want.Columns[i])
				}
			}
			stored(compress.Zstd)
			f.eventually("the plain bytes go", func() bool { return f.charged() <= charged-(facts.StoredBytes-now.StoredBytes)/2 })
			sameTable(t, tableOf(t, f.get(ticketOf(all.Endpoint[0]))), tb)
			var out table
			for _, e := range parts.Endpoint {
				part := tableOf(t, f.get(ticketOf(e)))
				out.schema, out.batches = part.schema, append(out.batches, part.batches...)
			}
			sameTable(t, out, tb)
			if now.LeasedBytes != 0 {
				t.Errorf("leases keep %d bytes", now.LeasedBytes)
			}
			for _, of := range []string{"d", ""} {
				f.eventually("it is counted", func() bool {
					s := f.stats(of)
					return s.BatchesDeferred == 3 && s.BytesDeferred == facts.StoredBytes
				})
			}
			if s := f.stats("now"); s.BatchesDeferred != 0 {
				t.Errorf("the other dataset's counters say %+v", s)
			}
		})
	}
}

// Nothing is deferred under the codec none, of what comes under its codec, or where the put says so.
func TestNothingDeferred(t *testing.T) {
	f := start(t, func(s *setup) { s.service.Encode = descriptors.EncodeDeferred })
	goOn := f.held()
	defer goOn()
	f.put(byCommand(`{"dataset":"none","codec":"none"}`), steps(1000))
	f.put(byCommand(`{"dataset":"now","encode":"now"}`), steps(1000))
	f.put(byPath("empty"), steps())
	for _, name := range []string{"none", "now", "empty"} {
		if d := f.describe(name); d.PlainBytes != 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if f.put(byPath("d"), steps(1000)); f.describe("d").PlainBytes == 0 {
		t.Error("the server's default is not heeded")
	}
}

// Of what grows only what came is encoded; batches are encoded once.
func TestDeferredAppends(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), steps(1000))
	want := steps(1000)
	for i := range 4 {
		f.later("d", steps(1000), `,"mode":"append","batching":"keep","codec":"lz4"`)
		want.batches = append(want.batches, steps(1000).batches...)
		f.encoded("d")
		f.eventually("it is counted", func() bool { return f.stats("d").BatchesDeferred > int64(i) })
		if s := f.stats("d"); s.BatchesDeferred != int64(i+1) || s.BytesEncoded < int64(i+2)*8000 || s.BytesEncoded > int64(i+2)*8100 {
			t.Errorf("after %d appends: %+v", i+1, s)
		}
	}
	sameTable(t, f.whole("d"), want)
}

// A put within a transaction, and one that is sent again.
func TestDeferredWithinATransaction(t *testing.T) {
	f := start(t)
	var begun beginResult
	if err := f.action("begin", `{"dataset":"d"}`, &begun); err != nil {
		t.Fatal(err)
	}
	goOn := f.held()
	defer goOn()
	for range 2 {
		f.later("d", steps(5000), fmt.Sprintf(`,"transaction":%q,"put_id":"p"`, begun.Transaction))
	}
	f.act("commit", fmt.Sprintf(`{"dataset":"d","transaction":%q,"puts":["p"]}`, begun.Transaction))
	if d := f.describe("d"); d.PlainBytes == 0 || d.Rows != 5000 {
		t.Errorf("%+v", d)
	}
	goOn()
	f.encoded("d")
	sameTable(t, f.whole("d"), steps(5000))
}

// What is dropped or replaced is not encoded, and leaves nothing; the end of the server leaves what waits.
func TestDeferredDropped(t *testing.T) {
	f := start(t)
	goOn := f.held()
	f.later("dropped", steps(50_000), "")
	f.later("replaced", steps(50_000), "")
	f.put(byPath("replaced"), steps(10))
	f.act("drop", `{"dataset":"dropped"}`)
	if n := f.store.Stats().Plain; n != 0 {
		// One that the encoder holds while it waits goes when it goes on.
		t.Logf("%d bytes are still held", n)
	}
	goOn()
	f.eventually("nothing is plain", func() bool { return f.store.Stats().Plain == 0 })
	if s := f.stats(""); s.BatchesDeferred != 0 {
		t.Errorf("%+v", s)
	}
	goOn = f.held()
	f.later("left", steps(50_000), "")
	f.server.Close()
	goOn()
	if d := f.describe("left"); d.PlainBytes == 0 {
		t.Errorf("%+v", d)
	}
	f.server.encoder.look("left")
	if e := f.server.encoder; e.runs || len(e.queue) != 0 {
		t.Error("it goes on after its end")
	}
}

// Where there is no memory for what is encoded, it is tried again.
func TestDeferredWaitsForMemory(t *testing.T) {
	f := start(t, func(s *setup) { s.store.Memory = 8 * mib })
	var begun beginResult
	if err := f.action("begin", `{"dataset":"d"}`, &begun); err != nil {
		t.Fatal(err)
	}
	tb := mixed(1, 10_000)
	f.later("d", tb, fmt.Sprintf(`,"transaction":%q`, begun.Transaction))
	st := f.store.Stats()
	block, err := f.store.Alloc(int(st.Budget - st.Charged - 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	f.act("commit", fmt.Sprintf(`{"dataset":"d","transaction":%q}`, begun.Transaction))
	plain := f.describe("d").PlainBytes
	time.Sleep(2 * shortWait)
	if d := f.describe("d"); plain == 0 || d.PlainBytes != plain {
		t.Errorf("%d bytes are plain, want %d", d.PlainBytes, plain)
	}
	block.Free()
	f.encoded("d")
	sameTable(t, f.whole("d"), tb)
}

// Readers, appends, compactions and leases beside the encoder: everyone sees the rows that were counted.
func TestDeferredConcurrently(t *testing.T) {
	f := start(t)
	const puts, rows, writers = 40, 3000, 3
	var counted sync.Map // rows by generation
	var stop atomic.Bool
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range puts {
				command := fmt.Sprintf(`{"dataset":"d","mode":"append","encode":"deferred","codec":%q}`, []string{"lz4", "zstd", "none"}[i%3])
				facts, err := f.send(described(byCommand(command), messagesOf(t, numbers(constant(int64(w)), rows))))
				if err != nil {
					t.Error(err)
					return
				}
				counted.Store(facts.Generation, facts.Rows)
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for !stop.Load() {
				info, err := f.client.GetFlightInfo(f.context(), byCommand(`{"dataset":"d","partitions":3}`))
				if err != nil {
					continue // nothing has been put yet
				}
				n := int64(0)
				for _, e := range info.Endpoint {
					messages, err := read(f.context(), f.client, ticketOf(e))
					if err != nil {
						t.Error(err)
						return
					}
					part := tableOf(t, messages).int64s()
					for i, v := range part {
						if v != part[i/rows*rows] {
							t.Errorf("row %d has %d", i, v)
							return
						}
					}
					n += int64(len(part))
				}
				if n != info.TotalRecords {
					t.Errorf("%d rows of %d", n, info.TotalRecords)
				}
			}
		})
	}
	writing.Wait()
	f.compact("d")
	stop.Store(true)
	reading.Wait()
	f.encoded("d")
	if n := f.whole("d").rows(); n != puts*rows*writers {
		t.Errorf("%d rows", n)
	}
}

// A durable put is on the disk as it is answered, plain. What is encoded takes its place there too, and a crash at any time, and
// a disk that fails, leave one or the other; a start goes on with what it finds plain.
func TestDeferredDurable(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	b := f.breakable()
	goOn := f.held()
	defer goOn()
	tb := mixed(3, 4000, 3000, 2000)
	f.later("d", tb, `,"durable":true,"batching":"keep","level":5,"codec":"zstd"`)
	plain, before := f.describe("d").PlainBytes, files(t, folder)
	waiting := f.crashed(folder)
	for name, disk := range map[string]*broken{"files": {files: errDisk}, "records": {changes: errDisk}} {
		b.files, b.changes = disk.files, disk.changes
		goOn()
		f.eventually("the disk fails: "+name, func() bool {
			return f.logs.FilterMessage("not encoded, and stays plain").Len() > 0
		})
		goOn = f.held()
		f.logs.TakeAll()
		if d := f.describe("d"); d.PlainBytes != plain || fmt.Sprint(files(t, folder)) != fmt.Sprint(before) {
			t.Errorf("the disk fails: %s: %+v, files %q", name, d, files(t, folder))
		}
		b.files, b.changes = nil, nil
		f.server.encoder.look("d")
	}
	goOn()
	now := f.encoded("d")
	f.eventually("the plain file goes", func() bool {
		is := files(t, folder)
		return len(is) == 1 && is[0] != before[0]
	})
	sameTable(t, f.whole("d"), tb)
	done := f.crashed(folder)

	again := start(t, in(done))
	if d := again.describe("d"); d.StoredBytes != now.StoredBytes || d.PlainBytes != 0 || d.Generation != now.Generation {
		t.Errorf("after a crash behind it: %+v", d)
	}
	sameTable(t, again.whole("d"), tb)

	third := start(t, in(waiting))
	sameTable(t, third.whole("d"), tb)
	if d := third.encoded("d"); d.StoredBytes != now.StoredBytes || d.Generation != now.Generation {
		t.Errorf("after a crash before it: %+v, want %+v", d, now)
	}
	third.eventually("the plain file goes", func() bool {
		is := files(t, waiting)
		return len(is) == 1 && is[0] != before[0]
	})
	sameTable(t, third.whole("d"), tb)
}

// A generation that is held while it is dropped is encoded no further.
func TestDeferredStepConflict(t *testing.T) {
	f := start(t)
	goOn := f.held()
	f.later("d", steps(50_000), "")
	g, err := f.catalog.Current("d")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	f.put(byPath("d"), steps(10))
	goOn()
	made, more, err := f.server.encoder.step(f.context(), g)
	if made != 0 || !more || err != nil && !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("%d, %t, %v", made, more, err)
	}
}
