package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 5_000_001, time.UTC)

func atNoon() time.Time { return noon }

// open opens a journal that is closed with the test.
func open(t testing.TB, path string, o Options) (*Journal, *Contents) {
	t.Helper()
	j, c, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, c
}

// reopen closes a journal and gives what its file holds.
func reopen(t testing.TB, j *Journal) *Contents {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again, c, err := Open(j.path, j.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

func catalogue(t testing.TB) string { return filepath.Join(t.TempDir(), "catalog.db") }

// dataset is a record in which every part depends on n.
func dataset(name string, n int) *Dataset {
	d := &Dataset{
		Name: name, Generation: fmt.Sprintf("5b1c0e9d2f3a4867-%d", n), Schema: []byte(strings.Repeat("s", n%300)), Codec: "zstd",
		Created: noon.Add(time.Duration(n) * time.Second), Pinned: n%2 == 1,
	}
	d.OrderDropped = n%7 == 0
	if n%3 == 0 {
		d.Expires = noon.Add(time.Hour)
	}
	if n%5 == 0 {
		d.SortedBy = []string{"a", "-b.c"}[:1+n%2]
	}
	if n%10 == 0 {
		d.First, d.Last = []byte{}, []byte{1, byte(n)}
	}
	for i := range n % 4 {
		d.Runs = append(d.Runs, Run{Segment: fmt.Sprintf("seg-%d-%d", n, i), First: i, Count: 1 + n, Rows: int64(n) * 1000})
	}
	return d
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantDatasets(t testing.TB, c *Contents, want ...*Dataset) {
	t.Helper()
	var got []*Dataset
	for i := range c.Datasets {
		got = append(got, &c.Datasets[i])
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the file has\n%+v\nwant\n%+v", c.Datasets, want)
	}
}

func TestWhatIsWrittenIsThereAgain(t *testing.T) {
	j, c := open(t, catalogue(t), Options{Now: atNoon})
	wantDatasets(t, c)
	var want []*Dataset
	for n := range 61 {
		d := dataset(fmt.Sprintf("d%02d", n), n)
		must(t, j.Write(d, nil))
		want = append(want, d)
	}
	wantDatasets(t, reopen(t, j), want...)
}

func TestReplaceAndDelete(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	put := &Put{Name: "a\x00p", At: noon, Facts: []byte(`{"rows":1}`), What: "append 1 0123456789abcdef"}
	must(t, j.Write(dataset("a", 1), put))
	must(t, j.Write(dataset("b", 2), nil))
	must(t, j.Write(dataset("c", 3), nil))
	must(t, j.Write(dataset("a", 30), nil))
	must(t, j.Delete("b"))
	must(t, j.Delete("never"))
	c := reopen(t, j)
	wantDatasets(t, c, dataset("a", 30), dataset("c", 3))
	if !reflect.DeepEqual(c.Puts, []Put{*put}) || c.FellBack {
		t.Errorf("puts %+v, fell back %v", c.Puts, c.FellBack)
	}
	if err := j.Write(dataset("a", 1), nil); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), j.path) {
		t.Errorf("a change after Close: %v", err)
	}
	must(t, j.Close())
}

func TestOldPutsAreForgotten(t *testing.T) {
	now := noon
	j, _ := open(t, catalogue(t), Options{Now: func() time.Time { return now }, KeptPuts: 5, KeptPutTime: time.Hour})
	names := func(c *Contents) (out []string) {
		for _, p := range c.Puts {
			out = append(out, p.Name)
		}
		return out
	}
	write := func(n int) {
		must(t, j.Write(dataset("d", n), &Put{Name: fmt.Sprint(n), At: now, Facts: []byte("{}")}))
	}
	for n := range 12 {
		write(n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, c := open(t, j.path, j.opts)
	if got := fmt.Sprint(names(c)); got != "[7 8 9 10 11]" {
		t.Errorf("kept %s", got)
	}
	now = now.Add(59 * time.Minute)
	write(12)
	now = now.Add(2 * time.Minute)
	write(13)
	if got := fmt.Sprint(names(reopen(t, j))); got != "[12 13]" {
		t.Errorf("kept %s", got)
	}
}

// Changes that come while others are being written are written with one commit.
func TestChangesShareCommits(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	started, goOn := make(chan struct{}), make(chan struct{})
	j.commit = func(tx *bbolt.Tx) error {
		started <- struct{}{}
		<-goOn
		return tx.Commit()
	}
	var want []*Dataset
	var all sync.WaitGroup
	write := func(n int) {
		d := dataset(fmt.Sprintf("d%02d", n), n)
		want = append(want, d)
		all.Go(func() {
			if err := j.Write(d, nil); err != nil {
				t.Error(err)
			}
		})
	}
	write(0)
	<-started
	for n := 1; n < 50; n++ {
		write(n)
	}
	for waiting := 0; waiting < 49; {
		j.mu.Lock()
		waiting = len(j.queue)
		j.mu.Unlock()
	}
	goOn <- struct{}{}
	<-started
	goOn <- struct{}{}
	all.Wait()
	if n := j.Commits(); n != 2 {
		t.Errorf("%d commits, want 2", n)
	}
	wantDatasets(t, reopen(t, j), want...)
}

// Where one change of several is too much for the disk, the others are made.
func TestOneOfAGroupFails(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon, maxSize: 1 << 20})
	big := dataset("big", 0)
	big.Schema = make([]byte, 4<<20)
	group := make([]*change, 0, 3)
	for _, d := range []*Dataset{dataset("a", 1), big, dataset("z", 2)} {
		record, err := encodeDataset(d)
		must(t, err)
		group = append(group, &change{name: []byte(d.Name), record: record})
	}
	j.write(group)
	if group[0].err != nil || group[2].err != nil || !full(group[1].err) {
		t.Errorf("the errors are %v, %v, %v", group[0].err, group[1].err, group[2].err)
	}
	if err := j.Write(big, nil); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), j.path) {
		t.Errorf("a record that does not fit: %v", err)
	}
	must(t, j.Write(dataset("a", 3), nil))
	must(t, j.Delete("z"))
	wantDatasets(t, reopen(t, j), dataset("a", 3))
}

