package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/flightcache/flightcache/arrowipc"
)

// arrowRecords are batches of some types.
func arrowRecords(t testing.TB) []arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.StructOf(arrow.Field{Name: "w", Type: arrow.BinaryTypes.StringView, Nullable: true}), Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "n", Type: arrow.Null, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var out []arrow.RecordBatch
	for range 2 {
		for i := range 20 {
			value := fmt.Sprintf("a value that is longer than a view %d", i)
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.StringBuilder).Append(value)
			b.Field(2).(*array.StructBuilder).Append(true)
			b.Field(2).(*array.StructBuilder).FieldBuilder(0).(*array.StringViewBuilder).Append(value)
			b.Field(3).AppendNull()
			b.Field(4).AppendNull()
		}
		columns := b.NewRecordBatch().Columns()
		values := array.NewStringBuilder(memory.DefaultAllocator)
		indices := array.NewInt8Builder(memory.DefaultAllocator)
		values.AppendValues([]string{"a", "b", "c"}, nil)
		for i := range 20 {
			indices.Append(int8(i % 3))
		}
		columns[3] = array.NewDictionaryArray(schema.Field(3).Type, indices.NewArray(), values.NewArray())
		out = append(out, array.NewRecordBatch(schema, columns, 20))
	}
	return out
}

