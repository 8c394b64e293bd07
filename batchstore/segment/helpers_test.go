package segment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeded gives a generator whose seed is printed if the test fails.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func newPool(t testing.TB, descriptors int) *Pool {
	t.Helper()
	p := NewPool(descriptors)
	t.Cleanup(func() {
		if len(p.schemas) > 0 {
			t.Errorf("%d schemas are still shared", len(p.schemas))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// variedSchema has columns without buffers, with view buffers, nested ones and two dictionaries, one for two columns.
func variedSchema(t testing.TB) *arrowipc.Schema {
	t.Helper()
	long := arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}
	text := arrowipc.Type{ID: arrowipc.TypeUtf8}
	view := arrowipc.Type{ID: arrowipc.TypeUtf8View}
	encoded := func(name string, id int64) *arrowipc.Field {
		return &arrowipc.Field{Name: name, Type: text, Nullable: true, Dictionary: &arrowipc.Dictionary{ID: id, IndexBits: 8, Signed: true}}
	}
	s, err := arrowipc.BuildSchema([]*arrowipc.Field{
		{Name: "nothing", Type: arrowipc.Type{ID: arrowipc.TypeNull}, Nullable: true},
		{Name: "k", Type: long},
		{Name: "views", Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: []*arrowipc.Field{
			{Name: "a", Type: view}, {Name: "b", Type: view}, encoded("c", 7),
		}},
		encoded("d", 3),
		{Name: "x", Type: arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}},
		encoded("e", 3),
		{Name: "void", Type: arrowipc.Type{ID: arrowipc.TypeNull}, Nullable: true},
	}, []arrowipc.KeyValue{{Key: "of", Value: "schema"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// item is a batch or a dictionary to be written.
type item struct {
	facts Facts
	body  []byte
}

// randomItem makes a batch of a layout. Its body is random bytes: nothing here looks at values.
func randomItem(r *rand.Rand, s *shape, most int) item {
	rows := r.Int64N(1000)
	h := arrowipc.RecordBatch{Rows: rows, Compression: arrowipc.Compression(r.IntN(3) - 1)}
	f := Facts{Decoded: []int64{}}
	for range s.layout.Node1 {
		h.Nodes = append(h.Nodes, arrowipc.FieldNode{Length: rows, Nulls: r.Int64N(rows + 1)})
		f.Decoded = append(f.Decoded, r.Int64N(1<<r.IntN(40)))
	}
	buffers := s.layout.Buf1
	h.Variadic = []int64{}
	for range s.layout.View1 {
		n := r.Int64N(3)
		h.Variadic = append(h.Variadic, n)
		buffers += int(n)
	}
	h.Buffers = []arrowipc.Buffer{}
	end := int64(0)
	for range buffers {
		length := int64(0)
		if r.IntN(3) > 0 {
			length = r.Int64N(int64(most))
		}
		at := (end+7)&^7 + 8*max(r.Int64N(12)-7, 0)
		h.Buffers = append(h.Buffers, arrowipc.Buffer{Offset: at, Length: length})
		end = at + length
	}
	body := make([]byte, end+r.Int64N(9))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	if r.IntN(4) > 0 {
		for _, c := range arrowipc.RowColumns(s.layout.Columns) {
			f.Statistics = append(f.Statistics, statistics.Everything(c.Column.Field, rows, r.Int64N(rows+1)))
		}
	}
	if r.IntN(3) == 0 {
		f.Metadata = []arrowipc.KeyValue{{Key: "k", Value: "\xff\x00"}, {}}
	}
	if h.Compression == arrowipc.Uncompressed {
		f.Wanted = r.IntN(3)
	}
	f.Apart, f.Level = r.IntN(2) == 0, max(r.IntN(2*maxLevel)-maxLevel, 0)
	f.Header, f.Body = h, int64(len(body))
	return item{f, body}
}

// content is what a file was made of.
type content struct {
	schema       *arrowipc.Schema
	dictionaries []item
	batches      []item
}

func uidOf(i int) string { return fmt.Sprintf("dictionary-%d", i) }

func randomContent(t testing.TB, r *rand.Rand, batches, most int) *content {
	schema := variedSchema(t)
	c := &content{schema: schema}
	for _, d := range schema.Layout.Dictionaries {
		x := randomItem(r, newShape(d.Values), most)
		x.facts.Metadata, x.facts.Statistics = nil, nil
		c.dictionaries = append(c.dictionaries, x)
	}
	for range batches {
		c.batches = append(c.batches, randomItem(r, newShape(schema.Layout), most))
	}
	return c
}

// write writes the content to a file and closes it.
func (c *content) write(t testing.TB, p *Pool, path string) {
	t.Helper()
	f, err := c.finish(t, p, path, false)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func (c *content) finish(t testing.TB, p *Pool, path string, sync bool) (*File, error) {
	t.Helper()
	w, err := p.Create(path, c.schema)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, d := range c.dictionaries {
		if err := w.AddDictionary(c.schema.Layout.Dictionaries[i].ID, uidOf(i), d.facts, d.body); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range c.batches {
		if err := w.AddBatch(b.facts, b.body); err != nil {
			t.Fatal(err)
		}
	}
	least := w.Size()
	f, err := w.Finish(sync)
	if err == nil && (f.Size() < least || f.Size() > least+least/8+1024) {
		t.Fatalf("the file has %d bytes, said to be %d before", f.Size(), least)
	}
	return f, err
}

// requireContent reads all of a file and compares it with the content. An error of reading is returned.
func (c *content) require(t testing.TB, f *File) error {
	t.Helper()
	if f.Foreign() || !bytes.Equal(f.Schema().Message(), c.schema.Message()) || f.Batches() != len(c.batches) || f.Dictionaries() != len(c.dictionaries) {
		t.Fatal("the file has another schema, other numbers of batches, or is another program's")
	}
	for i, want := range c.dictionaries {
		id, uid, facts, err := f.Dictionary(i)
		if err != nil {
			return err
		}
		if id != c.schema.Layout.Dictionaries[i].ID || uid != uidOf(i) || !reflect.DeepEqual(facts, want.facts) {
			t.Fatalf("dictionary %d is %d, %q, %+v; want %+v", i, id, uid, facts, want.facts)
		}
		got := make([]byte, facts.Body)
		if err := f.ReadDictionary(i, got); err != nil {
			return err
		}
		if !bytes.Equal(got, want.body) {
			t.Fatalf("dictionary %d has other bytes", i)
		}
	}
	for i, want := range c.batches {
		facts, err := f.Batch(i)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(facts, want.facts) {
			t.Fatalf("batch %d is\n%+v; want\n%+v", i, facts, want.facts)
		}
		got := make([]byte, facts.Body)
		if err := f.ReadBatch(i, &facts.Header, 0, len(c.schema.Fields), got); err != nil {
			return err
		}
		if !bytes.Equal(got, want.body) {
			t.Fatalf("batch %d has other bytes", i)
		}
	}
	return nil
}

// put writes a file's bytes under a name of its own.
func put(t testing.TB, folder string, raw []byte) string {
	t.Helper()
	path := filepath.Join(folder, "changed.arrow")
	os.Remove(path) // not written over: another file
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