func TestTooLarge(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	d := dataset("d", 1)
	d.Schema = make([]byte, MaxRecord)
	if err := j.Write(d, nil); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("a huge schema: %v", err)
	}
	if err := j.Write(dataset("d", 1), &Put{Facts: make([]byte, MaxRecord)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("huge facts: %v", err)
	}
	wantDatasets(t, reopen(t, j))
}

// failing has the next commits fail: "before" anything is written, or "after" everything is.
func (j *Journal) failing(err error, where ...string) {
	j.commit = func(tx *bbolt.Tx) error {
		if len(where) == 0 {
			return tx.Commit()
		}
		at := where[0]
		where = where[1:]
		switch at {
		case "before":
			return errors.Join(err, tx.Rollback())
		case "after":
			return errors.Join(err, tx.Commit())
		}
		return tx.Commit()
	}
}

func TestFailedCommits(t *testing.T) {
	full := fmt.Errorf("write: %w", syscall.ENOSPC)
	for _, tc := range []struct {
		name  string
		where []string
		want  error // of the change; nil: it is made
		doubt bool
	}{
		{"none", nil, nil, false},
		{"before", []string{"before"}, ErrFull, false},
		{"after, and taken back", []string{"after"}, ErrFull, false},
		{"after, and not taken back", []string{"after", "before"}, ErrFull, true},
		{"after, and taken back in doubt", []string{"after", "after"}, ErrFull, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j, _ := open(t, catalogue(t), Options{Now: atNoon})
			must(t, j.Write(dataset("a", 1), &Put{Name: "first", At: noon}))
			j.failing(full, tc.where...)
			err := j.Write(dataset("a", 2), &Put{Name: "second", At: noon})
			if !errors.Is(err, tc.want) || errors.Is(err, ErrDoubt) != tc.doubt {
				t.Fatalf("the change: %v", err)
			}
			want := dataset("a", 1)
			puts := 1
			if tc.want == nil {
				want, puts = dataset("a", 2), 2
			}
			if !tc.doubt {
				c := snapshot(t, j)
				wantDatasets(t, c, want)
				if len(c.Puts) != puts {
					t.Errorf("%d puts, want %d", len(c.Puts), puts)
				}
			} // else a crash now may find either
			must(t, j.Write(dataset("b", 3), nil))
			c := reopen(t, j)
			wantDatasets(t, c, want, dataset("b", 3))
			if len(c.Puts) != puts {
				t.Errorf("%d puts at the end, want %d", len(c.Puts), puts)
			}
		})
	}
}

