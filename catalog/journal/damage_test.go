package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// written is a file with branches, values of many pages, inline and free pages, and what it holds; before is what it held
// before its last change.
func written(t *testing.T) (file []byte, now, before *Contents) {
	t.Helper()
	j, _ := open(t, catalogue(t), Options{Now: atNoon})
	for n := range 120 {
		d := dataset(fmt.Sprintf("%03d %s", n, strings.Repeat("x", n)), n)
		if n%40 == 7 {
			d.Schema = bytes.Repeat([]byte{byte(n)}, 3*pageSize)
		}
		must(t, j.Write(d, &Put{Name: fmt.Sprint(n), At: noon, Facts: []byte("{}")}))
	}
	for n := range 30 {
		must(t, j.Delete(fmt.Sprintf("%03d %s", 3*n, strings.Repeat("x", 3*n))))
	}
	before = snapshot(t, j)
	must(t, j.Write(dataset("last", 1), nil))
	now = snapshot(t, j)
	must(t, j.Close())
	file, err := os.ReadFile(j.path)
	must(t, err)
	return file, now, before
}

// opened opens a file of these bytes. It is an error of the right kind, with the file's name, or what it holds.
func opened(t *testing.T, path string, file []byte) (c *Contents, err error) {
	t.Helper()
	must(t, os.WriteFile(path, file, 0o600))
	j, c, err := Open(path, Options{Now: atNoon})
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), path) {
			t.Fatalf("the error is %v", err)
		}
		return nil, err
	}
	must(t, j.Close())
	return c, nil
}

// A file with any byte changed is refused, or holds what it did; with a damaged meta page it may hold what it did before the
// last change, and says so.
func TestDamagedBytes(t *testing.T) {
	file, now, before := written(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	each, anywhere := 8, 600
	if underRace {
		each, anywhere = 2, 150 // one goroutine
	}
	var places []int
	for page := 0; page < len(file); page += pageSize {
		for range each {
			places = append(places, page+rng.IntN(pageHead), page+rng.IntN(8*element))
		}
	}
	for range anywhere {
		places = append(places, rng.IntN(len(file)))
	}
	for i := range metaBytes + pageHead {
		places = append(places, i, pageSize+i)
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	refused := 0
	for _, at := range places {
		bad := bytes.Clone(file)
		bad[at] ^= byte(1 + rng.IntN(255))
		c, err := opened(t, path, bad)
		switch {
		case err != nil:
			refused++
		case reflect.DeepEqual(c.Datasets, now.Datasets) && reflect.DeepEqual(c.Puts, now.Puts):
		case c.FellBack && reflect.DeepEqual(c.Datasets, before.Datasets) && reflect.DeepEqual(c.Puts, before.Puts):
		default:
			t.Fatalf("byte %d changed: fell back %v, with other contents", at, c.FellBack)
		}
	}
	if refused < len(places)/20 {
		t.Errorf("%d of %d were refused", refused, len(places))
	}
}

func TestCutFiles(t *testing.T) {
	file, _, _ := written(t)
	path := filepath.Join(t.TempDir(), "catalog.db")
	high := int(max(native.Uint64(file[pageHead+40:]), native.Uint64(file[pageSize+pageHead+40:])))
	sizes := []int{1, 100, pageSize - 1, 2*pageSize - 1}
	for n := 1; n < high; n += max(1, high/50) {
		sizes = append(sizes, n*pageSize, n*pageSize+77)
	}
	for _, size := range append(sizes, high*pageSize-1) {
		if _, err := opened(t, path, file[:size]); err == nil {
			t.Errorf("a file of %d of %d pages was opened", size/pageSize, high)
		}
	}
	if _, err := opened(t, path, file[:high*pageSize]); err != nil {
		t.Errorf("room behind the pages is missing: %v", err)
	}
}

// A file that is no catalogue, or an empty one that something else made.
func TestOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	for _, file := range [][]byte{nil, []byte("hello"), make([]byte, 16*pageSize), bytes.Repeat([]byte{0xFF}, 16*pageSize)} {
		if _, err := opened(t, path, file); err == nil {
			t.Errorf("a file of %d bytes was opened", len(file))
		}
	}
}

// pageOf finds the first page of a kind with so many elements or more, below which is the tree of the newest meta.
func pageOf(t *testing.T, file []byte, kind, least uint16) []byte {
	t.Helper()
	for at := 2 * pageSize; at < len(file); at += pageSize {
		p := file[at : at+pageSize]
		if native.Uint16(p[8:]) == kind && native.Uint16(p[10:]) >= least && native.Uint64(p) == uint64(at/pageSize) {
			return p
		}
	}
	t.Fatalf("there is no page of kind %x", kind)
	return nil
}

// What would make bbolt loop, panic or overwrite data is found before it sees it.
func TestHostilePages(t *testing.T) {
	sound, _, _ := written(t)
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, file []byte, m meta)
		want  string
	}{
		{"a page that is its own child", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagBranch, func(p []byte) { native.PutUint64(p[pageHead+8:], native.Uint64(p)) })
		}, "used twice"},
		{"a child beyond the end", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagBranch, func(p []byte) { native.PutUint64(p[pageHead+8:], m.high) })
		}, "is referred to"},
		{"a child that is a meta page", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagBranch, func(p []byte) { native.PutUint64(p[pageHead+8:], 1) })
		}, "is referred to"},
		{"a branch without children", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagBranch, func(p []byte) { native.PutUint16(p[10:], 0) })
		}, "children"},
		{"more children than fit", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagBranch, func(p []byte) { native.PutUint16(p[10:], 0x7FFF) })
		}, "children"},
		{"more records than fit", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagLeaf, func(p []byte) { native.PutUint16(p[10:], 0x7FFF) })
		}, "records"},
		{"a key out of its page", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagLeaf, func(p []byte) { native.PutUint32(p[pageHead+8:], 1<<31) })
		}, "reaches out"},
		{"a value out of its page", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagLeaf, func(p []byte) { native.PutUint32(p[pageHead+12:], 1<<31) })
		}, "reaches out"},
		{"a record where a bucket is", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagLeaf, func(p []byte) { native.PutUint32(p[pageHead:], 1^native.Uint32(p[pageHead:])) })
		}, "buckets"},
		{"a page that goes on beyond the end", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagLeaf, func(p []byte) { native.PutUint32(p[12:], 0xFFFFFFFF) })
		}, "is none"},
		{"a free page that is not free", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagFreelist, func(p []byte) { native.PutUint64(p[pageHead:], m.root) })
		}, "said to be free"},
		{"more free pages than fit", func(t *testing.T, file []byte, m meta) {
			eachPage(file, flagFreelist, func(p []byte) {
				native.PutUint16(p[10:], 0xFFFF)
				native.PutUint64(p[pageHead:], 1<<62)
			})
		}, "free pages"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := bytes.Clone(sound)
			pageOf(t, file, flagBranch, 2)
			a, err0 := readMeta(file)
			b, err1 := readMeta(file[pageSize:])
			must(t, errors.Join(err0, err1))
			if b.txid > a.txid {
				a = b
			}
			tc.spoil(t, file, a)
			_, err := opened(t, filepath.Join(t.TempDir(), "catalog.db"), file)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one of %q", err, tc.want)
			}
		})
	}
}

