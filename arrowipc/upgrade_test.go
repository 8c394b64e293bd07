package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// asV4 is a message as a writer of metadata version V4 gives it, as far as its version goes.
func asV4(t testing.TB, hdr []byte) []byte {
	t.Helper()
	root, err := verify(hdr, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	at, ok := root.at(messageVersion)
	if !ok {
		t.Fatal("there is no version")
	}
	old := bytes.Clone(hdr)
	old[at] = versionV4
	return old
}

func TestSchemaOfV4(t *testing.T) {
	for name, c := range map[string]struct {
		schema *arrow.Schema
		union  bool
	}{
		"without unions": {arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}}, nil), false},
		"with unions":    {zoo(), true},
		"with a union below": {arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.SparseUnionOf(
			[]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, []arrow.UnionTypeCode{3}))}}, nil), true},
	} {
		hdr := arrowHeader(t, c.schema)
		s, old := mustParse(t, hdr), mustParse(t, asV4(t, hdr))
		if !reflect.DeepEqual(old.Fields, s.Fields) || !reflect.DeepEqual(old.Metadata, s.Metadata) || old.Layout.Span != s.Layout.Span {
			t.Errorf("%s: another schema than that of V5", name)
		}
		if back := arrowRead(t, old); !back.Equal(c.schema) || !back.Metadata().Equal(c.schema.Metadata()) {
			t.Errorf("%s: arrow-go reads another schema", name)
		}
		version := old.root.int16(messageVersion, 0)
		if c.union && version != versionV5 {
			t.Errorf("%s: a union is kept in a message of V%d", name, version+1)
		}
		if !c.union && !bytes.Equal(old.Message(), asV4(t, hdr)) {
			t.Errorf("%s: the message is not kept as it came", name)
		}
		if len(old.Encapsulated())%8 != 0 {
			t.Errorf("%s: encapsulated in %d bytes", name, len(old.Encapsulated()))
		}
		sameAsParsed(t, old)
	}
}

// buffersOf numbers the buffers that a batch of columns has, variadic ones included, and with the validity of unions and run ends as V4 has
// it: -1 marks those.
func buffersOf(columns []*Column, variadic []int64, old bool) (out []int64) {
	view, next := 0, int64(0)
	var walk func(c *Column)
	walk = func(c *Column) {
		n := int64(c.OwnBuffers())
		if c.Kind == KindView {
			n += variadic[view]
			view++
		}
		if old && (c.Kind == KindSparseUnion || c.Kind == KindDenseUnion || c.Kind == KindRunEnd) {
			out = append(out, -1)
		}
		for range n {
			out = append(out, next)
			next++
		}
		for _, child := range c.Children {
			walk(child)
		}
	}
	for _, c := range columns {
		walk(c)
	}
	return out
}

func batchOf(l *Layout, numbers, variadic []int64) *RecordBatch {
	b := &RecordBatch{Rows: 1, Variadic: variadic, Nodes: make([]FieldNode, l.Node1)}
	for _, n := range numbers {
		b.Buffers = append(b.Buffers, Buffer{Offset: n})
	}
	return b
}

