package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowFooter is the footer of a file that arrow-go writes.
func arrowFooter(tb testing.TB, schema *arrow.Schema) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	raw := out.Bytes()
	end := len(raw) - 10
	return raw[end-int(binary.LittleEndian.Uint32(raw[end:])) : end]
}

func TestFooterRoundTrip(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	dictionaries := []Block{{Offset: 8, Header: 120, Body: 0}}
	batches := []Block{{Offset: 128, Header: 64, Body: 1 << 40}, {Offset: 1<<40 + 192, Header: math.MaxInt32, Body: math.MaxInt64 >> 1}}
	meta := []KeyValue{{"a", "0123"}, {"", ""}, {"a", strings.Repeat("x", 1000)}}
	for _, x := range []struct {
		dictionaries, batches []Block
		meta                  []KeyValue
	}{{}, {dictionaries, batches, meta}, {nil, batches, nil}} {
		raw, err := BuildFooter(s, x.dictionaries, x.batches, x.meta)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw)%8 != 0 {
			t.Errorf("a footer of %d bytes", len(raw))
		}
		f, err := ReadFooter(raw, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.Dictionaries, x.dictionaries) || !slices.Equal(f.Batches, x.batches) || !slices.Equal(f.Metadata, x.meta) {
			t.Errorf("read %+v, want %+v", f, x)
		}
		for i, kv := range f.Metadata {
			if at := f.ValueAt(i); string(raw[at:at+len(kv.Value)]) != kv.Value {
				t.Errorf("value %d is not at %d", i, at)
			}
		}
		got, err := f.Schema()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Fields, s.Fields) || !reflect.DeepEqual(got.Metadata, s.Metadata) {
			t.Error("the schema is another")
		}
		sameAsParsed(t, got)
		if !arrowRead(t, got).Equal(arrowRead(t, s)) {
			t.Error("arrow-go reads another schema")
		}
	}
	if b := batches[1]; b.End() != b.Offset+int64(b.Header)+b.Body {
		t.Errorf("the block ends at %d", b.End())
	}
}

// Footers that arrow-go writes are read.
func TestArrowFooter(t *testing.T) {
	f, err := ReadFooter(arrowFooter(t, zoo()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if want := mustParse(t, arrowHeader(t, zoo())); s.Diff(want) != "" || !reflect.DeepEqual(s.Metadata, want.Metadata) {
		t.Errorf("another schema: %s", s.Diff(want))
	}
}

func TestFooterRefused(t *testing.T) {
	s := mustParse(t, arrowHeader(t, arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)))
	build := func(batches ...Block) []byte {
		raw, err := BuildFooter(s, nil, batches, []KeyValue{{"key", strings.Repeat("v", 5000)}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	v3 := build()
	root := int(binary.LittleEndian.Uint32(v3))
	vtable := root - int(int32(binary.LittleEndian.Uint32(v3[root:])))
	v3[root+int(binary.LittleEndian.Uint16(v3[vtable+4:]))] = 2
	none := bytes.Clone(build())
	root = int(binary.LittleEndian.Uint32(none))
	vtable = root - int(int32(binary.LittleEndian.Uint32(none[root:])))
	binary.LittleEndian.PutUint16(none[vtable+6:], 0)
	for name, x := range map[string]struct {
		raw  []byte
		lim  Limits
		want error
	}{
		"no bytes":             {nil, Limits{}, ErrMalformed},
		"V3":                   {v3, Limits{}, ErrUnsupported},
		"a negative offset":    {build(Block{Offset: -1}), Limits{}, ErrMalformed},
		"a negative header":    {build(Block{Header: -1}), Limits{}, ErrMalformed},
		"a negative body":      {build(Block{Body: -1}), Limits{}, ErrMalformed},
		"an end that overflow": {build(Block{Offset: math.MaxInt64 - 10, Header: 10, Body: 1}), Limits{}, ErrMalformed},
		"much metadata":        {build(), Limits{MetadataBytes: 5000}, ErrLimit},
		"many bytes":           {build(), Limits{HeaderBytes: 5000}, ErrLimit},
	} {
		if _, err := ReadFooter(x.raw, x.lim); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := ReadFooter(none, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Schema(); !errors.Is(err, ErrMalformed) {
		t.Errorf("a footer without a schema gives %v", err)
	}
	if _, err := BuildFooter(s, nil, nil, []KeyValue{{Value: string(make([]byte, maxFooterBytes))}}); !errors.Is(err, ErrLimit) {
		t.Errorf("a footer that is too large: %v", err)
	}
}

// readAnyFooter reads bytes as a footer and uses what is accepted.
func readAnyFooter(t testing.TB, raw []byte) {
	t.Helper()
	f, err := ReadFooter(raw, Limits{})
	if err == nil {
		for i, kv := range f.Metadata {
			if at := f.ValueAt(i); string(raw[at:at+len(kv.Value)]) != kv.Value {
				t.Fatalf("value %d is not at %d", i, at)
			}
		}
		for _, b := range append(f.Dictionaries, f.Batches...) {
			if b.End() < b.Offset {
				t.Fatalf("block %+v ends before it begins", b)
			}
		}
		var s *Schema
		if s, err = f.Schema(); err == nil {
			if raw, err := BuildFooter(s, f.Dictionaries, f.Batches, f.Metadata); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			} else if _, err := ReadFooter(raw, Limits{HeaderBytes: 1 << 30, MetadataBytes: 1 << 30}); err != nil {
				t.Fatalf("what was read and written is refused: %v", err)
			}
		}
	}
	if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrUnsupported) {
		t.Fatalf("an error without a kind: %v", err)
	}
}

func TestDamagedFooters(t *testing.T) {
	raw := arrowFooter(t, zoo())
	for n := range raw {
		readAnyFooter(t, raw[:n:n])
		broken := bytes.Clone(raw)
		broken[n] ^= []byte{0x01, 0xFF, 0x04}[n%3]
		readAnyFooter(t, broken)
	}
}

func FuzzReadFooter(f *testing.F) {
	for _, x := range zoo().Fields() {
		f.Add(arrowFooter(f, arrow.NewSchema([]arrow.Field{x}, nil)))
	}
	s := mustParse(f, arrowHeader(f, arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)))
	raw, err := BuildFooter(s, []Block{{8, 64, 64}}, []Block{{136, 64, 64}}, []KeyValue{{"k", "v"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) { readAnyFooter(t, raw) })
}
