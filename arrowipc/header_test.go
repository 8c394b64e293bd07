package arrowipc

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"pgregory.net/rapid"
)

// drawBatch draws a record batch that is legal in a body of so many bytes.
func drawBatch(t *rapid.T, body int64) *RecordBatch {
	b := &RecordBatch{Rows: rapid.Int64Range(0, math.MaxInt64).Draw(t, "rows")}
	b.Compression = rapid.SampledFrom([]Compression{Uncompressed, LZ4Frame, Zstd}).Draw(t, "compression")
	for range rapid.IntRange(0, 20).Draw(t, "nodes") {
		length := rapid.Int64Range(0, math.MaxInt64).Draw(t, "length")
		b.Nodes = append(b.Nodes, FieldNode{Length: length, Nulls: rapid.Int64Range(0, length).Draw(t, "nulls")})
	}
	for range rapid.IntRange(0, 40).Draw(t, "buffers") {
		offset := rapid.Int64Range(0, body).Draw(t, "offset")
		b.Buffers = append(b.Buffers, Buffer{Offset: offset, Length: rapid.Int64Range(0, body-offset).Draw(t, "bytes")})
	}
	left := int64(len(b.Buffers))
	for range rapid.IntRange(0, 5).Draw(t, "views") {
		n := rapid.Int64Range(0, left).Draw(t, "variadic")
		b.Variadic = append(b.Variadic, n)
		left -= n
	}
	return b
}

// sameBatch compares batches, in which nil and empty slices are the same.
func sameBatch(a, b *RecordBatch) bool {
	same := a.Rows == b.Rows && a.Compression == b.Compression &&
		len(a.Nodes) == len(b.Nodes) && len(a.Buffers) == len(b.Buffers) && len(a.Variadic) == len(b.Variadic)
	for i := 0; same && i < len(a.Nodes); i++ {
		same = a.Nodes[i] == b.Nodes[i]
	}
	for i := 0; same && i < len(a.Buffers); i++ {
		same = a.Buffers[i] == b.Buffers[i]
	}
	for i := 0; same && i < len(a.Variadic); i++ {
		same = a.Variadic[i] == b.Variadic[i]
	}
	return same
}

// TestHeadersRoundTrip writes headers with one builder and reads them into one message, so that what is used again is
// exercised too.
func TestHeadersRoundTrip(t *testing.T) {
	var h HeaderBuilder
	var m Message
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.Int64Range(0, math.MaxInt64).Draw(t, "body")
		b := drawBatch(t, body)
		var hdr []byte
		want := Message{Version: versionV5, BodyLength: body}
		if rapid.Bool().Draw(t, "dictionary") {
			want.Type = HeaderDictionaryBatch
			want.Dictionary = rapid.Int64().Draw(t, "id")
			want.Delta = rapid.Bool().Draw(t, "delta")
			hdr = h.DictionaryBatch(want.Dictionary, want.Delta, b, body)
		} else {
			want.Type = HeaderRecordBatch
			for range rapid.IntRange(0, 3).Draw(t, "pairs") {
				want.Metadata = append(want.Metadata, KeyValue{rapid.String().Draw(t, "key"), rapid.String().Draw(t, "value")})
			}
			hdr = h.RecordBatch(b, body, want.Metadata)
		}
		if err := m.Read(hdr, Limits{}); err != nil {
			t.Fatal(err)
		}
		if !sameBatch(m.Batch, b) {
			t.Fatalf("read %+v, wrote %+v", m.Batch, b)
		}
		got := m
		got.Batch = nil
		if len(got.Metadata) == 0 {
			got.Metadata = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v, wrote %+v", got, want)
		}
		checkAlignment(t, hdr)
	})
}

