package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	flatbuffers "github.com/google/flatbuffers/go"
	"pgregory.net/rapid"
)

// sameAsParsed fails unless a made schema says of itself what its message says.
func sameAsParsed(tb rapid.TB, s *Schema) {
	tb.Helper()
	again, err := ParseSchema(s.Message(), s.lim)
	if err != nil {
		tb.Fatalf("the new schema's message is refused: %v", err)
	}
	if !reflect.DeepEqual(again.Fields, s.Fields) || !reflect.DeepEqual(again.Metadata, s.Metadata) ||
		again.Layout.Span != s.Layout.Span {
		tb.Fatalf("the new schema is not the one that its message says")
	}
}

func TestProjectEachColumn(t *testing.T) {
	schema := zoo()
	s := mustParse(t, arrowHeader(t, schema))
	for i := range s.Fields {
		p, err := s.Project([]Pick{{Ordinal: i}})
		if err != nil {
			t.Fatal(err)
		}
		sameAsParsed(t, p.Schema)
		meta := schema.Metadata()
		want := arrow.NewSchema([]arrow.Field{schema.Field(i)}, &meta)
		if got := arrowRead(t, p.Schema); !got.Equal(want) || !got.Metadata().Equal(meta) {
			t.Errorf("column %d: got %v, want %v", i, got, want)
		}
		if !reflect.DeepEqual(p.Spans, []Span{s.Layout.Columns[i].Span}) || p.Tree[0] != s.Layout.Columns[i] {
			t.Errorf("column %d: spans %+v", i, p.Spans)
		}
	}
}

func TestProject(t *testing.T) {
	// Columns, with their nodes and buffers: a 0 [0,2), s 1 [2,3), s.x 2 [3,5), s.t 3 [5,6), s.t.p 4 [6,8) and view 0,
	// s.t.q 5 [8,10) and view 1, s.y 6 [10,13), n 7 [13,13), b 8 [13,15) and view 2.
	text, view := arrow.BinaryTypes.String, arrow.BinaryTypes.StringView
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true, Metadata: arrow.NewMetadata([]string{"of"}, []string{name})}
	}
	x, y := field("x", arrow.PrimitiveTypes.Int32), field("y", text)
	pp, q := field("p", view), field("q", view)
	a, n, b := field("a", arrow.PrimitiveTypes.Int64), field("n", arrow.Null), field("b", view)
	deep := field("t", arrow.StructOf(pp, q))
	structure := field("s", arrow.StructOf(x, deep, y))
	meta := arrow.NewMetadata([]string{"schema"}, []string{"\xff"})
	s := mustParse(t, arrowHeader(t, arrow.NewSchema([]arrow.Field{a, structure, n, b}, &meta)))
	span := func(n0, n1, b0, b1, v0, v1 int) Span { return Span{n0, n1, b0, b1, v0, v1} }
	whole := func(ordinals ...int) []Pick {
		var picks []Pick
		for _, i := range ordinals {
			picks = append(picks, Pick{Ordinal: i})
		}
		return picks
	}
	for name, c := range map[string]struct {
		picks  []Pick
		fields []arrow.Field
		spans  []Span
		whole  bool
	}{
		"nothing":   {nil, nil, nil, false},
		"identity":  {whole(0, 1, 2, 3), []arrow.Field{a, structure, n, b}, []Span{span(0, 9, 0, 15, 0, 3)}, true},
		"reversed":  {whole(3, 2, 0), []arrow.Field{b, n, a}, []Span{span(8, 9, 13, 15, 2, 3), span(7, 8, 13, 13, 2, 2), span(0, 1, 0, 2, 0, 0)}, false},
		"adjacent":  {whole(0, 1, 3), []arrow.Field{a, structure, b}, []Span{span(0, 7, 0, 13, 0, 2), span(8, 9, 13, 15, 2, 3)}, false},
		"null last": {whole(1, 2), []arrow.Field{structure, n}, []Span{span(1, 8, 2, 13, 0, 2)}, false},
		"repeated":  {whole(0, 0), []arrow.Field{a, a}, []Span{span(0, 1, 0, 2, 0, 0), span(0, 1, 0, 2, 0, 0)}, false},
		"first child": {
			[]Pick{{1, whole(0)}}, []arrow.Field{field("s", arrow.StructOf(x))},
			[]Span{span(1, 3, 2, 5, 0, 0)}, false,
		},
		"children in another order": {
			[]Pick{{Ordinal: 0}, {1, whole(2, 0)}}, []arrow.Field{a, field("s", arrow.StructOf(y, x))},
			[]Span{span(0, 2, 0, 3, 0, 0), span(6, 7, 10, 13, 2, 2), span(2, 3, 3, 5, 0, 0)}, false,
		},
		"grandchild": {
			[]Pick{{1, []Pick{{1, whole(1)}}}}, []arrow.Field{field("s", arrow.StructOf(field("t", arrow.StructOf(q))))},
			[]Span{span(1, 2, 2, 3, 0, 0), span(3, 4, 5, 6, 0, 0), span(5, 6, 8, 10, 1, 2)}, false,
		},
		"all children by name": {
			[]Pick{{Ordinal: 0}, {1, []Pick{{Ordinal: 0}, {1, whole(0, 1)}, {Ordinal: 2}}}, {Ordinal: 2}, {Ordinal: 3}},
			[]arrow.Field{a, structure, n, b}, []Span{span(0, 9, 0, 15, 0, 3)}, true,
		},
	} {
		p, err := s.Project(c.picks)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameAsParsed(t, p.Schema)
		if want := arrow.NewSchema(c.fields, &meta); !arrowRead(t, p.Schema).Equal(want) || !arrowRead(t, p.Schema).Metadata().Equal(meta) {
			t.Errorf("%s: got %v, want %v", name, arrowRead(t, p.Schema), want)
		}
		if !reflect.DeepEqual(p.Spans, c.spans) {
			t.Errorf("%s: spans %+v, not %+v", name, p.Spans, c.spans)
		}
		if p.Whole != c.whole || p.Whole != (p.Schema == s) {
			t.Errorf("%s: whole %t", name, p.Whole)
		}
		checkTree(t, p.Tree, p.Schema.Layout.Columns)
	}
}

