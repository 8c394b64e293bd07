package arrowipc

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	i64 := Type{ID: TypeInt, BitWidth: 64, Signed: true}
	field := func(name string, ty Type, children ...*Field) *Field {
		return &Field{Name: name, Type: ty, Children: children, Nullable: true}
	}
	strict := func(f *Field) *Field { f.Nullable = false; return f }
	encoded := func(f *Field, id int64, bits int, ordered bool) *Field {
		f.Dictionary = &Dictionary{ID: id, IndexBits: bits, Signed: true, Ordered: ordered}
		return f
	}
	text := Type{ID: TypeUtf8}
	list := func(child *Field) *Field { return field("l", Type{ID: TypeList}, child) }
	structure := func(children ...*Field) *Field { return field("s", Type{ID: TypeStruct}, children...) }
	for name, c := range map[string]struct {
		here, put *Field
		want      string
	}{
		"same":              {field("v", i64), field("v", i64), ""},
		"type":              {field("v", i64), field("v", text), `column 1 "v": int64 here, string put`},
		"name":              {field("v", i64), field("w", i64), `column 1: a field named "v" here, "w" put`},
		"nullability":       {field("v", i64), strict(field("v", i64)), `column 1 "v": nullable here, not null put`},
		"zone":              {field("v", Type{ID: TypeTimestamp}), field("v", Type{ID: TypeTimestamp, Timezone: "UTC"}), `column 1 "v": timestamp[s] here, timestamp[s, tz=UTC] put`},
		"child":             {structure(structure(field("a", i64))), structure(structure(field("a", text))), `column 1 "s.s.a": int64 here, string put`},
		"child's name":      {structure(field("a", i64)), structure(field("b", i64)), `column 1 "s": a field named "a" here, "b" put`},
		"children":          {structure(field("a", i64)), structure(), `column 1 "s": struct<a: int64> here, struct<> put`},
		"list item's name":  {list(field("item", i64)), list(field("element", i64)), ""},
		"list item's type":  {list(field("item", i64)), list(field("item", text)), `column 1 "l.item": int64 here, string put`},
		"list item's nulls": {list(field("item", i64)), list(strict(field("item", i64))), `column 1 "l.item": nullable here, not null put`},
		"dictionary id":     {encoded(field("v", text), 1, 8, false), encoded(field("v", text), 2, 8, false), ""},
		"dictionary index":  {encoded(field("v", text), 1, 8, false), encoded(field("v", text), 1, 16, false), `column 1 "v": dictionary<values=string, indices=int8, ordered=0> here, dictionary<values=string, indices=int16, ordered=0> put`},
		"dictionary order":  {encoded(field("v", text), 1, 8, false), encoded(field("v", text), 1, 8, true), `column 1 "v": dictionary<values=string, indices=int8, ordered=0> here, dictionary<values=string, indices=int8, ordered=1> put`},
		"dictionary":        {encoded(field("v", text), 1, 8, false), field("v", text), `column 1 "v": dictionary<values=string, indices=int8, ordered=0> here, string put`},
		"type codes":        {field("u", Type{ID: TypeUnion, TypeCodes: []int8{1}}, field("a", i64)), field("u", Type{ID: TypeUnion, TypeCodes: []int8{2}}, field("a", i64)), `column 1 "u": sparse_union<a: int64=1> here, sparse_union<a: int64=2> put`},
	} {
		here, err := BuildSchema([]*Field{field("k", i64), c.here}, []KeyValue{{"a", "b"}})
		if err != nil {
			t.Fatal(err)
		}
		put, err := BuildSchema([]*Field{field("k", i64), c.put}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := here.Diff(put); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
		if here.Equal(put) != (c.want == "") {
			t.Errorf("%s: Equal says otherwise", name)
		}
	}
}

// Ids may differ as long as the same fields share a dictionary: batches refer to dictionaries by their order.
func TestDiffOfSharedDictionaries(t *testing.T) {
	schema := func(ids ...int64) *Schema {
		var fields []*Field
		for _, id := range ids {
			f := &Field{Name: "v", Type: Type{ID: TypeUtf8}, Dictionary: &Dictionary{ID: id, IndexBits: 8, Signed: true}}
			fields = append(fields, &Field{Name: "l", Type: Type{ID: TypeStruct}, Children: []*Field{f}})
		}
		s, err := BuildSchema(fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const differ = ` "l.v": other columns share its dictionary here than put`
	for _, c := range []struct {
		here, put []int64
		want      string
	}{
		{[]int64{1, 2, 1}, []int64{1, 2, 1}, ""},
		{[]int64{1, 2, 1}, []int64{2, 1, 2}, ""},
		{[]int64{1, 2, 3}, []int64{9, 7, 8}, ""},
		{[]int64{1, 2}, []int64{1, 1}, "column 1" + differ},
		{[]int64{1, 1}, []int64{1, 2}, "column 1" + differ},
		{[]int64{1, 2, 1}, []int64{1, 2, 2}, "column 2" + differ},
		{[]int64{1, 2, 3}, []int64{3, 3, 1}, "column 1" + differ},
	} {
		if got := schema(c.here...).Diff(schema(c.put...)); got != c.want {
			t.Errorf("%v and %v: %q, not %q", c.here, c.put, got, c.want)
		}
	}
}

func TestDiffOfColumnCounts(t *testing.T) {
	one, err := BuildSchema([]*Field{node(TypeUtf8)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := BuildSchema([]*Field{node(TypeUtf8), node(TypeBool)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := one.Diff(two); got != "1 columns here, 2 put" {
		t.Error(got)
	}
	if got := two.Diff(one); got != "2 columns here, 1 put" {
		t.Error(got)
	}
}

func TestDiffIsShort(t *testing.T) {
	var many []*Field
	for range 1000 {
		many = append(many, &Field{Name: "\xff" + strings.Repeat("n", 100), Type: Type{ID: TypeNull}})
	}
	here, err := BuildSchema([]*Field{node(TypeStruct, many...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	put, err := BuildSchema([]*Field{node(TypeStruct)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := here.Diff(put)
	if len(got) > 1000 || strings.ToValidUTF8(got, "") != got {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}
