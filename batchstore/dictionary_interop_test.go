package batchstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// streamMessages cuts an IPC stream into headers and bodies.
func streamMessages(t *testing.T, stream []byte) (headers, bodies [][]byte) {
	t.Helper()
	for len(stream) >= 8 {
		n := int(binary.LittleEndian.Uint32(stream[4:]))
		if n == 0 {
			break
		}
		hdr := stream[8 : 8+n]
		m, err := arrowipc.ReadMessage(hdr, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, hdr)
		bodies = append(bodies, stream[8+n:8+n+int(m.BodyLength)])
		stream = stream[8+n+int(m.BodyLength):]
	}
	return headers, bodies
}

// ingestStream puts an IPC stream.
func ingestStream(t *testing.T, s *Store, stream []byte, o IngestOptions) (*arrowipc.Schema, []*Batch, error) {
	t.Helper()
	headers, bodies := streamMessages(t, stream)
	schema, err := arrowipc.ParseSchema(headers[0], arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	in := begin(t, s, schema, o)
	defer in.Abort()
	for i := 1; i < len(headers); i++ {
		m, err := arrowipc.ReadMessage(headers[i], arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Type == arrowipc.HeaderDictionaryBatch {
			err = in.AddDictionary(context.Background(), m, body(t, s, bodies[i]))
		} else {
			err = in.Add(context.Background(), m, body(t, s, bodies[i]))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	batches, err := in.Finish(context.Background())
	return in.Schema(), batches, err
}

// arrowStream writes what a reader sends as an IPC stream.
func arrowStream(t *testing.T, s *Store, stored *arrowipc.Schema, p *arrowipc.Projection, o ReadOptions, batches []*Batch) []byte {
	t.Helper()
	sent := p.Schema
	if o.Decode != nil {
		var err error
		if sent, err = sent.WithoutDictionaries(o.Decode); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	out.Write(sent.Encapsulated())
	r := s.Reader(stored.Layout, p, o)
	defer r.Close()
	for _, b := range batches {
		err := r.Read(b, b.Rows(), func(m *Message) error {
			out.Write(binary.LittleEndian.AppendUint32([]byte{0xFF, 0xFF, 0xFF, 0xFF}, uint32(len(m.Header))))
			out.Write(m.Header)
			out.Write(bytes.Join(m.Body, nil))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	return out.Bytes()
}

// arrowRows reads a stream by arrow-go and renders its rows.
func arrowRows(t *testing.T, stream []byte) []string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := ipc.NewReader(bytes.NewReader(stream), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var rows []string
	for r.Next() {
		rows = append(rows, recordRows(r.RecordBatch())...)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return rows
}

func recordRows(rec arrow.RecordBatch) (rows []string) {
	for i := range int(rec.NumRows()) {
		row := ""
		for _, c := range rec.Columns() {
			row += valueText(c, i) + "|"
		}
		rows = append(rows, row)
	}
	return rows
}

// valueText is a value whatever it is encoded with.
func valueText(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Dictionary:
		if a.IsNull(i) {
			return "-"
		}
		return valueText(a.Dictionary(), a.GetValueIndex(i))
	case *array.List:
		if a.IsNull(i) {
			return "-"
		}
		text := "["
		for lo, hi := a.ValueOffsets(i); lo < hi; lo++ {
			text += valueText(a.ListValues(), int(lo)) + " "
		}
		return text + "]"
	}
	if a.IsNull(i) {
		return "-"
	}
	return a.ValueStr(i)
}

// dictionaryOf is an array of a dictionary type.
func dictionaryOf(t *testing.T, values, indices string) arrow.Array {
	t.Helper()
	dt := &arrow.DictionaryType{IndexType: i8, ValueType: str}
	v, _, err := array.FromJSON(memory.DefaultAllocator, str, bytes.NewReader([]byte(values)))
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := array.FromJSON(memory.DefaultAllocator, i8, bytes.NewReader([]byte(indices)))
	if err != nil {
		t.Fatal(err)
	}
	return array.NewDictionaryArray(dt, k, v)
}

// TestStreamsOfArrowGo puts what arrow-go's writer makes of growing and of changing dictionaries, with deltas and without,
// and has its reader read ours.
func TestStreamsOfArrowGo(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: i8, ValueType: str}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: dt, Nullable: true}, {Name: "n", Type: i32}, {Name: "l", Type: arrow.ListOf(dt), Nullable: true},
	}, nil)
	record := func(n int, a, inList arrow.Array) arrow.RecordBatch {
		b := array.NewInt32Builder(memory.DefaultAllocator)
		offsets := ints(4, 0)
		for i := range a.Len() {
			b.Append(int32(n + i))
			offsets = append(offsets, ints(4, int64(i+1))...)
		}
		list := array.NewListData(array.NewData(schema.Field(2).Type, a.Len(),
			[]*memory.Buffer{nil, memory.NewBufferBytes(offsets)}, []arrow.ArrayData{inList.Data()}, 0, 0))
		return array.NewRecordBatch(schema, []arrow.Array{a, b.NewArray(), list}, int64(a.Len()))
	}
	for name, records := range map[string][]arrow.RecordBatch{
		"growing": {
			record(0, dictionaryOf(t, `["a","b"]`, `[0,1,null]`), dictionaryOf(t, `["x"]`, `[0,null,0]`)),
			record(3, dictionaryOf(t, `["a","b","c"]`, `[2,1,0]`), dictionaryOf(t, `["x","y"]`, `[1,0,1]`)),
			record(6, dictionaryOf(t, `["a","b","c","d"]`, `[3]`), dictionaryOf(t, `["x","y"]`, `[1]`)),
		},
		"changing": {
			record(0, dictionaryOf(t, `["a","b"]`, `[0,1,null]`), dictionaryOf(t, `["x"]`, `[0,null,0]`)),
			record(3, dictionaryOf(t, `["c","d"]`, `[0,1,1]`), dictionaryOf(t, `["x"]`, `[0,null,0]`)),
			record(6, dictionaryOf(t, `["b"]`, `[0,null]`), dictionaryOf(t, `["y","x"]`, `[0,1]`)),
		},
		"all null": {record(0, dictionaryOf(t, `[]`, `[null,null]`), dictionaryOf(t, `[]`, `[null,null]`))},
		"empty":    {},
	} {
		for _, deltas := range []bool{false, true} {
			var stream bytes.Buffer
			w := ipc.NewWriter(&stream, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(deltas))
			var want []string
			for _, r := range records {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
				want = append(want, recordRows(r)...)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for _, o := range []IngestOptions{
				{Codec: compress.None}, {Codec: compress.Zstd, KeepBatches: true}, {Codec: compress.LZ4, DecodeDictionaries: true},
			} {
				s := newStore(t, Options{})
				stored, batches, err := ingestStream(t, s, stream.Bytes(), o)
				if err != nil {
					t.Fatalf("%s, deltas %t: %v", name, deltas, err)
				}
				for _, ro := range []ReadOptions{{Encode: compress.None}, {Encode: compress.Zstd}, {Encode: compress.None, Decode: func(int64) bool { return true }}} {
					sent := arrowStream(t, s, stored, allOf(t, stored), ro, batches)
					if got := arrowRows(t, sent); !slices.Equal(got, want) {
						t.Errorf("%s, deltas %t, %+v, decoded %t:\n got %q\nwant %q", name, deltas, o, ro.Decode != nil, got, want)
					}
				}
				releaseAll(batches)
				noDictionaries(t, s)
			}
		}
	}
}

// TestDictionariesOfAllTypes reads dictionaries of every type by arrow-go, kept and decoded.
func TestDictionariesOfAllTypes(t *testing.T) {
	r := seeded(t)
	for _, x := range shapes {
		schema := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "c", x.dt)))
		m := newDictModel(t, r, schema)
		s := newStore(t, Options{})
		in := begin(t, s, schema, IngestOptions{Codec: compress.None})
		values := withTrueNulls(schema.Layout.Dictionaries[0].Values, m.values(0, 9))
		m.set(0, false, values)
		if err := addDictionary(t, in, 1, false, values, compress.None); err != nil {
			t.Fatal(err)
		}
		b := randomPlain(r, schema.Layout, 20)
		putIndices(r, b, m.leaves, m.limits())
		if err := addBatch(t, in, b, compress.None); err != nil {
			t.Fatal(err)
		}
		batches, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p := allOf(t, schema)
		want := m.oracle(p, false)
		decoded := arrowRows(t, arrowStream(t, s, schema, p, ReadOptions{Encode: compress.None, Decode: func(int64) bool { return true }}, batches))
		kept := decoded
		if !withoutBitmap(schema.Layout.Dictionaries[0].Values.Columns) {
			// arrow-go's reader (18.8) takes dictionary batches for ones of an old metadata version, in which all types
			// but null have a bitmap.
			kept = arrowRows(t, arrowStream(t, s, schema, p, ReadOptions{Encode: compress.None}, batches))
		}
		if len(kept) != 20 || len(decoded) != 20 {
			t.Errorf("%s: %d and %d rows", x.name, len(kept), len(decoded))
			continue
		}
		for i := range want {
			// What is null within values that have no bitmap of their own is written in more than one way.
			if kept[i] != decoded[i] && kept[i] != "-|" {
				t.Errorf("%s, row %d: kept %s, decoded %s, put %s", x.name, i, kept[i], decoded[i], want[i])
			}
			if want[i] == "-|" && kept[i] != "-|" && schema.Layout.Dictionaries[0].Values.Columns[0].HasValidity() {
				t.Errorf("%s, row %d: %s is read of a null", x.name, i, kept[i])
			}
		}
		releaseAll(batches)
	}
}

func withoutBitmap(columns []*arrowipc.Column) bool {
	return slices.ContainsFunc(columns, func(c *arrowipc.Column) bool {
		id := c.Field.Type.ID
		return id == arrowipc.TypeUnion || id == arrowipc.TypeRunEndEncoded || withoutBitmap(c.Children)
	})
}