// eachPage calls f with every page of a kind, whether it is in use or was.
func eachPage(file []byte, kind uint16, f func(page []byte)) {
	for at := 2 * pageSize; at < len(file); at += pageSize {
		p := file[at : at+pageSize]
		if native.Uint16(p[8:]) == kind && native.Uint64(p) == uint64(at/pageSize) {
			f(p)
		}
	}
}

// Pages that bbolt writes are never taken for damage, however a file grows and shrinks.
func TestSoundPages(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	j, _ := open(t, catalogue(t), Options{Now: atNoon, KeptPuts: 50})
	check := func() {
		f, err := os.Open(j.path)
		must(t, err)
		defer f.Close()
		if fell, err := checkPages(f); err != nil || fell {
			t.Fatalf("fell back %v, %v", fell, err)
		}
	}
	check()
	rounds := 60
	if underRace {
		rounds = 24
	}
	for round := range rounds {
		var group []*change
		for range 1 + rng.IntN(80) {
			name := fmt.Sprint(strings.Repeat("n", rng.IntN(300)), rng.IntN(400))
			c := &change{name: []byte(name)}
			if rng.IntN(5) > 3*round/rounds {
				d := dataset(name, rng.IntN(1000))
				d.Schema = make([]byte, rng.IntN(1<<rng.IntN(15)))
				record, err := encodeDataset(d)
				must(t, err)
				c.record, c.put = record, &Put{Name: name, At: noon}
			}
			group = append(group, c)
		}
		j.write(group)
		must(t, group[0].err)
		check()
	}
}

func FuzzDataset(f *testing.F) {
	for n := range 12 {
		record, err := encodeDataset(dataset("d", n))
		must(f, err)
		f.Add(record)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		if len(record) < headBytes {
			record = make([]byte, headBytes)
		}
		sealed, err := seal(datasetsBucket, []byte("d"), bytes.Clone(record))
		must(t, err)
		d, err := decodeDataset([]byte("d"), sealed)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := encodeDataset(&d)
		must(t, err)
		back, err := decodeDataset([]byte("d"), again)
		must(t, err)
		if !reflect.DeepEqual(back, d) {
			t.Fatalf("%+v became %+v", d, back)
		}
	})
}

func FuzzPut(f *testing.F) {
	key := make([]byte, 8)
	record, err := encodePut(key, &Put{Name: "a\x00b", At: noon, Facts: []byte("{}")})
	must(f, err)
	f.Add(record)
	f.Fuzz(func(t *testing.T, record []byte) {
		if len(record) < headBytes {
			record = make([]byte, headBytes)
		}
		sealed, err := seal(putsBucket, key, bytes.Clone(record))
		must(t, err)
		if p, err := decodePut(key, sealed); err == nil {
			if _, err := encodePut(key, &p); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

func TestRecordsAreUnderTheirKeys(t *testing.T) {
	record, err := encodeDataset(dataset("d", 1))
	must(t, err)
	if _, err := decodeDataset([]byte("e"), record); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another name: %v", err)
	}
	record[0] = 9
	if _, err := decodeDataset([]byte("d"), record); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "9") {
		t.Errorf("of another version: %v", err)
	}
}
