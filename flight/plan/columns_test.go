package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// deep has structs in structs, and a list of structs.
func deep() []*arrowipc.Field {
	return []*arrowipc.Field{
		number("k"),
		structOf("deep",
			number("a"),
			structOf("n", number("v"), number("w"), structOf("x", number("y"))),
			number("b"),
		),
		number("t"),
		listOf("l", structOf("item", number("v"))),
	}
}

func TestColumns(t *testing.T) {
	for _, tc := range []struct {
		name  string
		asked []any
		want  string
	}{
		{"one", []any{"t"}, "2"},
		{"in the asked order", []any{"t", "k"}, "2 0"},
		{"repeated", []any{"k", "k", "t", "k"}, "0 0 2 0"},
		{"ordinals", []any{3, 0}, "3 0"},
		{"name and ordinal of one column", []any{"k", 0}, "0 0"},
		{"a struct", []any{"deep"}, "1"},
		{"a child", []any{"deep.a"}, "1[0]"},
		{"deep.n.v", []any{"deep.n.v"}, "1[1[0]]"},
		{"five levels", []any{"deep.n.x.y"}, "1[1[2[0]]]"},
		{"children in the asked order", []any{"deep.b", "deep.a"}, "1[2 0]"},
		{"merged at the first mention", []any{"deep.b", "k", "deep.a", "t"}, "1[2 0] 0 2"},
		{"merged further down", []any{"deep.n.w", "deep.a", "deep.n.v"}, "1[1[1 0] 0]"},
		{"a repeated child is there once", []any{"deep.a", "deep.a"}, "1[0]"},
		{"parent after its child", []any{"deep.a", "t", "deep"}, "1 2"},
		{"parent before its child", []any{"deep", "t", "deep.a"}, "1 2"},
		{"parent by ordinal after its child", []any{"deep.a", 1}, "1"},
		{"child between two parents", []any{"deep", "deep.a", "deep"}, "1 1"},
		{"child before two parents", []any{"deep.a", "deep", "deep"}, "1 1"},
		{"inner parent after its child", []any{"deep.n.v", "deep.b", "deep.n"}, "1[1 2]"},
		{"inner parent before its child", []any{"deep.n", "deep.n.v"}, "1[1]"},
		{"child, inner parent, parent", []any{"deep.n.v", "deep.n", "deep"}, "1"},
		{"all children are still named", []any{"deep.a", "deep.n", "deep.b"}, "1[0 1 2]"},
		{"a list", []any{"l"}, "3"},
		{"none", []any{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			picks, err := pickColumns(schemaOf(t, deep()...), columnsOf(tc.asked...))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(picks); got != tc.want {
				t.Errorf("picks %q, want %q", got, tc.want)
			}
		})
	}
}

// Absent columns are all of them, an empty list is none; the two differ even where there are no columns to choose from.
func TestNilIsAllAndEmptyIsNone(t *testing.T) {
	schema := schemaOf(t, deep()...)
	all, err := pickColumns(schema, nil)
	if err != nil || show(all) != "0 1 2 3" {
		t.Errorf("nil: %q, %v", show(all), err)
	}
	none, err := pickColumns(schema, columnsOf())
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("[]: %#v, %v", none, err)
	}
}

