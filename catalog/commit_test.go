package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

func TestModes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		exists bool // with batches 1 and 2
		mode   Mode
		want   []int // after a put of 3 and 4
		err    error
	}{
		{"replace of nothing", false, Replace, []int{3, 4}, nil},
		{"replace", true, Replace, []int{3, 4}, nil},
		{"append to nothing", false, Append, []int{3, 4}, nil},
		{"append", true, Append, []int{1, 2, 3, 4}, nil},
		{"create", false, Create, []int{3, 4}, nil},
		{"create what is there", true, Create, []int{1, 2}, ErrExists},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, schema := newCatalog(), flat(t)
			if tc.exists {
				put(t, c, "d", Replace, schema, 1, 2)
			}
			p, err := c.Begin("d", tc.mode, schema)
			if !errors.Is(err, tc.err) {
				t.Fatalf("Begin: %v, want %v", err, tc.err)
			}
			if err == nil {
				_, list := batches(t, schema, 3, 4)
				g, err := p.Commit(context.Background(), list, "lz4", nil)
				if err != nil {
					t.Fatal(err)
				}
				wantIDs(t, g, tc.want...)
				if g.Dataset != "d" || g.Codec != "lz4" || !g.Created.Equal(noon) {
					t.Errorf("dataset %q, codec %q, created %v", g.Dataset, g.Codec, g.Created)
				}
				g.Release()
			}
			g := current(t, c, "d")
			defer g.Release()
			wantIDs(t, g, tc.want...)
		})
	}
}

// Nothing of a put is visible before its commit, and an empty put is a dataset too.
func TestBeginShowsNothing(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	p, err := c.Begin("d", Replace, schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Current("d"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before the commit: %v, want ErrNotFound", err)
	}
	g, err := p.Commit(context.Background(), nil, "none", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	if g.Rows != 0 || g.Stored != 0 || g.Decoded != 0 || len(g.Batches) != 0 {
		t.Errorf("an empty put has %d rows, %d batches", g.Rows, len(g.Batches))
	}
	put(t, c, "d", Append, schema, 1)
	now := current(t, c, "d")
	defer now.Release()
	wantIDs(t, now, 1)
}

// Commit judges by what is there then, not by what Begin saw.
func TestCommitChecksAgain(t *testing.T) {
	here, other := flat(t), buildSchema(t, "", int64Field("n"))
	replace := func(s *arrowipc.Schema) func(*testing.T, *Catalog) {
		return func(t *testing.T, c *Catalog) { put(t, c, "d", Replace, s, 8, 9) }
	}
	drop := func(t *testing.T, c *Catalog) {
		if err := c.Drop(context.Background(), "d"); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name      string
		exists    bool
		mode      Mode
		meanwhile func(*testing.T, *Catalog)
		err       error
		want      []int // of the dataset afterwards
	}{
		{"create, created meanwhile", false, Create, replace(here), ErrExists, []int{8, 9}},
		{"append, same schema put meanwhile", true, Append, replace(here), nil, []int{8, 9, 3}},
		{"append, other schema put meanwhile", true, Append, replace(other), ErrConflict, []int{8, 9}},
		{"append to nothing, other schema put meanwhile", false, Append, replace(other), ErrConflict, []int{8, 9}},
		{"append, dropped meanwhile", true, Append, drop, nil, []int{3}},
		{"replace, other schema put meanwhile", true, Replace, replace(other), nil, []int{3}},
		{"replace, dropped meanwhile", true, Replace, drop, nil, []int{3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCatalog()
			if tc.exists {
				put(t, c, "d", Replace, here, 1)
			}
			p, err := c.Begin("d", tc.mode, here)
			if err != nil {
				t.Fatal(err)
			}
			tc.meanwhile(t, c)
			fakes, list := batches(t, here, 3)
			g, err := p.Commit(context.Background(), list, "zstd", nil)
			if !errors.Is(err, tc.err) {
				t.Fatalf("Commit: %v, want %v", err, tc.err)
			}
			if err == nil {
				g.Release()
			}
			wantRefs(t, fakes, 1) // the catalogue's, or after an error still the caller's
			now := current(t, c, "d")
			defer now.Release()
			wantIDs(t, now, tc.want...)
		})
	}
}

// A create that failed because its rival came first succeeds after the rival was dropped.
func TestCommitAfterRefusal(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	p, err := c.Begin("d", Create, schema)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "d", Create, schema, 1)
	fakes, list := batches(t, schema, 2)
	if _, err := p.Commit(context.Background(), list, "zstd", nil); !errors.Is(err, ErrExists) {
		t.Fatalf("Commit: %v, want ErrExists", err)
	}
	if err := c.Drop(context.Background(), "d"); err != nil {
		t.Fatal(err)
	}
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, g, 2)
	g.Release()
	wantRefs(t, fakes, 1)
}

