package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
)

// named is a field that can be chosen, with the names down to it joined by dots.
type named struct {
	path []int
	name string
}

// enumerate lists every field that a name may mean.
func enumerate(fields []*arrowipc.Field, up named) (all []named) {
	for i, f := range fields {
		me := named{append(slices.Clone(up.path), i), f.Name}
		if len(up.path) > 0 {
			me.name = up.name + "." + f.Name
		}
		all = append(all, me)
		if f.Type.ID == arrowipc.TypeStruct && f.Dictionary == nil {
			all = append(all, enumerate(f.Children, me)...)
		}
	}
	return all
}

// drawNamesakes draws fields from so few names, with dots in them and without anything, that most are ambiguous.
func drawNamesakes(t *rapid.T, depth int) []*arrowipc.Field {
	fields := make([]*arrowipc.Field, rapid.IntRange(0, 3).Draw(t, "fields"))
	for i := range fields {
		name := rapid.SampledFrom([]string{"", "a", "b", ".", "a.a", "a.", "b.a"}).Draw(t, "name")
		if depth == 3 || rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			fields[i] = number(name)
			continue
		}
		fields[i] = structOf(name, drawNamesakes(t, depth+1)...)
		if rapid.IntRange(0, 5).Draw(t, "coded") == 0 {
			fields[i].Dictionary = &arrowipc.Dictionary{IndexBits: 8}
		}
	}
	return fields
}

// checkNames compares a lookup with a list of all fields and their joined names: a top-level column's full name means
// that column; any other name means the one field whose joined name it is; all else is an error.
func checkNames(t *rapid.T) {
	fields := drawNamesakes(t, 0)
	all := enumerate(fields, named{})
	asked := rapid.StringMatching(`[ab.]{0,8}`).Draw(t, "asked")
	if len(all) > 0 && rapid.Bool().Draw(t, "there") {
		asked = rapid.SampledFrom(all).Draw(t, "field").name
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(n named) bool { return n.name != asked })
	if columns := slices.DeleteFunc(slices.Clone(meant), func(n named) bool { return len(n.path) > 1 }); len(columns) > 0 {
		meant = columns
	}
	path, err := newResolver(fields).resolve(columnsOf(asked)[0])
	switch {
	case len(meant) == 1:
		if err != nil || !slices.Equal(path, meant[0].path) {
			t.Fatalf("%q is %v (%v), want %v", asked, path, err, meant[0].path)
		}
	case !errors.Is(err, ErrColumn):
		t.Fatalf("%q is %v (%v); it means %d fields", asked, path, err, len(meant))
	case strings.Contains(err.Error(), "there is no") != (len(meant) == 0):
		t.Fatalf("%q means %d fields, the message is %q", asked, len(meant), err)
	}
}

// (rapid prints the seed of a failure.)
func TestNamesAgainstEnumeration(t *testing.T) { rapid.Check(t, checkNames) }

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "a", strings.Repeat("\x01\x02\x03\xff", 64)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(rapid.MakeFuzz(checkNames))
}