// snapshot is what a start after a crash now would find.
func snapshot(t testing.TB, j *Journal) *Contents {
	t.Helper()
	bytes, err := os.ReadFile(j.path)
	must(t, err)
	path := catalogue(t)
	must(t, os.WriteFile(path, bytes, 0o600))
	again, c, err := Open(path, j.opts)
	must(t, err)
	must(t, again.Close())
	return c
}

// A deletion has room on a full disk, once, and the room is kept anew as soon as there is some.
func TestDeleteOnAFullDisk(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	must(t, j.Write(dataset("a", 1), nil))
	must(t, j.Write(dataset("b", 2), nil))
	reserved := func() bool {
		info, err := os.Stat(j.reserve.path)
		return err == nil && info.Size() == reserveBytes
	}
	if !reserved() {
		t.Fatal("there is no reserve")
	}
	var during []bool
	j.commit = func(tx *bbolt.Tx) error {
		during = append(during, reserved())
		if reserved() {
			return errors.Join(syscall.ENOSPC, tx.Rollback())
		}
		return tx.Commit()
	}
	if err := j.Write(dataset("a", 3), nil); !errors.Is(err, ErrFull) {
		t.Errorf("a write on a full disk: %v", err)
	}
	must(t, j.Delete("a"))
	if fmt.Sprint(during) != "[true true false]" || !reserved() {
		t.Errorf("the reserve was there: %v, and now %v", during, reserved())
	}
	wantDatasets(t, reopen(t, j), dataset("b", 2))
}

// A file that is cut while it is in use gives an error, not a fault, and a clear one from then on.
func TestCutWhileOpen(t *testing.T) {
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	for n := range 40 {
		must(t, j.Write(dataset(fmt.Sprint("d", n), n), nil))
	}
	must(t, os.Truncate(j.path, 2*pageSize))
	for range 2 {
		if err := j.Write(dataset("e", 1), nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), j.path) {
			t.Errorf("a change of a file that was cut: %v", err)
		}
	}
	must(t, j.Close())
}

// In any order of changes, failures and crashes, the file holds what was told as done, and what was told as failed is not
// there.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "journal")
		must(t, err)
		defer os.RemoveAll(folder)
		path := filepath.Join(folder, "catalog.db")
		j, _, err := Open(path, Options{Now: atNoon, KeptPuts: 3})
		must(t, err)
		defer func() { j.Close() }()
		want := map[string]*Dataset{}
		var puts []string
		check := func(c *Contents) {
			got := map[string]*Dataset{}
			for i := range c.Datasets {
				got[c.Datasets[i].Name] = &c.Datasets[i]
			}
			var names []string
			for _, p := range c.Puts {
				names = append(names, p.Name)
			}
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(names, puts) {
				t.Fatalf("the file has %v and puts %q, want %v and %q", got, names, want, puts)
			}
		}
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "a/b", "c", strings.Repeat("long", 200)}).Draw(t, "name")
			fault := rapid.SampledFrom([]string{"none", "none", "none", "before", "after"}).Draw(t, "fault")
			j.failing(syscall.EIO, fault)
			switch rapid.SampledFrom([]string{"write", "write", "put", "delete", "crash", "close"}).Draw(t, "what") {
			case "write":
				if err := j.Write(dataset(name, step), nil); err == nil {
					want[name] = dataset(name, step)
				}
			case "put":
				id := fmt.Sprint("p", step)
				if err := j.Write(dataset(name, step), &Put{Name: id, At: noon, Facts: []byte("{}")}); err == nil {
					want[name] = dataset(name, step)
					puts = append(puts, id)
					puts = puts[max(0, len(puts)-3):]
				}
			case "delete":
				if err := j.Delete(name); err == nil {
					delete(want, name)
				}
			case "crash": // the file as it is now, elsewhere
				bytes, err := os.ReadFile(path)
				must(t, err)
				path = filepath.Join(folder, fmt.Sprint("catalog", step))
				must(t, os.WriteFile(path, bytes, 0o600))
				must(t, j.Close())
				var c *Contents
				j, c, err = Open(path, Options{Now: atNoon, KeptPuts: 3})
				must(t, err)
				check(c)
			case "close":
				must(t, j.Close())
				var c *Contents
				j, c, err = Open(path, Options{Now: atNoon, KeptPuts: 3})
				must(t, err)
				check(c)
			}
		}
	})
}