// An append is held to names, types, nullability and order. Metadata may differ; the first stays.
func TestAppendSchemas(t *testing.T) {
	here := buildSchema(t, "first", int64Field("n"), structField("p", int64Field("x"), utf8Field("y")))
	required := int64Field("n")
	required.Nullable = false
	noted := int64Field("n")
	noted.Metadata = []arrowipc.KeyValue{{Key: "k", Value: "v"}}
	p := func() *arrowipc.Field { return structField("p", int64Field("x"), utf8Field("y")) }
	for _, tc := range []struct {
		name  string
		put   *arrowipc.Schema
		names []string // parts of the error; none: it is accepted
	}{
		{"same", buildSchema(t, "first", int64Field("n"), p()), nil},
		{"other metadata", buildSchema(t, "second", int64Field("n"), p()), nil},
		{"other field metadata", buildSchema(t, "first", noted, p()), nil},
		{"other name", buildSchema(t, "", int64Field("m"), p()), []string{"column 0", `"n"`, `"m"`}},
		{"other type", buildSchema(t, "", utf8Field("n"), p()), []string{"column 0", `"n"`}},
		{"not null", buildSchema(t, "", required, p()), []string{"column 0", "nullable", "not null"}},
		{"other order", buildSchema(t, "", p(), int64Field("n")), []string{"column 0"}},
		{"too few", buildSchema(t, "", int64Field("n")), []string{"2 columns here, 1 put"}},
		{"too many", buildSchema(t, "", int64Field("n"), p(), int64Field("z")), []string{"2 columns here, 3 put"}},
		{"other child", buildSchema(t, "", int64Field("n"), structField("p", int64Field("x"), utf8Field("z"))),
			[]string{"column 1", `"y"`, `"z"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCatalog()
			put(t, c, "travel/d", Replace, here, 1)
			_, err := c.Begin("travel/d", Append, tc.put)
			if len(tc.names) > 0 {
				if !errors.Is(err, ErrSchemaMismatch) {
					t.Fatalf("Begin: %v, want ErrSchemaMismatch", err)
				}
				for _, part := range append(tc.names, `"travel/d"`, "replace") {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the message %q does not say %s", err, part)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			put(t, c, "travel/d", Append, tc.put, 2)
			g := current(t, c, "travel/d")
			defer g.Release()
			if g.Schema != here {
				t.Error("the append changed the dataset's schema message")
			}
		})
	}
}

// A conflict says what has changed, in which dataset.
func TestConflictMessage(t *testing.T) {
	c := newCatalog()
	p, err := c.Begin("travel/d", Append, flat(t))
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "travel/d", Replace, buildSchema(t, "", int64Field("n")), 1)
	_, err = p.Commit(context.Background(), nil, "zstd", nil)
	if !errors.Is(err, ErrConflict) || errors.Is(err, ErrSchemaMismatch) {
		t.Fatalf("Commit: %v, want ErrConflict alone", err)
	}
	for _, part := range []string{`"travel/d"`, "1 columns here, 2 put"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %s", err, part)
		}
	}
}

// A put's list stays its caller's: what the caller does to it afterwards changes no generation, and no append writes
// into its spare room.
func TestCommitCopiesTheList(t *testing.T) {
	for _, mode := range []Mode{Replace, Append, Create} {
		c, schema := newCatalog(), flat(t)
		_, list := batches(t, schema, 1, 2, 3)
		foreign := newBatch(t, schema, 99)
		p, err := c.Begin("d", mode, schema)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Commit(context.Background(), list[:2], "zstd", nil) // with room for one more behind it
		if err != nil {
			t.Fatal(err)
		}
		put(t, c, "d", Append, schema, 4)
		if got := list[2].(*fakeBatch).id; got != 3 {
			t.Errorf("mode %d: an append wrote batch %d into the caller's list", mode, got)
		}
		list[0], list[2] = foreign, foreign
		now := current(t, c, "d")
		wantIDs(t, g, 1, 2)
		wantIDs(t, now, 1, 2, 4)
		g.Release()
		now.Release()
	}
}

// numbered is an order of numbers by the keys.
func numbered(first, last int, keys ...string) *Order {
	return &Order{SortedBy: keys, First: first, Last: last, Follows: func(last, first any) bool { return last.(int) <= first.(int) }}
}

// What becomes of a dataset's order with an append: it goes on, is refused where the append says that it does and it does
// not, or is lost, which the generation says.
func TestOrderOfAppends(t *testing.T) {
	schema := flat(t)
	for name, tc := range map[string]struct {
		there, put *Order
		declared   bool
		kept       bool
		dropped    bool
		refused    bool
	}{
		"goes on":                            {numbered(1, 5, "n"), numbered(5, 9, "n"), true, true, false, false},
		"goes on, not declared":              {numbered(1, 5, "n"), numbered(5, 9, "n"), false, true, false, false},
		"goes back":                          {numbered(1, 5, "n"), numbered(4, 9, "n"), true, false, false, true},
		"goes back, not declared":            {numbered(1, 5, "n"), numbered(4, 9, "n"), false, false, true, false},
		"is in none, not declared":           {numbered(1, 5, "n"), nil, false, false, true, false},
		"another order":                      {numbered(1, 5, "n"), numbered(9, 9, "s"), true, false, true, false},
		"there was none":                     {nil, numbered(9, 9, "n"), true, false, true, false},
		"there was none, nor is any":         {nil, nil, false, false, false, false},
		"no rows":                            {numbered(1, 5, "n"), &Order{SortedBy: []string{"n"}}, true, true, false, false},
		"there were no rows":                 {&Order{SortedBy: []string{"n"}}, numbered(4, 9, "n"), true, true, false, false},
		"there were none in order, declared": {&Order{SortedBy: []string{"n"}}, numbered(4, 9, "s"), true, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalog()
			commit := func(mode Mode, o *Order, declared bool, id int) (*Generation, []*fakeBatch, error) {
				fakes, list := batches(t, schema, id)
				p, err := c.Begin("d", mode, schema)
				if err != nil {
					t.Fatal(err)
				}
				p.Ordered = declared
				g, err := p.Commit(t.Context(), list, "zstd", o)
				if err == nil {
					t.Cleanup(g.Release)
				}
				return g, fakes, err
			}
			if _, _, err := commit(Replace, tc.there, tc.there != nil, 1); err != nil {
				t.Fatal(err)
			}
			g, fakes, err := commit(Append, tc.put, tc.declared, 2)
			if tc.refused {
				if !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "sorted by n") {
					t.Errorf("%v, want ErrOrder", err)
				}
				wantRefs(t, fakes, 1)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (g.Order != nil) != tc.kept || g.OrderDropped != tc.dropped || g.Facts().OrderDropped != tc.dropped {
				t.Errorf("order %v, dropped %t; want kept %t, dropped %t", g.Order, g.OrderDropped, tc.kept, tc.dropped)
			}
			next, _, err := commit(Append, nil, false, 3)
			if err != nil || next.OrderDropped != tc.kept {
				t.Errorf("after one more in no order: dropped %t, %v", next.OrderDropped, err)
			}
		})
	}
}
