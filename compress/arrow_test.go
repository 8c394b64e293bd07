package compress

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
)

// sampleBatch is a record batch with nulls, strings, noise that stays raw, an empty list column and a bool.
func sampleBatch(t *testing.T) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "noise", Type: arrow.PrimitiveTypes.Uint8},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, n := range noise(30_000) {
		if i%7 == 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		b.Field(1).(*array.StringBuilder).Append(string(itoa(i)))
		b.Field(2).(*array.Uint8Builder).Append(n)
		b.Field(3).AppendNull()
		b.Field(4).(*array.BooleanBuilder).Append(i%3 == 0)
	}
	return b.NewRecordBatch()
}

// ipcBatch is one record batch in a stream that arrow-go wrote.
type ipcBatch struct {
	stream  []byte
	meta    int // where its metadata starts in stream
	metaLen int
	buffers int // where the vector of its Buffer structs (offset and length, int64 each) starts in stream
	n       int // how many there are
	body    int // where the body starts in stream
}

// writeBatch writes batch as a stream and finds it there again.
func writeBatch(t *testing.T, batch arrow.RecordBatch, options ...ipc.Option) ipcBatch {
	t.Helper()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append(options, ipc.WithSchema(batch.Schema()))...)
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := ipcBatch{stream: b.Bytes()}
	schemaLen := int(binary.LittleEndian.Uint32(f.stream[4:]))
	f.meta = 8 + schemaLen + 8
	f.metaLen = int(binary.LittleEndian.Uint32(f.stream[f.meta-4:]))
	f.body = f.meta + f.metaLen

	meta := f.stream[f.meta:f.body]
	message := flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	var header flatbuffers.Table
	message.Union(&header, flatbuffers.UOffsetT(message.Offset(8)))
	slot := flatbuffers.UOffsetT(header.Offset(8))
	f.buffers = f.meta + int(header.Vector(slot))
	f.n = header.VectorLen(slot)
	return f
}

// buffer returns the bytes of buffer i.
func (f ipcBatch) buffer(i int) []byte {
	at := f.stream[f.buffers+16*i:]
	off, n := binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])
	return f.stream[f.body:][off : off+n]
}

// withBuffers returns the stream with other buffers in the batch's place.
func (f ipcBatch) withBuffers(buffers [][]byte) []byte {
	head := bytes.Clone(f.stream[:f.body])
	var body []byte
	for i, b := range buffers {
		at := head[f.buffers+16*i:]
		binary.LittleEndian.PutUint64(at, uint64(len(body)))
		binary.LittleEndian.PutUint64(at[8:], uint64(len(b)))
		body = append(body, b...)
		body = append(body, make([]byte, -len(b)&7)...)
	}
	meta := head[f.meta:]
	message := flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	message.MutateInt64(message.Pos+flatbuffers.UOffsetT(message.Offset(10)), int64(len(body)))
	end := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
	return append(append(head, body...), end...)
}

// Both ways with arrow-go: its compressed buffers decode to its plain ones, and it reads a batch whose buffers are ours.
func TestArrowGo(t *testing.T) {
	p := newPool(t, Options{})
	batch := sampleBatch(t)
	defer batch.Release()
	plain := writeBatch(t, batch)
	for c, option := range map[Codec]ipc.Option{LZ4: ipc.WithLZ4(), Zstd: ipc.WithZstd()} {
		theirs := writeBatch(t, batch, option)
		if theirs.n != plain.n || plain.n != 13 {
			t.Fatalf("%v: %d buffers, plain %d, want 13", c, theirs.n, plain.n)
		}
		var ours [][]byte
		raws := 0
		for i := range plain.n {
			want := plain.buffer(i)
			got, err := p.DecodeLimit(theirs.buffer(i), c, 1<<20)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v: buffer %d: %d bytes, %v; want %d", c, i, len(got), err, len(want))
			}
			ours = append(ours, mustAppend(t, p, nil, want, way{c, 0}))
			if _, raw := Raw(ours[i]); raw {
				raws++
			}
		}
		if raws == 0 {
			t.Errorf("%v: no buffer is stored raw", c)
		}
		r, err := ipc.NewReader(bytes.NewReader(theirs.withBuffers(ours)))
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() || !array.RecordEqual(r.RecordBatch(), batch) {
			t.Errorf("%v: arrow-go does not read our buffers: %v", c, r.Err())
		}
		if r.Next() || r.Err() != nil {
			t.Errorf("%v: after the batch: %v", c, r.Err())
		}
		r.Release()
	}
}
