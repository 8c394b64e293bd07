package arrowipc

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// TestColumnsMatchBatchesOfArrow lays out one column at a time, and looks for the validity bitmap where it should be.
func TestColumnsMatchBatchesOfArrow(t *testing.T) {
	const rows = 100 // of which every third is null
	for _, f := range zoo().Fields() {
		f.Nullable = true
		schema := arrow.NewSchema([]arrow.Field{f}, nil)
		c := mustParse(t, arrowHeader(t, schema)).Layout.Columns[0]
		m, err := ReadMessage(arrowBatch(t, schema, rows), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Batch.Nodes) != c.Node1 || len(m.Batch.Variadic) != c.View1 {
			t.Errorf("%s: %d nodes and %d views, the layout says %+v", f, len(m.Batch.Nodes), len(m.Batch.Variadic), c.Span)
		}
		buffers := len(m.Batch.Buffers)
		for _, n := range m.Batch.Variadic {
			buffers -= int(n)
		}
		if buffers != c.Buf1 {
			t.Errorf("%s: %d buffers, the layout says %+v", f, buffers, c.Span)
		}
		bitmap := false
		if c.OwnBuffers() > 0 { // a bitmap is shorter than anything else could be, even padded to 64 bytes
			first := m.Batch.Buffers[0].Length
			bitmap = first >= (rows+7)/8 && first <= 64
		}
		if bitmap != c.HasValidity() {
			t.Errorf("%s: has a validity bitmap: %t, the layout says %t", f, bitmap, c.HasValidity())
		}
	}
}

// TestPlaces checks positions against the columnar format, written out by hand.
func TestPlaces(t *testing.T) {
	text := &Field{Name: "t", Type: Type{ID: TypeUtf8}}
	view := &Field{Name: "v", Type: Type{ID: TypeBinaryView}}
	l := NewLayout([]*Field{
		node(TypeNull),
		{Name: "m", Type: Type{ID: TypeMap}, Children: []*Field{node(TypeStruct, text, view)}},
		{Name: "d", Type: Type{ID: TypeStruct}, Children: []*Field{text, text}, Dictionary: &Dictionary{IndexBits: 16}},
		{Name: "w", Type: Type{ID: TypeFixedSizeBinary, ByteWidth: 5}},
		view,
	})
	for i, want := range []struct {
		kind  Kind
		width int
		span  Span
	}{
		{KindNull, 0, Span{0, 1, 0, 0, 0, 0}},
		{KindList, 0, Span{1, 5, 0, 8, 0, 1}}, // 2 of the map, 1 of the struct, 3 and 2 of its children
		{KindFixed, 2, Span{5, 6, 8, 10, 1, 1}},
		{KindFixed, 5, Span{6, 7, 10, 12, 1, 1}},
		{KindView, 0, Span{7, 8, 12, 14, 1, 2}},
	} {
		c := l.Columns[i]
		if c.Kind != want.kind || c.Width != want.width || c.Span != want.span {
			t.Errorf("column %d: kind %d, width %d, %+v; want %+v", i, c.Kind, c.Width, c.Span, want)
		}
	}
	if l.Span != (Span{0, 8, 0, 14, 0, 2}) {
		t.Errorf("in all %+v", l.Span)
	}
}
