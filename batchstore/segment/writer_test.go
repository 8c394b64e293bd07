package segment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// requireNothing checks that a folder is empty.
func requireNothing(t *testing.T, folder string) {
	t.Helper()
	names, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range names {
		t.Errorf("%s is left", x.Name())
	}
}

// Until it is finished there is no file of the name, and after Abort none at all.
func TestAbort(t *testing.T) {
	p := newPool(t, 1)
	c := randomContent(t, seeded(t), 1, 100)
	folder := t.TempDir()
	path := filepath.Join(folder, "segment.arrow")
	w, err := p.Create(path, c.schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Create(path, c.schema); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second writer of one file: %v", err)
	}
	for i, d := range c.dictionaries {
		if err := w.AddDictionary(c.schema.Layout.Dictionaries[i].ID, "", d.facts, d.body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before it is finished: %v", err)
	}
	w.Abort()
	w.Abort()
	requireNothing(t, folder)
	if err := w.AddBatch(c.batches[0].facts, c.batches[0].body); !errors.Is(err, ErrClosed) {
		t.Errorf("a batch after the end: %v", err)
	}
	if _, err := p.Create(filepath.Join(folder, "none", "segment.arrow"), c.schema); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), folder) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	// A folder of the name is in the way of the rename.
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if f, err := (&content{schema: c.schema}).finish(t, p, path, true); err == nil {
		f.Close()
		t.Error("a file was put over a folder")
	}
	if names, _ := os.ReadDir(folder); len(names) != 1 {
		t.Errorf("%v is left", names)
	}
}

