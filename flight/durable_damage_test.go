package flight

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
)

// A file that is damaged or missing costs the batches in it: the server starts and says so, reading them is an error that names
// them, everything else of the dataset and all others are there, and the dataset can be changed and dropped.
func TestDamagedFiles(t *testing.T) {
	// Three files of two batches each; the values tell the batch.
	tb := func(first int64) table {
		return numbers(func(row int64) int64 { return 10*(first+row/1000) + row%1000/100 }, 1000, 1000)
	}
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, path string)
		lost   []int // of the six batches
		starts bool  // the damage is seen at the start
		parts  []string
	}{
		{"missing", func(t *testing.T, path string) { must(t, os.Remove(path)) }, []int{2, 3}, true, []string{"missing"}},
		{"empty", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }, []int{2, 3}, true, nil},
		{"cut", func(t *testing.T, path string) { must(t, os.Truncate(path, 5000)) }, []int{2, 3}, true, nil},
		{"footer", func(t *testing.T, path string) { flip(t, path, -100) }, []int{2, 3}, true, nil},
		{"another dataset's file", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytesOf(t, path, 3), 0o600))
		}, []int{2, 3}, true, []string{"another schema"}},
		{"a file with fewer rows", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytesOf(t, path, 4), 0o600))
		}, []int{2, 3}, true, []string{"rows that were put"}},
		{"header of its second batch, which readers of ours do without", func(t *testing.T, path string) { flip(t, path, message(t, path, 2)+40) }, nil, false, nil},
		{"body of its first batch", func(t *testing.T, path string) {
			flip(t, path, message(t, path, 2)-800)
		}, []int{2}, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			f := start(t, in(folder))
			for i := range 3 {
				f.put(byCommand(`{"dataset":"d","mode":"append","durable":true,"codec":"none","batching":"keep","sorted_by":["n"]}`), tb(int64(2*i)))
			}
			f.put(byCommand(`{"dataset":"other","durable":true,"batching":"keep"}`), mixed(1, 60, 40))
			f.put(byCommand(`{"dataset":"short","durable":true,"batching":"keep"}`), tb(0).slice(0, 1500))
			was := f.description("d")
			copied := f.crashed(folder)
			path := filepath.Join(copied, "segments", files(t, copied)[1])
			tc.damage(t, path)

			check := func(f *fixture) {
				t.Helper()
				sameTable(t, tableOf(t, f.get("other")), mixed(1, 100))
				d := f.description("d")
				if d.Rows != was.Rows || d.Batches != was.Batches || d.Generation != was.Generation || !d.Durable {
					t.Errorf("described as %+v, was %+v", d, was)
				}
				messages, err := read(f.context(), f.client, "d")
				if tc.lost == nil {
					sameTable(t, tableOf(t, messages), numbers(func(row int64) int64 { return row / 100 }, 6000))
					return
				}
				wantStatus(t, err, codes.DataLoss, append(tc.parts, `"d"`, filepath.Base(path), fmt.Sprint("batch ", tc.lost[0]%2))...)
				for i := range 6 {
					ticket := fmt.Sprintf(`{"dataset":"d","filters":[["n",">=",%d],["n","<",%d]]}`, 10*i, 10*i+10)
					messages, err := read(f.context(), f.client, ticket)
					// A batch whose statistics are lost too may have any value.
					if slices.Contains(tc.lost, i) || tc.starts {
						wantStatus(t, err, codes.DataLoss, `"d"`)
					} else if err != nil {
						t.Errorf("batch %d: %v", i, err)
					} else {
						sameTable(t, tableOf(t, messages), tb(0).slice(0, 1000).plus(int64(10*i)))
					}
				}
				for _, op := range []string{"is null", "is not null"} {
					_, err := read(f.context(), f.client, fmt.Sprintf(`{"dataset":"d","filters":[["n",%q]]}`, op))
					if tc.starts || op == "is not null" {
						wantStatus(t, err, codes.DataLoss, `"d"`)
					}
				}
				sameTable(t, tableOf(t, f.get(`{"dataset":"d","limit":2000}`)), tb(0)) // of the first file
			}
			again := start(t, in(copied))
			if logged := again.logs.FilterMessage("batches are lost").FilterField(zap.String("dataset", "d")).Len(); (logged == 1) != tc.starts {
				t.Errorf("the log is %v", again.logs.All())
			}
			check(again)
			again.act("pin", `{"dataset":"d"}`) // writes the record once more
			third := start(t, in(again.crashed(copied)))
			check(third)
			third.act("compact", `{"dataset":"d"}`)
			third.put(byCommand(`{"dataset":"d","mode":"append","batching":"keep"}`), tb(9))
			if d := third.description("d"); d.Rows != was.Rows+2000 {
				t.Errorf("after an append: %+v", d)
			}
			fourth := start(t, in(third.crashed(third.data)))
			var apart []table
			for _, e := range fourth.info(byCommand(`{"dataset":"d","partitions":8}`)).GetEndpoint() {
				if messages, err := read(f.context(), fourth.client, string(e.GetTicket().GetTicket())); err == nil {
					apart = append(apart, tableOf(t, messages))
				} else {
					wantStatus(t, err, codes.DataLoss, `"d"`)
				}
			}
			if len(apart) != 8-len(tc.lost) {
				t.Errorf("%d of 8 batches can be read by partitions", len(apart))
			} else {
				sameTable(t, apart[len(apart)-1], tb(9).slice(1000, 2000))
			}
			fourth.act("drop", `{"dataset":"d"}`)
			last := fourth.crashed(fourth.data)
			start(t, in(last))
			if n := len(files(t, last)); n != 2 {
				t.Errorf("%d files after the drop, want those of two other datasets", n)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bytesOf is what is in the nth file of the folder of a file.
func bytesOf(t *testing.T, path string, n int) []byte {
	t.Helper()
	folder := filepath.Dir(path)
	b, err := os.ReadFile(filepath.Join(folder, files(t, filepath.Dir(folder))[n]))
	must(t, err)
	return b
}

// message is where the nth message of a file begins.
func message(t *testing.T, path string, n int) (at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	for at = bytes.Index(b, marker); n > 0; n-- {
		at += 4 + bytes.Index(b[at+4:], marker)
	}
	return at
}

// marker begins every message. No value of these tests has its bytes.
var marker = []byte("\xff\xff\xff\xff")

// flip changes one byte of a file, counted from its end where it is below 0.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x10
	must(t, os.WriteFile(path, b, 0o600))
}

// plus is a table of numbers with n added to each.
func (tb table) plus(n int64) table {
	values := tb.int64s()
	return numbers(func(row int64) int64 { return values[row] + n }, len(values))
}

// One batch of a file that is damaged costs no more than that one.
func TestOneBatchIsDamaged(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"d","durable":true,"batching":"keep"}`), numbers(func(row int64) int64 { return row / 1000 }, 1000, 1000, 1000))
	again := start(t, in(f.crashed(folder)), func(s *setup) {
		s.disk = func(d *Durable) { d.store = &broken{segments: d.store, records: d.journal, damaged: 1} }
	})
	if d := again.description("d"); d.Rows != 3000 || d.Batches != 3 {
		t.Errorf("described as %+v", d)
	}
	for i, e := range again.info(byCommand(`{"dataset":"d","partitions":3}`)).GetEndpoint() {
		messages, err := read(f.context(), again.client, string(e.GetTicket().GetTicket()))
		if i == 1 {
			wantStatus(t, err, codes.DataLoss, `"d"`, "batch 1")
		} else if err != nil {
			t.Errorf("batch %d: %v", i, err)
		} else {
			sameTable(t, tableOf(t, messages), numbers(constant(int64(i)), 1000))
		}
	}
	err := again.action("statistics", `{"dataset":"d","per_batch":true}`, new(any))
	if err != nil {
		t.Error(err)
	}
	_, err = again.client.GetFlightInfo(again.context(), byCommand(`{"dataset":"d","filters":[["n","=",2]],"count":"exact"}`))
	wantStatus(t, err, codes.DataLoss, `"d"`, "batch 1")
}

// A catalogue that is damaged is a clear error of the start, that names it; nothing is removed.
func TestDamagedCatalogue(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(1, 100))
	copied := f.crashed(folder)
	path := filepath.Join(copied, "catalog.db")
	must(t, os.Truncate(path, 9000))
	store, err := batchstore.New(batchstore.Options{Dir: filepath.Join(copied, "segments")})
	must(t, err)
	defer store.Close()
	if _, err := OpenDurable(store, path, nil); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the error is %v", err)
	}
	if n := len(files(t, copied)); n != 1 {
		t.Errorf("%d files", n)
	}
}

// A budget that the metadata do not fit into is an error of the start that says so; with a larger one all is there.
func TestTooLittleMemoryForAStart(t *testing.T) {
	folder := t.TempDir()
	f := start(t, in(folder))
	f.put(byCommand(`{"dataset":"d","durable":true,"batching":"keep"}`), mixed(1, slices.Repeat([]int{1}, 1500)...))
	copied := f.crashed(folder)
	store, err := batchstore.New(batchstore.Options{Dir: filepath.Join(copied, "segments"), Memory: 1 << 20})
	must(t, err)
	d, err := OpenDurable(store, filepath.Join(copied, "catalog.db"), nil)
	must(t, err)
	names := catalog.New(catalog.Options{Keeper: d})
	if err := d.Restore(names); !errors.Is(err, batchstore.ErrMemory) || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("the error is %v", err)
	}
	names.Clear()
	if n := store.Stats().Charged; n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
	must(t, errors.Join(d.Close(), store.Close()))
	again := start(t, in(copied))
	sameTable(t, tableOf(t, again.get("d")), mixed(1, 1500))
}

// A record that does not fit the program is an error of the start: it is not guessed at, and nothing is lost.
func TestRecordsThatDoNotFit(t *testing.T) {
	for name, spoil := range map[string]func(d *journal.Dataset){
		"schema":         func(d *journal.Dataset) { d.Schema = d.Schema[:8] },
		"order":          func(d *journal.Dataset) { d.SortedBy = []string{"absent"} },
		"edges":          func(d *journal.Dataset) { d.SortedBy, d.First, d.Last = []string{"id"}, []byte{9}, []byte{9} },
		"file elsewhere": func(d *journal.Dataset) { d.Runs[0].Segment = "../" + d.Runs[0].Segment },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			f := start(t, in(folder))
			f.put(byCommand(`{"dataset":"d","durable":true}`), mixed(1, 100))
			copied := f.crashed(folder)
			path := filepath.Join(copied, "catalog.db")
			j, c, err := journal.Open(path, journal.Options{})
			must(t, err)
			spoil(&c.Datasets[0])
			must(t, j.Write(&c.Datasets[0], nil))
			must(t, j.Close())
			store, err := batchstore.New(batchstore.Options{Dir: filepath.Join(copied, "segments")})
			must(t, err)
			defer store.Close()
			d, err := OpenDurable(store, path, nil)
			must(t, err)
			defer func() {
				must(t, d.Close())
				if n := len(files(t, copied)); n != 1 {
					t.Errorf("%d files", n)
				}
			}()
			names := catalog.New(catalog.Options{Keeper: d})
			defer names.Clear() // the files stay: the start has failed
			if err := d.Restore(names); err == nil || !strings.Contains(err.Error(), `"d"`) && !strings.Contains(err.Error(), "..") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
