package flight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
)

// in keeps data in this folder.
func in(folder string) func(*setup) { return func(s *setup) { s.data = folder } }

// crashed is the data folder as a crash now would leave it, to start from.
func (f *fixture) crashed(folder string) string {
	f.Helper()
	copied := f.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		f.Fatal(err)
	}
	return copied
}

// files are the names in the store's folder, in order.
func files(t testing.TB, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(folder, "segments"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// description gives what describe says of a dataset but for its leases, and what of it is in memory: it may all be in files.
func (f *fixture) description(name string) (d catalog.Description) {
	f.Helper()
	if err := f.action("describe", fmt.Sprintf(`{"dataset":%q}`, name), &d); err != nil {
		f.Errorf("describe %s: %v", name, err)
	}
	d.Leases, d.LeasedBytes, d.MemoryBytes = 0, 0, 0
	return d
}

func (f *fixture) act(name, body string) {
	f.Helper()
	if err := f.action(name, body, new(any)); err != nil {
		f.Errorf("%s %s: %v", name, body, err)
	}
}

// After a crash, every durable dataset is there as it was, by every way of making one, and nothing else.
func TestDurableDatasetsComeBack(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	want := map[string]table{}
	durably := func(name string, tb table, keys string) {
		t.Helper()
		f.put(byCommand(fmt.Sprintf(`{"dataset":%q,"durable":true%s}`, name, keys)), tb)
		want[name] = tb
	}
	durably("plain", mixed(1, 100, 2000), "")
	durably("kept apart", mixed(2, 10, 10), `,"batching":"keep","codec":"none"`)
	durably("empty", mixed(3), "")
	durably("no rows", mixed(3, 0), "")
	durably("sorted", numbers(func(row int64) int64 { return row }, 50), `,"sorted_by":["n"],"codec":"lz4"`)
	durably("with a time", numbers(constant(1), 5), `,"ttl":3600`)
	durably("pinned", numbers(constant(2), 5), `,"pin":true`)
	durably("replaced", numbers(constant(3), 5), "")
	durably("replaced", numbers(constant(4), 7), "")
	durably("large", noise(300_000, 300_000), `,"codec":"none"`)
	f.put(byCommand(`{"dataset":"appended","durable":true}`), mixed(5, 10))
	f.put(byCommand(`{"dataset":"appended","mode":"append"}`), mixed(6, 10))
	want["appended"] = table{mixedSchema, append(mixed(5, 10).batches, mixed(6, 10).batches...)}
	durably("pinned later", numbers(constant(5), 5), "")
	f.act("pin", `{"dataset":"pinned later"}`)
	var begun beginResult
	if err := f.action("begin", `{"dataset":"of a transaction"}`, &begun); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		f.put(byCommand(fmt.Sprintf(`{"dataset":"of a transaction","transaction":%q,"put_id":"p%d","durable":%v}`, begun.Transaction, i, i == 0)),
			numbers(constant(int64(i)), 3))
	}
	f.act("commit", fmt.Sprintf(`{"dataset":"of a transaction","transaction":%q,"puts":["p2","p0"]}`, begun.Transaction))
	want["of a transaction"] = numbers(func(row int64) int64 { return 2 - row/3*2 }, 6)
	f.put(byCommand(`{"dataset":"volatile"}`), numbers(constant(6), 5))
	durably("volatile by replacement", numbers(constant(7), 5), "")
	f.put(byCommand(`{"dataset":"volatile by replacement"}`), numbers(constant(7), 5))
	durably("dropped", numbers(constant(8), 5), "")
	f.act("drop", `{"dataset":"dropped"}`)
	for _, gone := range []string{"volatile by replacement", "dropped"} {
		delete(want, gone)
	}

	again := start(t, in(f.crashed(folder)))
	if got := again.catalog.Len(); got != len(want) {
		t.Errorf("%d datasets are there, want %d", got, len(want))
	}
	for name, tb := range want {
		sameTable(t, tableOf(t, again.get(name)), tb)
		was, is := f.description(name), again.description(name)
		if fmt.Sprintf("%+v", is) != fmt.Sprintf("%+v", was) || !is.Durable {
			t.Errorf("%s is described as\n%+v\nwant\n%+v", name, is, was)
		}
	}
	for _, name := range []string{"volatile", "dropped"} {
		_, err := read(again.context(), again.client, name)
		wantStatus(t, err, codes.NotFound, name)
	}

	// What was begun goes on: an append of a sorted dataset is checked against its last row.
	again.put(byCommand(`{"dataset":"sorted","mode":"append","sorted_by":["n"]}`), numbers(func(row int64) int64 { return row + 49 }, 5))
	if d := again.description("sorted"); fmt.Sprint(d.SortedBy) != "[n]" || d.Rows != 55 || !d.Durable {
		t.Errorf("after an append: %+v", d)
	}
	again.put(byCommand(`{"dataset":"sorted","mode":"append"}`), numbers(constant(0), 5))
	d := again.description("sorted")
	if d.SortedBy != nil || !d.OrderDropped {
		t.Errorf("after an append out of order: %+v", d)
	}
	if is := start(t, in(again.crashed(again.data))).description("sorted"); fmt.Sprintf("%+v", is) != fmt.Sprintf("%+v", d) {
		t.Errorf("after that and a crash: %+v, want %+v", is, d)
	}
	committed, err := again.actionBody("commit", []byte(fmt.Sprintf(`{"dataset":"of a transaction","transaction":%q}`, begun.Transaction)))
	if err != nil || !strings.Contains(string(committed), f.description("of a transaction").Generation) {
		t.Errorf("the commit once more: %s, %v", committed, err)
	}
}

// A server that stops in order leaves the files of durable datasets and no others.
func TestFilesAfterAStop(t *testing.T) {
	folder := t.TempDir()
	t.Run("run", func(t *testing.T) {
		f := start(t, in(folder), func(s *setup) { s.store.Spill = true })
		f.put(byCommand(`{"dataset":"kept","durable":true}`), mixed(1, 100))
		f.put(byCommand(`{"dataset":"spilled"}`), mixed(1, 100))
		g, err := f.catalog.Current("spilled")
		if err != nil {
			t.Fatal(err)
		}
		defer g.Release()
		if _, err := f.store.Unload(g.Schema, wholeBatches(g)); err != nil {
			t.Fatal(err)
		}
		if n := len(files(t, folder)); n != 2 {
			t.Errorf("%d files, want one of each", n)
		}
	})
	if n := len(files(t, folder)); n != 1 {
		t.Errorf("%d files, want the durable one", n)
	}
	f := start(t, in(folder))
	sameTable(t, tableOf(t, f.get("kept")), mixed(1, 100))
}

// A start removes what nothing needs, and nothing else.
func TestFilesAfterACrash(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(1, 100))
	needed := files(t, folder)
	copied := f.crashed(folder)
	for _, name := range []string{"20200101T000000-0-0-0.arrow", "20200101T000000-0-0-1.arrow.tmp", needed[0] + ".tmp", "a note"} {
		if err := os.WriteFile(filepath.Join(copied, "segments", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := start(t, in(copied))
	if got := files(t, copied); !slices.Equal(got, append(needed, "a note")) {
		t.Errorf("the files are %q, want %q and what is no file of the store's", got, needed)
	}
	sameTable(t, tableOf(t, again.get("d")), mixed(1, 100))
	if n := again.logs.FilterMessage("restored durable datasets").FilterField(zap.Int("files_removed", 3)).Len(); n != 1 {
		t.Errorf("the log is %v", again.logs.All())
	}
}

// While a page of the catalogue is damaged that may have had the last change, no file is removed.
func TestFilesBesideADamagedPage(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(1, 100))
	f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(2, 100))
	copied := f.crashed(folder)
	orphan := filepath.Join(copied, "segments", "20200101T000000-0-0-0.arrow")
	if err := os.WriteFile(orphan, []byte("of the last change"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(copied, "catalog.db")
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db[4096+20] ^= 1 // of the second of two pages that take turns
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, in(copied))
	if _, err := os.Stat(orphan); err != nil {
		t.Error(err)
	}
	if n := again.logs.FilterMessageSnippet("has a damaged page").Len(); n != 1 {
		t.Errorf("the log is %v", again.logs.All())
	}
	if again.catalog.Len() != 1 {
		t.Errorf("%d datasets", again.catalog.Len())
	}
}

// Datasets whose time is over are not restored, and leave nothing.
func TestExpiredDatasetsAreNotRestored(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"short","durable":true,"ttl":1}`), mixed(1, 100))
	f.put(byCommand(`{"dataset":"long","durable":true,"ttl":3600}`), mixed(2, 100))
	copied := f.crashed(folder)
	expires, err := time.Parse(time.RFC3339Nano, f.description("short").Expires)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(expires) + time.Millisecond)
	for i := range 3 {
		again := start(t, in(copied), func(s *setup) {
			s.disk = func(d *Durable) {
				if i == 0 { // the first cannot forget
					d.journal = &broken{records: d.journal, changes: journal.ErrFull}
				}
			}
		})
		if got := again.catalog.Len(); got != 1 || len(files(t, copied)) != 1 {
			t.Errorf("%d datasets, files %q", got, files(t, copied))
		}
		again.description("long")
		copied = again.crashed(copied)
	}
}

// The durable side of put_id: what was acknowledged is answered after a crash as it was before, and not stored again.
func TestDurablePutIDs(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	d := byCommand(`{"dataset":"d","mode":"append","durable":true,"put_id":"one"}`)
	first := f.put(d, mixed(1, 100))
	f.put(byCommand(`{"dataset":"v","put_id":"one"}`), mixed(1, 100))
	again := start(t, in(f.crashed(folder)))
	if second := again.put(d, mixed(1, 100)); second.Generation != first.Generation || second.Rows != 100 {
		t.Errorf("answered with %+v, want %+v", second, first)
	}
	if got := again.description("d"); got.Rows != 100 {
		t.Errorf("%d rows", got.Rows)
	}
	again.put(byCommand(`{"dataset":"v","put_id":"one"}`), mixed(1, 100)) // was volatile: put once more
	again.description("v")
}

// An edge of an order that is too long for a record: the order stays for readers, until something is appended.
func TestLongEdges(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	tb := texts(strings.Repeat("a", 10), strings.Repeat("b", maxEdge+1))
	f.put(byCommand(`{"dataset":"d","durable":true,"sorted_by":["s"]}`), tb)
	again := start(t, in(f.crashed(folder)))
	sameTable(t, tableOf(t, again.get("d")), tb)
	if d := again.description("d"); fmt.Sprint(d.SortedBy) != "[s]" {
		t.Errorf("after a restart: %+v", d.SortedBy)
	}
	again.act("pin", `{"dataset":"d"}`) // writes the record once more
	third := start(t, in(again.crashed(again.data)))
	if d := third.description("d"); fmt.Sprint(d.SortedBy) != "[s]" || !d.Pinned {
		t.Errorf("after another: %+v", d)
	}
	third.put(byCommand(`{"dataset":"d","mode":"append"}`), texts("c"))
	if d := third.description("d"); d.SortedBy != nil || d.Rows != 3 {
		t.Errorf("after an append: %+v", d)
	}
}

// Evict has a durable dataset leave memory, and says so.
func TestEvictDurable(t *testing.T) {
	f := start(t, in(t.TempDir()))
	facts := f.put(byCommand(`{"dataset":"d","durable":true,"codec":"none"}`), noise(10_000))
	before := f.charged()
	var result evictResult
	if err := f.action("evict", `{"dataset":"d"}`, &result); err != nil {
		t.Fatal(err)
	}
	if want := (evictResult{Dataset: "d", Evicted: true, StoredBytes: facts.StoredBytes, FreedBytes: facts.StoredBytes, Durable: true}); result != want {
		t.Errorf("%+v, want %+v", result, want)
	}
	if now := f.charged(); now > before-facts.StoredBytes {
		t.Errorf("%d bytes charged of %d, want %d less", now, before, facts.StoredBytes)
	}
	sameTable(t, tableOf(t, f.get("d")), noise(10_000))
	f.act("pin", `{"dataset":"d"}`)
	wantStatus(t, f.action("evict", `{"dataset":"d"}`, nil), codes.FailedPrecondition, "pinned")
}

// broken is a disk that fails: files, records, or both.
type broken struct {
	segments
	records
	files, changes error
	damaged        int // of each file recovered, this batch is; below 0: none
}

var errDisk = errors.New("the disk is broken")

func (b *broken) Persist(s *arrowipc.Schema, batches []*batchstore.Batch) ([]batchstore.Place, error) {
	if b.files != nil {
		return nil, b.files
	}
	return b.segments.Persist(s, batches)
}

func (b *broken) Write(d *journal.Dataset, p *journal.Put) error {
	if b.changes != nil {
		return b.changes
	}
	return b.records.Write(d, p)
}

func (b *broken) Delete(name string) error {
	if b.changes != nil {
		return b.changes
	}
	return b.records.Delete(name)
}

func (b *broken) Close() error { return b.records.Close() }

func (f *fixture) breakable() *broken {
	b := &broken{segments: f.durable.store, records: f.durable.journal, damaged: -1}
	f.durable.store, f.durable.journal = b, b
	return b
}

func (b *broken) Recover(name string) (*arrowipc.Schema, []*batchstore.Batch, error) {
	s, list, err := b.segments.Recover(name)
	if err == nil && b.damaged >= 0 && b.damaged < len(list) {
		list[b.damaged].Release()
		list[b.damaged], err = nil, fmt.Errorf("%w: %s", segment.ErrDamaged, name)
	}
	return s, list, err
}

// Where the disk fails, at each step, the client is told, and all is as it was: now, after the next success, and after a crash.
func TestDiskFails(t *testing.T) {
	for _, tc := range []struct {
		name           string
		files, changes error
		code           codes.Code
		parts          []string
	}{
		{"files", errDisk, nil, codes.Internal, []string{`"d" is not made durable`, "broken"}},
		{"files, full", fmt.Errorf("%w: full", batchstore.ErrNoSpace), nil, codes.ResourceExhausted, []string{`"d"`, "no space"}},
		{"record", nil, errDisk, codes.Internal, []string{`"d" is not made durable`, "broken"}},
		{"record, full", nil, journal.ErrFull, codes.ResourceExhausted, []string{`"d"`, "no space left"}},
		{"record, in doubt", nil, fmt.Errorf("%w: %w", journal.ErrDoubt, errDisk), codes.Internal, []string{`"d"`, "does not say"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			f := start(t, in(folder))
			f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(1, 100))
			was, charged, before := f.description("d"), f.charged(), files(t, folder)
			b := f.breakable()
			b.files, b.changes = tc.files, tc.changes
			for _, mode := range []string{"replace", "append"} {
				_, err := f.send(described(byCommand(fmt.Sprintf(`{"dataset":"d","durable":true,"mode":%q}`, mode)), messagesOf(t, mixed(2, 100))))
				wantStatus(t, err, tc.code, tc.parts...)
			}
			if tc.changes != nil {
				wantStatus(t, f.action("drop", `{"dataset":"d"}`, nil), tc.code, `"d" is durable and stays so`)
				_, err := f.send(described(byCommand(`{"dataset":"d"}`), messagesOf(t, mixed(2, 100))))
				wantStatus(t, err, tc.code, `"d" is durable and stays so`)
			}
			same := func(f *fixture) {
				t.Helper()
				if is := f.description("d"); fmt.Sprintf("%+v", is) != fmt.Sprintf("%+v", was) {
					t.Errorf("%+v, want %+v", is, was)
				}
				sameTable(t, tableOf(t, f.get("d")), mixed(1, 100))
			}
			same(f)
			if errors.Is(tc.changes, journal.ErrDoubt) {
				if n := len(files(t, folder)); n != 3 {
					t.Errorf("%d files while two generations are in doubt", n)
				}
			} else {
				f.settles(charged)
				if got := files(t, folder); !slices.Equal(got, before) {
					t.Errorf("files %q, want %q", got, before)
				}
			}
			same(start(t, in(f.crashed(folder))))

			b.files, b.changes = nil, nil
			f.put(byCommand(`{"dataset":"other","durable":true}`), mixed(3, 100))
			if n := len(files(t, folder)); n != 2 {
				t.Errorf("%d files after a change that succeeded, want 2", n)
			}
			f.put(byCommand(`{"dataset":"d","mode":"append"}`), mixed(2, 100))
			again := start(t, in(f.crashed(folder)))
			sameTable(t, tableOf(t, again.get("d")), table{mixedSchema, append(mixed(1, 100).batches, mixed(2, 100).batches...)})
			f.act("drop", `{"dataset":"d"}`)
		})
	}
}

// texts is a table of one batch with one column of these values.
func texts(values ...string) table {
	b := array.NewStringBuilder(memory.NewGoAllocator())
	b.AppendValues(values, nil)
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	return table{s, []arrow.RecordBatch{array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(values)))}}
}