// What is against the order or the schema is refused, and the writer goes on.
func TestWriterRefuses(t *testing.T) {
	p := newPool(t, 1)
	c := randomContent(t, seeded(t), 1, 100)
	good := c.batches[0]
	w, err := p.Create(filepath.Join(t.TempDir(), "segment.arrow"), c.schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	ids := c.schema.Layout.Dictionaries
	refused("a batch without dictionaries", w.AddBatch(good.facts, good.body))
	refused("the second dictionary first", w.AddDictionary(ids[1].ID, "", c.dictionaries[1].facts, c.dictionaries[1].body))
	refused("a dictionary of another id", w.AddDictionary(99, "", c.dictionaries[0].facts, c.dictionaries[0].body))
	refused("a long identity", w.AddDictionary(ids[0].ID, strings.Repeat("x", 65), c.dictionaries[0].facts, c.dictionaries[0].body))
	for i, d := range c.dictionaries {
		if err := w.AddDictionary(ids[i].ID, strings.Repeat("x", 64), d.facts, d.body); err != nil {
			t.Fatal(err)
		}
	}
	refused("a dictionary twice", w.AddDictionary(ids[0].ID, "", c.dictionaries[0].facts, c.dictionaries[0].body))
	for name, facts := range wrongFacts(good.facts) {
		refused(name, w.AddBatch(facts, good.body))
	}
	refused("a body cut off", w.AddBatch(good.facts, good.body[:1]))
	if err := w.AddBatch(good.facts, good.body); err != nil {
		t.Fatal(err)
	}
	refused("a dictionary after a batch", w.AddDictionary(ids[0].ID, "", c.dictionaries[0].facts, c.dictionaries[0].body))
	f, err := w.Finish(false)
	if err != nil || f.Batches() != 1 {
		t.Fatalf("%v, %v", f, err)
	}
	f.Close()
}

// wrongFacts are facts that contradict their schema, their body or themselves.
func wrongFacts(good Facts) map[string]Facts {
	change := func(f func(x *Facts)) Facts {
		x := good
		h := &x.Header
		h.Nodes = append([]arrowipc.FieldNode(nil), h.Nodes...)
		h.Buffers = append([]arrowipc.Buffer(nil), h.Buffers...)
		h.Variadic = append([]int64(nil), h.Variadic...)
		x.Decoded = append([]int64(nil), x.Decoded...)
		x.Statistics = append([]statistics.Column(nil), x.Statistics...)
		f(&x)
		return x
	}
	return map[string]Facts{
		"negative rows":        change(func(x *Facts) { x.Header.Rows = -1 }),
		"other rows":           change(func(x *Facts) { x.Header.Rows++ }),
		"a node less":          change(func(x *Facts) { x.Header.Nodes = x.Header.Nodes[1:] }),
		"more nulls than rows": change(func(x *Facts) { x.Header.Nodes[3].Nulls = x.Header.Nodes[3].Length + 1 }),
		"negative nulls":       change(func(x *Facts) { x.Header.Nodes[3].Nulls = -1 }),
		"a buffer less":        change(func(x *Facts) { x.Header.Buffers = x.Header.Buffers[1:] }),
		"a buffer more":        change(func(x *Facts) { x.Header.Buffers = append(x.Header.Buffers, arrowipc.Buffer{}) }),
		"a negative length":    change(func(x *Facts) { x.Header.Buffers[1].Length = -8 }),
		"a negative offset":    change(func(x *Facts) { x.Header.Buffers[0].Offset = -8 }),
		"a buffer beyond": change(func(x *Facts) {
			x.Header.Buffers[len(x.Header.Buffers)-1].Length += 1 << 40
		}),
		"an overflow":               change(func(x *Facts) { x.Header.Buffers[1] = arrowipc.Buffer{Offset: 1<<63 - 8, Length: 1<<63 - 8} }),
		"a buffer not at 8":         change(func(x *Facts) { x.Header.Buffers[0].Offset = 4; x.Header.Buffers[0].Length = 0 }),
		"buffers that swap":         change(func(x *Facts) { x.Header.Buffers[0].Offset, x.Header.Buffers[0].Length = x.Body&^7, 0 }),
		"no variadic counts":        change(func(x *Facts) { x.Header.Variadic = nil }),
		"a negative count":          change(func(x *Facts) { x.Header.Variadic[0] = -1 }),
		"a count too large":         change(func(x *Facts) { x.Header.Variadic[1] += 1 << 62 }),
		"another codec":             change(func(x *Facts) { x.Header.Compression = 2 }),
		"no decoded sizes":          change(func(x *Facts) { x.Decoded = nil }),
		"a negative size":           change(func(x *Facts) { x.Decoded[0] = -1 }),
		"sizes that overflow":       change(func(x *Facts) { x.Decoded[0], x.Decoded[1] = 1<<62, 1<<62 }),
		"a negative level":          change(func(x *Facts) { x.Level = -1 }),
		"a wanted codec below 0":    change(func(x *Facts) { x.Header.Compression, x.Wanted = arrowipc.Uncompressed, -1 }),
		"a wanted codec too high":   change(func(x *Facts) { x.Header.Compression, x.Wanted = arrowipc.Uncompressed, 3 }),
		"a wanted codec beside one": change(func(x *Facts) { x.Header.Compression, x.Wanted = arrowipc.Zstd, 1 }),
		"a level too high":          change(func(x *Facts) { x.Level = maxLevel + 1 }),
		"other statistics": change(func(x *Facts) {
			x.Statistics = make([]statistics.Column, 9) // of 10
		}),
		"statistics of other rows": change(func(x *Facts) {
			x.Statistics = make([]statistics.Column, 10)
			for i := range x.Statistics {
				x.Statistics[i].Rows = x.Header.Rows + 1
			}
		}),
	}
}

// A segment takes no more facts than its footer may have; what it has can be finished and read.
func TestFull(t *testing.T) {
	p := newPool(t, 1)
	var fields []*arrowipc.Field
	for range 3000 {
		fields = append(fields, &arrowipc.Field{Name: "c", Type: arrowipc.Type{ID: arrowipc.TypeBinary}})
	}
	schema, err := arrowipc.BuildSchema(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := statistics.TextValue(strings.Repeat("\xff", statistics.MaxBytes))
	f := Facts{Header: arrowipc.RecordBatch{Rows: 1, Compression: arrowipc.Uncompressed}}
	for range fields {
		f.Header.Nodes = append(f.Header.Nodes, arrowipc.FieldNode{Length: 1})
		f.Header.Buffers = append(f.Header.Buffers, arrowipc.Buffer{}, arrowipc.Buffer{}, arrowipc.Buffer{})
		f.Decoded = append(f.Decoded, 1<<40)
		f.Statistics = append(f.Statistics, statistics.Column{Rows: 1, HasMin: true, HasMax: true, Min: long, Max: long})
	}
	path := filepath.Join(t.TempDir(), "segment.arrow")
	w, err := p.Create(path, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	batches := 0
	for ; err == nil; batches++ {
		err = w.AddBatch(f, nil)
	}
	if !errors.Is(err, ErrFull) || batches < 20 {
		t.Fatalf("after %d batches: %v", batches, err)
	}
	written, err := w.Finish(false)
	if err != nil {
		t.Fatal(err)
	}
	written.Close()
	opened, err := p.Open(path, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if opened.Batches() != batches-1 {
		t.Errorf("%d batches, want %d", opened.Batches(), batches-1)
	}
	if got, err := opened.Batch(batches - 2); err != nil || got.Statistics[2999] != f.Statistics[2999] {
		t.Errorf("the last batch: %v", err)
	}
}
