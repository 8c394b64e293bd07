package arrowipc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// dictionary is a field whose values, of the type of f, are encoded with the dictionary id.
func dictionary(id int64, f *Field) *Field {
	f.Dictionary = &Dictionary{ID: id, IndexBits: 32, Signed: true}
	return f
}

func TestDictionaries(t *testing.T) {
	text := func() *Field { return node(TypeUtf8) }
	ordered := dictionary(1, text())
	ordered.Dictionary.Ordered = true
	s, err := BuildSchema([]*Field{
		node(TypeList, dictionary(1, text())),
		dictionary(2, node(TypeStruct, dictionary(3, text()), node(TypeUtf8View))),
		ordered,
		text(),
		dictionary(3, text()),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range s.Layout.Dictionaries {
		got = append(got, fmt.Sprintf("%d ordered=%t nested=%t nodes=%d buffers=%d views=%d",
			d.ID, d.Ordered, d.Nested, d.Values.Node1, d.Values.Buf1, d.Values.View1))
	}
	want := []string{
		"1 ordered=true nested=false nodes=1 buffers=3 views=0",
		"3 ordered=false nested=true nodes=1 buffers=3 views=0",
		"2 ordered=false nested=false nodes=3 buffers=5 views=1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p, err := s.Project([]Pick{{Ordinal: 3}, {Ordinal: 4}})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Schema.Layout.Dictionaries; len(d) != 1 || d[0].ID != 3 || d[0].Nested {
		t.Errorf("a projection needs %+v", d)
	}
	some, err := s.WithoutDictionaries(func(id int64) bool { return id != 3 })
	if err != nil {
		t.Fatal(err)
	}
	sameAsParsed(t, some)
	if d := some.Layout.Dictionaries; len(d) != 1 || d[0].ID != 3 || d[0].Nested {
		t.Errorf("without two dictionaries, %+v are left", d)
	}
}

func TestSharedDictionaryIDs(t *testing.T) {
	named := func(name string, f *Field) *Field { f.Name = name; return f }
	nullable := dictionary(1, node(TypeUtf8))
	nullable.Nullable = true
	integer := func() *Field { return &Field{Type: Type{ID: TypeInt, BitWidth: 64, Signed: true}} }
	for name, c := range map[string]struct {
		a, b *Field
		want error
	}{
		"one type":                 {dictionary(1, node(TypeUtf8)), dictionary(1, node(TypeUtf8)), nil},
		"of differing nullability": {dictionary(1, node(TypeUtf8)), nullable, nil},
		"two types":                {dictionary(1, node(TypeUtf8)), dictionary(1, node(TypeBinary)), ErrMalformed},
		"types that read the same": {
			dictionary(1, node(TypeStruct, named("a", integer()), named("b", integer()))),
			dictionary(1, node(TypeStruct, named("a: int64 not null, b", integer()))), ErrMalformed,
		},
		"one nested dictionary": {
			dictionary(1, node(TypeList, dictionary(2, node(TypeUtf8)))),
			dictionary(1, node(TypeList, dictionary(2, node(TypeUtf8)))), nil,
		},
		"two nested dictionaries": {
			dictionary(1, node(TypeList, dictionary(2, node(TypeUtf8)))),
			dictionary(1, node(TypeList, dictionary(3, node(TypeUtf8)))), ErrMalformed,
		},
		"within itself": {
			node(TypeBool), dictionary(1, node(TypeList, dictionary(2, node(TypeList, dictionary(1, node(TypeUtf8)))))), ErrMalformed,
		},
	} {
		_, err := BuildSchema([]*Field{c.a, c.b}, nil)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManySharedDictionaries has two towers of dictionaries of dictionaries over many more: what is shared is compared
// once at every level, and no comparison may be worse than linear.
func TestManySharedDictionaries(t *testing.T) {
	tower := func() *Field {
		f := node(TypeStruct)
		for i := range 9_000 {
			f.Children = append(f.Children, dictionary(int64(i), node(TypeNull)))
		}
		for level := range 60 {
			f = dictionary(int64(-1-level), node(TypeList, f))
		}
		return f
	}
	s, err := BuildSchema([]*Field{tower(), tower()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Layout.Dictionaries); n != 9_060 {
		t.Errorf("%d dictionaries", n)
	}
}