// writeArrow writes batches by arrow-go.
func writeArrow(t testing.TB, records []arrow.RecordBatch, opts ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, append(opts, ipc.WithSchema(records[0].Schema()))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range records {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// arrowFiles are files that arrow-go writes.
func arrowFiles(t testing.TB) map[string][]byte {
	t.Helper()
	records := arrowRecords(t)
	return map[string][]byte{
		"plain": writeArrow(t, records),
		"lz4":   writeArrow(t, records, ipc.WithLZ4()),
		"zstd":  writeArrow(t, records, ipc.WithZstd()),
		"slice": writeArrow(t, []arrow.RecordBatch{records[0].NewSlice(3, 9)}),
	}
}

// Files of another program are read, without checksums until their batches are trusted.
func TestForeign(t *testing.T) {
	p := newPool(t, 1)
	files := arrowFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		raw := files[name]
		path := put(t, t.TempDir(), raw)
		if _, err := p.Open(path, arrowipc.Limits{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: opened as a segment: %v", name, err)
		}
		f, err := p.OpenAny(path, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := ipc.NewFileReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if !f.Foreign() || f.Batches() != r.NumRecords() || f.Dictionaries() != 1 || len(f.Schema().Fields) != r.Schema().NumFields() {
			t.Fatalf("%s: %d batches, %d dictionaries of %d fields", name, f.Batches(), f.Dictionaries(), len(f.Schema().Fields))
		}
		if id, uid, facts, err := f.Dictionary(0); err != nil || id != f.Schema().Fields[3].Dictionary.ID || uid != "" || facts.Header.Rows != 3 {
			t.Errorf("%s: dictionary %d %q of %d rows, %v", name, id, uid, facts.Header.Rows, err)
		}
		for i := range f.Batches() {
			rec, err := r.RecordBatchAt(i)
			if err != nil {
				t.Fatal(err)
			}
			facts, err := f.Batch(i)
			if err != nil {
				t.Fatal(err)
			}
			if facts.Header.Rows != rec.NumRows() || facts.Decoded != nil || facts.Statistics != nil || !InOrder(&facts.Header) {
				t.Errorf("%s: batch %d: %+v", name, i, facts)
			}
		}
		if readAll(t, path, p.OpenAny) {
			t.Errorf("%s: it cannot be read", name)
		}
	}
}

// What was trusted is checked from then on.
func TestTrust(t *testing.T) {
	p := newPool(t, 1)
	raw := arrowFiles(t)["plain"]
	path := put(t, t.TempDir(), raw)
	f, err := p.OpenAny(path, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := f.Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	n := len(f.Schema().Fields)
	body := make([]byte, facts.Body)
	values := make([]byte, f.dictionaries[0].body)
	if err := errors.Join(f.ReadBatch(0, &facts.Header, 0, n, body), f.ReadDictionary(0, values)); err != nil {
		t.Fatal(err)
	}
	flip := func(m *message, at int64) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		one := make([]byte, 1)
		at += m.offset + int64(m.header)
		if _, err := file.ReadAt(one, at); err != nil {
			t.Fatal(err)
		}
		one[0] ^= 1
		if _, err := file.WriteAt(one, at); err != nil {
			t.Fatal(err)
		}
	}
	at, length := Range(f.Schema().Layout, &facts.Header, facts.Body, 1, 2)
	for _, trusted := range []bool{false, true} {
		if trusted {
			f.TrustColumn(0, 1, body[at:at+length])
			f.TrustDictionary(0, values)
		}
		flip(f.batches[0], at)
		flip(f.dictionaries[0], 0)
		batch := f.ReadBatch(0, &facts.Header, 0, n, bytes.Clone(body))
		dictionary := f.ReadDictionary(0, bytes.Clone(values))
		if errors.Is(batch, ErrDamaged) != trusted || errors.Is(dictionary, ErrDamaged) != trusted {
			t.Errorf("trusted %t: %v, %v", trusted, batch, dictionary)
		}
		flip(f.batches[0], at)
		flip(f.dictionaries[0], 0)
	}
	if err := f.ReadBatch(0, &facts.Header, 2, 3, make([]byte, 0)); err == nil {
		t.Error("a column of no bytes was read")
	}
	// Another column is not checked still.
	from, _ := Range(f.Schema().Layout, &facts.Header, facts.Body, 2, 3)
	flip(f.batches[0], from)
	if err := f.ReadBatch(0, &facts.Header, 0, n, bytes.Clone(body)); err != nil {
		t.Errorf("a column that was not trusted: %v", err)
	}
	var word [8]byte
	if err := f.Peek(false, 0, word[:], at); err != nil || !bytes.Equal(word[:], body[at:at+8]) {
		t.Errorf("a part of the body: %x, %v", word, err)
	}
	for _, at := range []int64{-1, facts.Body - 7, 1 << 60} {
		if err := f.Peek(false, 0, word[:], at); !errors.Is(err, ErrDamaged) {
			t.Errorf("a part at %d: %v", at, err)
		}
	}
	if err := f.Peek(true, 0, word[:], 0); err != nil || !bytes.Equal(word[:], values[:8]) {
		t.Errorf("a part of the dictionary: %x, %v", word, err)
	}
}

// handmade is a file of messages of which no writer's library would make all.
type handmade struct {
	schema                *arrowipc.Schema
	raw                   []byte
	dictionaries, batches []arrowipc.Block
}

func newHandmade(schema *arrowipc.Schema) *handmade {
	return &handmade{schema: schema, raw: append([]byte(magic+"\x00\x00"), schema.Encapsulated()...)}
}

// message appends a message and gives its place.
func (x *handmade) message(header, body []byte) arrowipc.Block {
	b := arrowipc.Block{Offset: int64(len(x.raw)), Header: int32(prefixBytes + len(header)), Body: int64(len(body))}
	x.raw = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(x.raw, continuation), uint32(len(header)))
	x.raw = append(append(x.raw, header...), body...)
	return b
}

func (x *handmade) file(t testing.TB) []byte {
	t.Helper()
	footer, err := arrowipc.BuildFooter(x.schema, x.dictionaries, x.batches, nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.LittleEndian.AppendUint32(append(x.raw, footer...), uint32(len(footer))), magic...)
}

func TestForeignRefused(t *testing.T) {
	p := newPool(t, 1)
	var stream bytes.Buffer
	records := arrowRecords(t)
	w := ipc.NewWriter(&stream, ipc.WithSchema(records[0].Schema()))
	if err := errors.Join(w.Write(records[0]), w.Close()); err != nil {
		t.Fatal(err)
	}
	schema := variedSchema(t)
	var builder arrowipc.HeaderBuilder
	values := &arrowipc.RecordBatch{Nodes: []arrowipc.FieldNode{{}}, Buffers: make([]arrowipc.Buffer, 3), Compression: arrowipc.Uncompressed}
	// with is a file with dictionaries of these ids, the last of which may be a delta.
	with := func(delta bool, ids ...int64) []byte {
		x := newHandmade(schema)
		for i, id := range ids {
			x.dictionaries = append(x.dictionaries, x.message(builder.DictionaryBatch(id, delta && i == len(ids)-1, values, 0), nil))
		}
		return x.file(t)
	}
	swapped := newHandmade(schema)
	swapped.dictionaries = append(swapped.dictionaries, swapped.message(builder.RecordBatch(values, 0, nil), nil))
	for name, x := range map[string]struct {
		raw  []byte
		want error
		says string
	}{
		"a delta":              {with(true, 7, 3, 7), ErrUnsupported, "delta"},
		"a replacement":        {with(false, 7, 3, 7), ErrUnsupported, "replaced"},
		"an unknown id":        {with(false, 8), ErrDamaged, "id 8"},
		"a batch for a values": {swapped.file(t), ErrDamaged, "another kind"},
		"a stream":             {stream.Bytes(), ErrDamaged, "a stream"},
		"feather":              {append([]byte("FEA1"), make([]byte, 100)...), ErrDamaged, "Feather"},
		"nothing":              {nil, ErrDamaged, "too short"},
		"magic":                {[]byte("ARROW1ARROW1ARROW1ARROW1"), ErrDamaged, "footer"},
	} {
		_, err := p.OpenAny(put(t, t.TempDir(), x.raw), arrowipc.Limits{})
		if !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "changed.arrow") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Batches whose headers are not those of the schema, or not within their bodies, are damage.
func TestForeignBatchRefused(t *testing.T) {
	p := newPool(t, 1)
	schema, err := arrowipc.BuildSchema([]*arrowipc.Field{{Name: "i", Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var builder arrowipc.HeaderBuilder
	good := arrowipc.RecordBatch{
		Rows: 2, Compression: arrowipc.Uncompressed, Nodes: []arrowipc.FieldNode{{Length: 2}},
		Buffers: []arrowipc.Buffer{{Offset: 16}, {Offset: 0, Length: 16}},
	}
	body := make([]byte, 16)
	x := newHandmade(schema)
	add := func(header []byte) { x.batches = append(x.batches, x.message(header, body)) }
	add(builder.RecordBatch(&good, 16, nil))
	twice := good
	twice.Nodes = append(twice.Nodes, arrowipc.FieldNode{Length: 2})
	add(builder.RecordBatch(&twice, 16, nil))
	few := good
	few.Buffers = few.Buffers[:1]
	add(builder.RecordBatch(&few, 16, nil))
	rows := good
	rows.Rows = 3
	add(builder.RecordBatch(&rows, 16, nil))
	far := good
	far.Buffers = []arrowipc.Buffer{{}, {Offset: 8, Length: 16}}
	add(builder.RecordBatch(&far, 24, nil))
	add(builder.DictionaryBatch(1, false, &good, 16))
	add(schema.Message())
	f, err := p.OpenAny(put(t, t.TempDir(), x.file(t)), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := f.Batch(0)
	if err != nil || !InOrder(&facts.Header) {
		t.Errorf("a batch whose empty buffer lies anywhere: %+v, %v", facts.Header, err)
	}
	for i := 1; i < f.Batches(); i++ {
		if _, err := f.Batch(i); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("batch %d", i)) {
			t.Errorf("batch %d: %v", i, err)
		}
	}
}

// Files of metadata version V4 are read too: their unions lose the validity buffer that V5 does not have.
func TestForeignV4(t *testing.T) {
	p := newPool(t, 1)
	long := arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}
	schema, err := arrowipc.BuildSchema([]*arrowipc.Field{
		{Name: "u", Type: arrowipc.Type{ID: arrowipc.TypeUnion}, Children: []*arrowipc.Field{{Name: "a", Type: long}}},
		{Name: "i", Type: long},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &arrowipc.RecordBatch{
		Rows: 2, Compression: arrowipc.Uncompressed, Nodes: []arrowipc.FieldNode{{Length: 2}, {Length: 2}, {Length: 2}},
		Buffers: []arrowipc.Buffer{{Offset: 0, Length: 1}, {Offset: 8, Length: 2}, {Offset: 16}, {Offset: 16, Length: 16}, {Offset: 32}, {Offset: 32, Length: 16}},
	}
	var builder arrowipc.HeaderBuilder
	header := builder.RecordBatch(h, 48, nil)
	root := int(binary.LittleEndian.Uint32(header))
	vtable := root - int(int32(binary.LittleEndian.Uint32(header[root:])))
	header[root+int(binary.LittleEndian.Uint16(header[vtable+4:]))] = arrowipc.VersionV4

	x := newHandmade(schema)
	x.batches = append(x.batches, x.message(header, make([]byte, 48)))
	f, err := p.OpenAny(put(t, t.TempDir(), x.file(t)), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := f.Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	if want := h.Buffers[1:]; !slices.Equal(facts.Header.Buffers, want) || !InOrder(&facts.Header) {
		t.Errorf("its buffers are %+v, want %+v", facts.Header.Buffers, want)
	}
}