// checkTree fails unless the chosen columns are shaped as those of the answer.
func checkTree(tb rapid.TB, tree, answer []*Column) {
	tb.Helper()
	if len(tree) != len(answer) {
		tb.Fatalf("%d columns in the tree, %d in the answer", len(tree), len(answer))
	}
	for i, c := range tree {
		if c.Kind != answer[i].Kind || !reflect.DeepEqual(c.Field, answer[i].Field) {
			tb.Fatalf("column %d of the tree is %+v, of the answer %+v", i, c, answer[i])
		}
		checkTree(tb, c.Children, answer[i].Children)
	}
}

func TestProjectRefuses(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	deep, list := -1, -1
	for i, f := range s.Fields {
		switch {
		case f.Name == "deep":
			deep = i
		case f.Type.ID == TypeList:
			list = i
		}
	}
	for name, c := range map[string]struct {
		picks []Pick
		says  string
	}{
		"beyond the end":       {[]Pick{{Ordinal: len(s.Fields)}}, "schema"},
		"before the beginning": {[]Pick{{Ordinal: -1}}, "-1"},
		"child of a list":      {[]Pick{{list, []Pick{{Ordinal: 0}}}}, "no struct"},
		"no such child":        {[]Pick{{deep, []Pick{{Ordinal: 3}}}}, `"deep"`},
		"no such grandchild":   {[]Pick{{deep, []Pick{{1, []Pick{{Ordinal: 7}}}}}}, `"deep.n"`},
	} {
		if _, err := s.Project(c.picks); !errors.Is(err, ErrPick) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Project(make([]Pick, DefaultFields)); err != nil {
		t.Errorf("as many columns as the limit allows: %v", err)
	}
	if _, err := s.Project(make([]Pick, DefaultFields+1)); !errors.Is(err, ErrLimit) {
		t.Errorf("one column more than the limit allows: %v", err)
	}
	big, err := BuildSchema([]*Field{{Name: "big", Type: Type{ID: TypeNull}, Metadata: []KeyValue{{"k", strings.Repeat("v", 8<<20)}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := big.Project(make([]Pick, 1000)); !errors.Is(err, ErrLimit) {
		t.Errorf("8 GB of field metadata: %v", err)
	}
}

// TestProjectKeepsTheMessage projects a schema whose message says what arrow-go would not write.
func TestProjectKeepsTheMessage(t *testing.T) {
	b := flatbuffers.NewBuilder(64)
	var pairs []flatbuffers.UOffsetT
	for i := range 3 { // one with key and value, one without value, one without key
		text := b.CreateString(fmt.Sprintf("text %d\xff", i))
		b.StartObject(2)
		if i != 2 {
			b.PrependUOffsetTSlot(0, text, 0)
		}
		if i != 1 {
			b.PrependUOffsetTSlot(1, text, 0)
		}
		pairs = append(pairs, b.EndObject())
	}
	custom := b.CreateVectorOfTables(pairs)
	b.StartVector(8, 2, 8)
	b.PlaceInt64(77)
	b.PlaceInt64(2)
	features := b.EndVector(2)
	var fields []flatbuffers.UOffsetT
	for id := TypeBool; id <= TypeDecimal; id++ {
		b.StartObject(0)
		bare := b.EndObject() // all parameters at their defaults
		b.StartObject(9)
		b.PrependUOffsetTSlot(fieldType, bare, 0)
		b.PrependUOffsetTSlot(fieldMetadata, custom, 0)
		b.PrependByteSlot(fieldTypeTag, byte(TypeBool), 0)
		b.PrependBool(false) // a default that is written all the same
		b.Slot(fieldNullable)
		b.PrependInt32Slot(8, 42, 0) // a slot of a later format version
		fields = append(fields, b.EndObject())
	}
	vector := b.CreateVectorOfTables(fields)
	b.StartObject(4)
	b.PrependUOffsetTSlot(schemaFields, vector, 0)
	b.PrependUOffsetTSlot(schemaMetadata, custom, 0)
	b.PrependUOffsetTSlot(3, features, 0)
	h := HeaderBuilder{b: b}
	hdr := h.message(HeaderSchema, b.EndObject(), 0, custom)

	s := mustParse(t, hdr)
	p, err := s.Project([]Pick{{Ordinal: 1}})
	if err != nil {
		t.Fatal(err)
	}
	sameAsParsed(t, p.Schema)
	was, err := ReadMessage(hdr, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	is, err := ReadMessage(p.Schema.Message(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(was, is) || len(is.Metadata) != 3 {
		t.Errorf("the message says %+v, said %+v", is, was)
	}
	root, err := verify(p.Schema.Message(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	table, _ := root.table(messageHeader)
	start, n := table.vector(3)
	if got := table.t.Bytes[start : start+8*n]; n != 2 || binary.LittleEndian.Uint64(got) != 2 || binary.LittleEndian.Uint64(got[8:]) != 77 {
		t.Errorf("features %v", got)
	}
	start, _ = table.vector(schemaMetadata)
	for i, slot := range []int{1, 0} {
		if _, ok := table.element(start + 4*(i+1)).at(slot); ok {
			t.Errorf("pair %d: an absent string has become an empty one", i+1)
		}
	}
}

func TestWithoutDictionaries(t *testing.T) {
	schema := zoo()
	s := mustParse(t, arrowHeader(t, schema))
	plain, err := s.WithoutDictionaries(everyDictionary)
	if err != nil {
		t.Fatal(err)
	}
	sameAsParsed(t, plain)
	back := arrowRead(t, plain)
	for i, f := range back.Fields() {
		if f.Type.ID() == arrow.DICTIONARY || !f.Metadata.Equal(schema.Field(i).Metadata) || f.Nullable != schema.Field(i).Nullable {
			t.Errorf("column %d: %v", i, f)
		}
	}
	deep := back.Field(len(back.Fields()) - 4)
	if got := deep.Type.(*arrow.StructType).Field(1).Type.(*arrow.StructType).Field(2).Type; got.ID() != arrow.STRING {
		t.Errorf("deep.n.w is %v", got)
	}
	if s.Fields[len(s.Fields)-4].Children[1].Children[2].Dictionary == nil {
		t.Error("the schema itself was changed")
	}
	if again, err := plain.WithoutDictionaries(everyDictionary); err != nil || again != plain {
		t.Errorf("a schema without dictionaries is made anew: %v", err)
	}
}

func TestProjectOneOfMany(t *testing.T) {
	var fields []*Field
	for i := range 5000 {
		fields = append(fields, &Field{Name: fmt.Sprintf("column %d", i), Type: Type{ID: TypeFloatingPoint, BitWidth: 64}})
	}
	s, err := BuildSchema(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	// What a projection costs follows what is chosen, not what there is to choose from.
	few, err := BuildSchema(fields[:5], nil)
	if err != nil {
		t.Fatal(err)
	}
	cost := func(s *Schema, i int) float64 {
		return testing.AllocsPerRun(10, func() {
			if _, err := s.Project([]Pick{{Ordinal: i}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if many, one := cost(s, 4321), cost(few, 3); many > one+2 {
		t.Errorf("%v allocations for one of 5,000, %v for one of 5", many, one)
	}
}

// TestProjectionComposes chooses at random twice over, and once what that comes to.
func TestProjectionComposes(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SliceOfN(rapid.IntRange(0, len(s.Fields)-1), 1, 20).Draw(t, "first")
		second := rapid.SliceOfN(rapid.IntRange(0, len(first)-1), 0, 20).Draw(t, "second")
		var one, two, direct []Pick
		for _, i := range first {
			one = append(one, Pick{Ordinal: i})
		}
		for _, i := range second {
			two = append(two, Pick{Ordinal: i})
			direct = append(direct, Pick{Ordinal: first[i]})
		}
		project := func(s *Schema, picks []Pick) *Projection {
			p, err := s.Project(picks)
			if err != nil {
				t.Fatal(err)
			}
			sameAsParsed(t, p.Schema)
			checkTree(t, p.Tree, p.Schema.Layout.Columns)
			nodes := 0
			for _, span := range p.Spans {
				nodes += span.Node1 - span.Node0
			}
			if nodes != p.Schema.Layout.Node1 {
				t.Fatalf("%d nodes in the spans, %d in the answer", nodes, p.Schema.Layout.Node1)
			}
			return p
		}
		twice := project(project(s, one).Schema, two)
		once := project(s, direct)
		if !bytes.Equal(twice.Schema.Message(), once.Schema.Message()) && !once.Whole {
			t.Fatal("two steps give another message than one")
		}
	})
}

func everyDictionary(int64) bool { return true }
