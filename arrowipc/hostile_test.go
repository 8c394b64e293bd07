package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
)

// tryAll gives bytes to everything that reads bytes from outside. It fails if an error is none of the documented ones,
// or if what is accepted cannot be used.
func tryAll(tb testing.TB, m *Message, hdr []byte) {
	tb.Helper()
	errs := []error{m.Read(hdr, Limits{})}
	_, err := EncapsulatedMessage(hdr, Limits{})
	errs = append(errs, err)
	s, err := ParseSchema(hdr, Limits{})
	errs = append(errs, err)
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrUnsupported) {
			tb.Fatalf("an error without a kind: %v", err)
		}
	}
	if s == nil {
		return
	}
	if d := s.Diff(s); d != "" {
		tb.Fatalf("a schema differs from itself: %s", d)
	}
	var picks []Pick
	for i := len(s.Fields) - 1; i >= 0; i -= 2 {
		pick := Pick{Ordinal: i}
		if f := s.Fields[i]; f.Type.ID == TypeStruct && f.Dictionary == nil && len(f.Children) > 1 {
			pick.Children = []Pick{{Ordinal: 1}}
		}
		picks = append(picks, pick)
	}
	p, err := s.Project(picks)
	if err != nil {
		tb.Fatalf("an accepted schema cannot be projected: %v", err)
	}
	sameAsParsed(tb, p.Schema)
	plain, err := s.WithoutDictionaries(everyDictionary)
	if err != nil {
		tb.Fatalf("an accepted schema cannot be decoded: %v", err)
	}
	sameAsParsed(tb, plain)
}

// headers are valid headers of every kind.
func headers(tb testing.TB) map[string][]byte {
	schema := zoo()
	var h HeaderBuilder
	batch := &RecordBatch{
		Rows: 3, Nodes: []FieldNode{{3, 1}, {3, 0}}, Compression: Zstd, Variadic: []int64{1},
		Buffers: []Buffer{{0, 1}, {8, 24}, {32, 0}, {32, 48}, {80, 5}},
	}
	return map[string][]byte{
		"schema":           arrowHeader(tb, schema),
		"batch":            arrowBatch(tb, schema, 5),
		"compressed batch": arrowBatch(tb, schema, 5, ipc.WithZstd()),
		"our batch":        bytes.Clone(h.RecordBatch(batch, 88, []KeyValue{{"a", "b"}, {"", "\xff"}})),
		"our dictionary":   bytes.Clone(h.DictionaryBatch(7, true, batch, 88)),
	}
}