// checkAlignment fails unless every value of a batch's header is aligned in relation to the header's start.
func checkAlignment(tb rapid.TB, hdr []byte) {
	tb.Helper()
	if len(hdr)%8 != 0 {
		tb.Fatalf("a header of %d bytes", len(hdr))
	}
	root, err := verify(hdr, Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	aligned := func(what string, at, align int) {
		if at%align != 0 {
			tb.Fatalf("%s is at byte %d", what, at)
		}
	}
	scalars := func(v view, t *table) {
		aligned(t.name, int(v.t.Pos), 4)
		for i, s := range t.slots {
			if at, ok := v.at(i); ok {
				aligned(t.name+"."+s.name, int(at), s.inline())
			}
		}
	}
	scalars(root, messageTable)
	batch, _ := root.table(messageHeader)
	if HeaderType(root.byte(messageHeaderType, 0)) == HeaderDictionaryBatch {
		scalars(batch, dictionaryBatchTable)
		batch, _ = batch.table(dictionaryData)
	}
	scalars(batch, recordBatchTable)
	for _, slot := range []int{batchNodes, batchBuffers, batchVariadic} {
		if _, ok := batch.at(slot); ok {
			start, _ := batch.vector(slot)
			aligned(recordBatchTable.slots[slot].name, start, 8)
		}
	}
}

// TestRewrittenHeadersReadInArrow replaces the headers of a stream of arrow-go's by ones of ours.
func TestRewrittenHeadersReadInArrow(t *testing.T) {
	schema := zoo()
	for name, opts := range map[string][]ipc.Option{"plain": nil, "zstd": {ipc.WithZstd()}, "lz4": {ipc.WithLZ4()}} {
		hdr := arrowBatch(t, schema, 10, opts...)
		m, err := ReadMessage(hdr, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var h HeaderBuilder
		again, err := ReadMessage(h.RecordBatch(m.Batch, m.BodyLength, m.Metadata), Limits{})
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s: %v: read\n%+v, not\n%+v", name, err, again, m)
		}
		if want := map[string]Compression{"plain": Uncompressed, "zstd": Zstd, "lz4": LZ4Frame}[name]; m.Batch.Compression != want {
			t.Errorf("%s: compression %d", name, m.Batch.Compression)
		}
	}
	var h HeaderBuilder
	var stream bytes.Buffer
	empty := arrow.NewSchema(nil, nil)
	s := mustParse(t, arrowHeader(t, empty))
	stream.Write(s.Encapsulated())
	row := h.RecordBatch(&RecordBatch{Rows: 12, Compression: Uncompressed}, 0, []KeyValue{{"k", "v"}})
	stream.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF, byte(len(row)), 0, 0, 0})
	stream.Write(row)
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() || r.RecordBatch().NumRows() != 12 {
		t.Errorf("a batch without columns is not read: %v", r.Err())
	}
}

func TestIllegalBatches(t *testing.T) {
	legal := func() *RecordBatch {
		return &RecordBatch{
			Rows: 1, Nodes: []FieldNode{{1, 0}}, Buffers: []Buffer{{0, 0}, {0, 8}}, Variadic: []int64{1, 1},
			Compression: Uncompressed,
		}
	}
	const top = math.MaxInt64
	for name, c := range map[string]struct {
		change func(*RecordBatch)
		body   int64
		want   error
		says   string
	}{
		"legal":                 {func(b *RecordBatch) {}, 8, nil, ""},
		"negative rows":         {func(b *RecordBatch) { b.Rows = -1 }, 8, ErrMalformed, "rows"},
		"negative length":       {func(b *RecordBatch) { b.Nodes[0].Length = -1 }, 8, ErrMalformed, "node 0"},
		"negative nulls":        {func(b *RecordBatch) { b.Nodes[0].Nulls = -1 }, 8, ErrMalformed, "node 0"},
		"more nulls than rows":  {func(b *RecordBatch) { b.Nodes[0].Nulls = 2 }, 8, ErrMalformed, "node 0"},
		"negative offset":       {func(b *RecordBatch) { b.Buffers[1].Offset = -8 }, 8, ErrMalformed, "buffer 1"},
		"negative bytes":        {func(b *RecordBatch) { b.Buffers[1].Length = -8 }, 8, ErrMalformed, "buffer 1"},
		"end beyond the body":   {func(b *RecordBatch) {}, 7, ErrMalformed, "buffer 1"},
		"begin beyond the body": {func(b *RecordBatch) { b.Buffers[1] = Buffer{9, 0} }, 8, ErrMalformed, "buffer 1"},
		"sum that overflows":    {func(b *RecordBatch) { b.Buffers[1] = Buffer{top, top} }, top, ErrMalformed, "buffer 1"},
		"negative variadic":     {func(b *RecordBatch) { b.Variadic[0] = -1 }, 8, ErrMalformed, "variadic count 0"},
		"huge variadic":         {func(b *RecordBatch) { b.Variadic[1] = top }, 8, ErrMalformed, "variadic count 1"},
		"too many variadic":     {func(b *RecordBatch) { b.Variadic[1] = 2 }, 8, ErrMalformed, "variadic count 1"},
		"unknown codec":         {func(b *RecordBatch) { b.Compression = 2 }, 8, ErrUnsupported, "codec 2"},
		"negative codec":        {func(b *RecordBatch) { b.Compression = -2 }, 8, ErrUnsupported, "codec -2"},
		"negative body":         {func(b *RecordBatch) {}, -1, ErrMalformed, "body"},
	} {
		b := legal()
		c.change(b)
		var h HeaderBuilder
		for kind, hdr := range map[string][]byte{
			"record batch":     bytes.Clone(h.RecordBatch(b, c.body, nil)),
			"dictionary batch": bytes.Clone(h.DictionaryBatch(1, false, b, c.body)),
		} {
			_, err := ReadMessage(hdr, Limits{})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (err != nil && !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	hdr := arrowBatch(t, zoo(), 10, ipc.WithZstd())
	var h HeaderBuilder
	var m Message
	work := func() {
		if err := m.Read(hdr, Limits{}); err != nil {
			t.Fatal(err)
		}
		h.RecordBatch(m.Batch, m.BodyLength, nil)
		h.DictionaryBatch(1, false, m.Batch, m.BodyLength)
	}
	work()
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations to read a header and write two", n)
	}
}