// Names may hold dots, be empty, and be the same; what has one meaning is found, and nothing is guessed.
func TestNames(t *testing.T) {
	coded := structOf("d", number("v"))
	coded.Dictionary = &arrowipc.Dictionary{IndexBits: 32, Signed: true}
	for _, tc := range []struct {
		name   string
		fields []*arrowipc.Field
		asked  string
		want   string // picks, or with an error a part of its message
		err    bool
	}{
		{"a full name with a dot", []*arrowipc.Field{number("a.b")}, "a.b", "0", false},
		{"a full name comes before a path", []*arrowipc.Field{structOf("a", number("b")), number("a.b")}, "a.b", "1", false},
		{"a root with a dot", []*arrowipc.Field{structOf("a.b", number("c"))}, "a.b.c", "0[0]", false},
		{"a child with a dot", []*arrowipc.Field{structOf("a", number("b.c"))}, "a.b.c", "0[0]", false},
		{"the split that leads somewhere", []*arrowipc.Field{structOf("a", number("x")), structOf("a.b", number("c"))}, "a.b.c", "1[0]", false},
		{"two splits that do", []*arrowipc.Field{structOf("a", number("b.c")), structOf("a.b", number("c"))}, "a.b.c", "more than one", true},
		{"two splits further down", []*arrowipc.Field{structOf("r", structOf("a", number("b.c")), structOf("a.b", number("c")))}, "r.a.b.c", "more than one", true},
		{"a full child name does not come first", []*arrowipc.Field{structOf("r", number("a.b"), structOf("a", number("b")))}, "r.a.b", "more than one", true},
		{"no name", []*arrowipc.Field{number("x"), number("")}, "", "1", false},
		{"a root without a name", []*arrowipc.Field{structOf("", number("x"))}, ".x", "0[0]", false},
		{"a child without a name", []*arrowipc.Field{structOf("s", number("x"), number(""))}, "s.", "0[1]", false},
		{"nothing but dots", []*arrowipc.Field{structOf("", structOf("", number("")))}, "..", "0[0[0]]", false},
		{"a name of dots", []*arrowipc.Field{number("..")}, "..", "0", false},
		{"the same name twice", []*arrowipc.Field{number("x"), number("k"), number("x")}, "x", "2 columns, of ordinals 0, 2", true},
		{"a child name twice", []*arrowipc.Field{structOf("s", number("x"), number("x"))}, "s.x", "more than one", true},
		{"a root twice, one with the child", []*arrowipc.Field{structOf("s", number("x")), structOf("s", number("y"))}, "s.y", "1[0]", false},
		{"a root twice, both with the child", []*arrowipc.Field{structOf("s", number("x")), structOf("s", number("x"))}, "s.x", "more than one", true},
		{"a root twice, one no struct", []*arrowipc.Field{number("s"), structOf("s", number("x"))}, "s.x", "1[0]", false},
		{"case matters", []*arrowipc.Field{number("Key")}, "key", "there is no", true},
		{"below a number", []*arrowipc.Field{number("a")}, "a.b", "there is no", true},
		{"below a list", []*arrowipc.Field{listOf("l", structOf("item", number("v")))}, "l.item.v", "there is no", true},
		{"below a dictionary", []*arrowipc.Field{coded}, "d.v", "there is no", true},
		{"a missing child", []*arrowipc.Field{structOf("s", number("x"))}, "s.y", "there is no", true},
		{"a dot too many", []*arrowipc.Field{structOf("s", number("x"))}, "s.x.", "there is no", true},
		{"a dot alone behind", []*arrowipc.Field{structOf("s", number("x"))}, "s.", "there is no", true},
		{"a dot in front", []*arrowipc.Field{structOf("s", number("x"))}, ".s", "there is no", true},
		{"the beginning of a name", []*arrowipc.Field{number("abc")}, "ab", "there is no", true},
		{"bytes that are no UTF-8", []*arrowipc.Field{number("a\xff")}, "a\xff", "0", false},
		{"no columns", nil, "x", "no columns", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			picks, err := pickColumns(schemaOf(t, tc.fields...), columnsOf(tc.asked))
			if tc.err {
				if !errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), tc.want) ||
					!strings.Contains(err.Error(), fmt.Sprintf("%q", tc.asked)) {
					t.Errorf("error %v; want ErrColumn with the name and %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := show(picks); got != tc.want {
				t.Errorf("picks %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOrdinals(t *testing.T) {
	schema := schemaOf(t, number("x"), number("x"))
	picks, err := pickColumns(schema, columnsOf(1, 0)) // what an ambiguous name cannot choose
	if err != nil || show(picks) != "1 0" {
		t.Errorf("picks %q, %v", show(picks), err)
	}
	for _, n := range []int{-1, 2, 1 << 30} {
		_, err := pickColumns(schema, columnsOf(n))
		if !errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), fmt.Sprintf("ordinal %d;", n)) ||
			!strings.Contains(err.Error(), "2 columns") {
			t.Errorf("ordinal %d: %v", n, err)
		}
	}
}

// An unknown column's message names it and what there is.
func TestUnknownColumnMessage(t *testing.T) {
	_, err := pickColumns(schemaOf(t, deep()...), columnsOf("k", "depp"))
	if !errors.Is(err, ErrColumn) {
		t.Fatal(err)
	}
	for _, part := range []string{`"depp"`, `"k", "deep", "t", "l"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %s", err, part)
		}
	}
}

// However long the names and however many the columns, a message fits into a gRPC status.
func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("\xff", 60_000)
	var many []*arrowipc.Field
	for i := range 5000 {
		many = append(many, number(fmt.Sprintf("%s%d", long[:200], i)))
	}
	var same []*arrowipc.Field
	for range 5000 {
		same = append(same, number(long[:200]))
	}
	for name, fields := range map[string][]*arrowipc.Field{"many": many, "same": same} {
		for _, asked := range []string{long, long[:200], strings.Repeat(".", 1<<19)} {
			_, err := pickColumns(schemaOf(t, fields...), columnsOf(asked))
			if !errors.Is(err, ErrColumn) {
				t.Fatal(err)
			}
			if n := len(err.Error()); n > 8<<10 {
				t.Errorf("%s: a message of %d bytes", name, n)
			}
		}
	}
}

// Names that can be split in very many ways end in an error, not in a search without end.
func TestSplitsAreBounded(t *testing.T) {
	children := []*arrowipc.Field{number("end")}
	for range 12 { // two fields on each level: 8,190 structs, all of which a path of "a." tries
		children = []*arrowipc.Field{structOf("a", children...), structOf("a.a", children...)}
	}
	schema := schemaOf(t, children...)
	r := newResolver(schema.Fields)
	r.most = 1 << 16
	var err error
	for range 100 {
		_, err = r.resolve(columnsOf(strings.Repeat("a.", 13) + "x")[0])
		if !errors.Is(err, ErrColumn) {
			t.Fatal(err)
		}
		if strings.Contains(err.Error(), "too many ways") {
			break
		}
	}
	if !strings.Contains(err.Error(), "too many ways") || r.steps > r.most+1 {
		t.Errorf("after %d steps: %v", r.steps, err)
	}
}

// The work for one name does not grow with the number of columns.
func TestNamesAreLookedUp(t *testing.T) {
	var children, fields []*arrowipc.Field
	for i := range 4000 {
		children = append(children, number(fmt.Sprintf("v%04d", i)))
		fields = append(fields, number(fmt.Sprintf("c%04d", i)))
	}
	fields = append(fields, structOf("s", children...))
	r := newResolver(schemaOf(t, fields...).Fields)
	for i := range children {
		path, err := r.resolve(columnsOf(fmt.Sprintf("s.v%04d", i))[0])
		if err != nil || fmt.Sprint(path) != fmt.Sprint([]int{4000, i}) {
			t.Fatalf("child %d: %v, %v", i, path, err)
		}
	}
	if r.steps > 2*len(children) {
		t.Errorf("%d lookups for %d paths of two names", r.steps, len(children))
	}
}

// A name that is searched for means what it means in the table of all names.
func TestSearchedNamesMeanTheSame(t *testing.T) {
	schema := schemaOf(t, number("a"), number("twice"), structOf("s", number("x"), number("a")), number("twice"), number("s.y"), number(""))
	for _, name := range []string{"a", "twice", "s", "s.x", "s.a", "s.y", "", "none", "s.none"} {
		searching, looking := newResolver(schema.Fields), newResolver(schema.Fields)
		looking.few = 0
		got, err := searching.resolve(columnsOf(name)[0])
		want, wantErr := looking.resolve(columnsOf(name)[0])
		if fmt.Sprint(got, err) != fmt.Sprint(want, wantErr) {
			t.Errorf("%q: %v, %v; the table gives %v, %v", name, got, err, want, wantErr)
		}
	}
}