// TestUpgrade removes the validity buffers of unions, whatever lies around them.
func TestUpgrade(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	view, union := func() *Field { return node(TypeUtf8View) }, func(children ...*Field) *Field {
		f := node(TypeUnion, children...)
		f.Type.Dense = r.IntN(2) == 0
		return f
	}
	for name, fields := range map[string][]*Field{
		"none":         {node(TypeUtf8), view()},
		"alone":        {union()},
		"among views":  {view(), union(view(), node(TypeUtf8)), view()},
		"within each":  {union(union(node(TypeUtf8), view()), view()), node(TypeList, union(view()))},
		"after each":   {union(view()), union(view()), union()},
		"run ends":     {node(TypeRunEndEncoded, &Field{Type: Type{ID: TypeInt, BitWidth: 32, Signed: true}}, union(view())), node(TypeNull)},
		"dictionaries": {dictionary(1, union(view())), union(dictionary(2, union(view())))},
	} {
		s, err := BuildSchema(fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			variadic := make([]int64, s.Layout.View1)
			for i := range variadic {
				variadic[i] = r.Int64N(4)
			}
			old := buffersOf(s.Layout.Columns, variadic, true)
			b := batchOf(s.Layout, old, variadic)
			if err := s.Layout.Upgrade(b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := batchOf(s.Layout, buffersOf(s.Layout.Columns, variadic, false), variadic)
			if fmt.Sprint(b.Buffers) != fmt.Sprint(want.Buffers) {
				t.Fatalf("%s, variadic %v: got %v, want %v", name, variadic, b.Buffers, want.Buffers)
			}
			if !slices.Contains(old, -1) {
				continue
			}
			for what, change := range map[string]func(b *RecordBatch){
				"a node less":     func(b *RecordBatch) { b.Nodes = b.Nodes[1:] },
				"a buffer less":   func(b *RecordBatch) { b.Buffers = b.Buffers[1:] },
				"a buffer more":   func(b *RecordBatch) { b.Buffers = append(b.Buffers, Buffer{}) },
				"a variadic more": func(b *RecordBatch) { b.Variadic = append(b.Variadic, 0) },
				"no nodes":        func(b *RecordBatch) { b.Nodes, b.Buffers, b.Variadic = nil, nil, nil },
			} {
				b := batchOf(s.Layout, old, variadic)
				change(b)
				if err := s.Layout.Upgrade(b); !errors.Is(err, ErrMalformed) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
	}
}

// TestUpgradeRefusesNulls names the union that has nulls itself.
func TestUpgradeRefusesNulls(t *testing.T) {
	u := node(TypeUnion, node(TypeUtf8))
	u.Name = "u"
	top := node(TypeStruct, u)
	top.Name = "top"
	s, err := BuildSchema([]*Field{node(TypeUtf8), top}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf(s.Layout, buffersOf(s.Layout.Columns, nil, true), nil)
	b.Nodes[s.Layout.Columns[1].Children[0].Node0] = FieldNode{Length: 1, Nulls: 1}
	if err := s.Layout.Upgrade(b); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), `"top.u": 1 null`) {
		t.Errorf("%v", err)
	}
}

// TestExperimentalCompression refuses what Arrow 0.17 wrote, whose buffers would be read as plain ones.
func TestExperimentalCompression(t *testing.T) {
	var h HeaderBuilder
	meta := []KeyValue{{"other", "x"}, {"ARROW:experimental_compression", "lz4"}}
	hdr := h.RecordBatch(&RecordBatch{Compression: Uncompressed}, 0, meta)
	if _, err := ReadMessage(hdr, Limits{}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "ARROW:experimental_compression") {
		t.Errorf("%v", err)
	}
	hdr = h.RecordBatch(&RecordBatch{Compression: Uncompressed}, 0, meta[:1])
	if _, err := ReadMessage(hdr, Limits{}); err != nil {
		t.Errorf("other metadata: %v", err)
	}
}

// TestDepthNamesField says in which field a schema nests too deep.
func TestDepthNamesField(t *testing.T) {
	deep := func(levels int) *arrow.Schema {
		f := arrow.Field{Name: fmt.Sprint(levels), Type: arrow.PrimitiveTypes.Int8}
		for i := levels - 1; i > 0; i-- {
			f = arrow.Field{Name: fmt.Sprint(i), Type: arrow.StructOf(f)}
		}
		return arrow.NewSchema([]arrow.Field{{Name: "flat", Type: arrow.PrimitiveTypes.Int8}, f}, nil)
	}
	s := mustParse(t, arrowHeader(t, deep(DefaultDepth)))
	sameAsParsed(t, s)
	_, err := ParseSchema(arrowHeader(t, deep(DefaultDepth+1)), Limits{})
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), `in field "1.2.3.4.`) || strings.Contains(err.Error(), "flat") {
		t.Errorf("%v", err)
	}
	_, err = ParseSchema(arrowHeader(t, deep(9)), Limits{Fields: 5})
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), `in field "1.2.3.4"`) {
		t.Errorf("%v", err)
	}
}