func TestTruncatedHeaders(t *testing.T) {
	var m Message
	for name, hdr := range headers(t) {
		if err := m.Read(hdr, Limits{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := range hdr {
			tryAll(t, &m, hdr[:n:n])
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	var m Message
	for _, hdr := range headers(t) {
		broken := bytes.Clone(hdr)
		for i := range hdr {
			broken[i] ^= []byte{0x01, 0xFF, 0x04}[i%3] // low bits for offsets and tags, high ones for lengths
			tryAll(t, &m, broken)
			broken[i] = hdr[i]
		}
	}
}

// sharing is a schema of n fields at each of the levels of nesting, where every field vector refers to one field n
// times: small in bytes, n to the power of levels fields for whoever follows the references.
func sharing(n, levels int) []byte {
	b := flatbuffers.NewBuilder(1024)
	name := b.CreateString("x")
	b.StartObject(0)
	structType := b.EndObject()
	var children flatbuffers.UOffsetT
	for range levels {
		b.StartObject(7)
		b.PrependUOffsetTSlot(fieldName, name, 0)
		b.PrependUOffsetTSlot(fieldType, structType, 0)
		b.PrependUOffsetTSlot(fieldChildren, children, 0)
		b.PrependByteSlot(fieldTypeTag, byte(TypeStruct), 0)
		field := b.EndObject()
		same := make([]flatbuffers.UOffsetT, n)
		for i := range same {
			same[i] = field
		}
		children = b.CreateVectorOfTables(same)
	}
	return finishSchema(b, children, 0)
}

// finishSchema ends a flatbuffer as a V5 schema message of the given vectors of fields and custom metadata.
func finishSchema(b *flatbuffers.Builder, fields, metadata flatbuffers.UOffsetT) []byte {
	b.StartObject(4)
	b.PrependUOffsetTSlot(schemaFields, fields, 0)
	b.PrependUOffsetTSlot(schemaMetadata, metadata, 0)
	h := HeaderBuilder{b: b}
	return h.message(HeaderSchema, b.EndObject(), 0, 0)
}

func TestSharedTables(t *testing.T) {
	// To write a field once that is there fifty times is a legal economy.
	s := mustParse(t, sharing(50, 1))
	if len(s.Fields) != 50 {
		t.Errorf("%d fields, not 50", len(s.Fields))
	}
	for _, c := range []struct{ n, levels int }{{2, 60}, {10, 8}, {1000, 3}} {
		hdr := sharing(c.n, c.levels)
		if _, err := ParseSchema(hdr, Limits{}); !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrLimit) {
			t.Errorf("%d fields at each of %d levels in %d bytes: %v", c.n, c.levels, len(hdr), err)
		}
	}
}

func TestSharedStrings(t *testing.T) {
	b := flatbuffers.NewBuilder(1024)
	long := b.CreateString(strings.Repeat("x", 60<<10))
	b.StartObject(2)
	b.PrependUOffsetTSlot(0, long, 0)
	b.PrependUOffsetTSlot(1, long, 0)
	pair := b.EndObject()
	pairs := make([]flatbuffers.UOffsetT, 1000)
	for i := range pairs {
		pairs[i] = pair
	}
	hdr := finishSchema(b, 0, b.CreateVectorOfTables(pairs))
	_, err := ParseSchema(hdr, Limits{})
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "bytes of custom metadata") {
		t.Errorf("120 MB of metadata in %d bytes: %v", len(hdr), err)
	}

	b = flatbuffers.NewBuilder(1024)
	long = b.CreateString(strings.Repeat("x", 60<<10))
	b.StartObject(0)
	null := b.EndObject()
	fields := make([]flatbuffers.UOffsetT, 2000)
	for i := range fields {
		b.StartObject(7)
		b.PrependUOffsetTSlot(fieldName, long, 0)
		b.PrependUOffsetTSlot(fieldType, null, 0)
		b.PrependByteSlot(fieldTypeTag, byte(TypeNull), 0)
		fields[i] = b.EndObject()
	}
	hdr = finishSchema(b, b.CreateVectorOfTables(fields), 0)
	_, err = ParseSchema(hdr, Limits{})
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "bytes of header") {
		t.Errorf("120 MB of names in %d bytes: %v", len(hdr), err)
	}
}

// TestClaimedLengthsAllocateNothing gives vectors lengths that the header does not have.
func TestClaimedLengthsAllocateNothing(t *testing.T) {
	var h HeaderBuilder
	hdr := bytes.Clone(h.RecordBatch(&RecordBatch{Nodes: []FieldNode{{7, 7}}, Compression: Uncompressed}, 0, nil))
	at := bytes.Index(hdr, []byte{1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7})
	if at < 0 {
		t.Fatal("the node vector is not where it should be")
	}
	for _, n := range []uint32{2, 1 << 16, 1 << 28, 1<<31 - 1, 1<<32 - 1} {
		flatbuffers.WriteUint32(hdr[at:], n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadMessage(hdr, Limits{})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%d nodes: %v", n, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%d nodes: %d bytes allocated", n, used)
		}
	}
}

func TestLimits(t *testing.T) {
	fields := make([]*Field, 0, 50)
	for i := range 50 {
		fields = append(fields, &Field{Name: fmt.Sprintf("a column named %d", i), Type: Type{ID: TypeNull}})
	}
	nested := &Field{Name: "leaf", Type: Type{ID: TypeNull}}
	for range 9 {
		nested = &Field{Name: "s", Type: Type{ID: TypeStruct}, Children: []*Field{nested}}
	}
	s, err := BuildSchema(append(fields, nested), []KeyValue{{"key", strings.Repeat("v", 200)}})
	if err != nil {
		t.Fatal(err)
	}
	hdr := s.Message()
	exact := Limits{Fields: 60, Depth: 10, NameBytes: 17, MetadataBytes: 3 + 200 + keyValueCost, HeaderBytes: len(hdr)}
	if _, err := ParseSchema(hdr, exact); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	for name, change := range map[string]func(*Limits){
		" fields":                  func(l *Limits) { l.Fields-- },
		"levels of nested fields":  func(l *Limits) { l.Depth-- },
		"bytes of Field.name":      func(l *Limits) { l.NameBytes-- },
		"bytes of custom metadata": func(l *Limits) { l.MetadataBytes-- },
		"bytes of header":          func(l *Limits) { l.HeaderBytes-- },
	} {
		lim := exact
		change(&lim)
		if _, err := ParseSchema(hdr, lim); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), name) {
			t.Errorf("one over %s: %v", name, err)
		}
		if _, err := ReadMessage(hdr, lim); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), name) {
			t.Errorf("one over %s, as a message: %v", name, err)
		}
	}
}
