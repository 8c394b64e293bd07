package catalog

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCurrentAndAt(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	if _, err := c.Current("travel/d"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), `"travel/d"`) {
		t.Errorf("Current of what is absent: %v", err)
	}
	if _, err := c.At("travel/d", "x-1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("At of what is absent: %v", err)
	}
	fakes := put(t, c, "travel/d", Replace, schema, 1)
	first := current(t, c, "travel/d")
	same, err := c.At("travel/d", first.ID)
	if err != nil || same != first {
		t.Fatalf("At the newest: %v, %v", same, err)
	}
	same.Release()

	put(t, c, "travel/d", Append, schema, 2)
	now := current(t, c, "travel/d")
	_, err = c.At("travel/d", first.ID)
	if !errors.Is(err, ErrStale) {
		t.Fatalf("At an old generation: %v, want ErrStale", err)
	}
	for _, part := range []string{`"travel/d"`, first.ID, now.ID, "GetFlightInfo"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %s", err, part)
		}
	}
	if err := c.Drop(context.Background(), "travel/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.At("travel/d", now.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("At a dropped dataset: %v, want ErrNotFound", err)
	}
	if err := c.Drop(context.Background(), "travel/d"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "travel/d") {
		t.Errorf("a second Drop: %v, want ErrNotFound with the name", err)
	}
	first.Release()
	now.Release()
	wantRefs(t, fakes, 0) // a refused At has kept nothing
}

// An id is an instance's and a number's: neither a new put, nor a dataset that comes again, nor another catalogue
// brings one back.
func TestIDsAreUnique(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{16}-[1-9][0-9]*$`)
	seen := map[string]bool{}
	schema := flat(t)
	for range 3 {
		c := newCatalog()
		for i := range 40 {
			mode := []Mode{Replace, Append}[i%2]
			put(t, c, []string{"a", "b"}[i%3%2], mode, schema, i)
			for _, g := range c.List("") {
				if !form.MatchString(g.ID) {
					t.Fatalf("generation id %q", g.ID)
				}
				g.Release()
			}
			name := []string{"a", "b"}[i%3%2]
			g := current(t, c, name)
			if seen[g.ID] {
				t.Fatalf("generation id %s came twice", g.ID)
			}
			seen[g.ID] = true
			g.Release()
			if i%5 == 0 {
				if err := c.Drop(context.Background(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestList(t *testing.T) {
	c, schema := newCatalog(), flat(t)
	var fakes []*fakeBatch
	for i, name := range []string{"sales/2024", "b", "sales", "a", "sales/2023", "salesmen", "é"} {
		fakes = append(fakes, put(t, c, name, Create, schema, i)...)
	}
	if c.Len() != 7 {
		t.Errorf("Len is %d, want 7", c.Len())
	}
	for _, tc := range []struct {
		prefix string
		want   []string
	}{
		{"", []string{"a", "b", "sales", "sales/2023", "sales/2024", "salesmen", "é"}},
		{"sales", []string{"sales", "sales/2023", "sales/2024", "salesmen"}},
		{"sales/", []string{"sales/2023", "sales/2024"}},
		{"sales/2024", []string{"sales/2024"}},
		{"sales/2024/", nil},
		{"S", nil},
	} {
		var got []string
		list := c.List(tc.prefix)
		for _, g := range list {
			got = append(got, g.Dataset)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("List(%q) is %q, want %q", tc.prefix, got, tc.want)
		}
		for _, g := range list {
			g.Release()
		}
	}
	held := c.List("sales/")
	c.Clear()
	if c.Len() != 0 || len(c.List("")) != 0 {
		t.Error("Clear left datasets")
	}
	wantIDs(t, held[0], 4) // what was listed is held
	for _, g := range held {
		g.Release()
	}
	wantRefs(t, fakes, 0)
}

// Without a clock of the tests', the time of a commit is the time of day.
func TestDefaultClock(t *testing.T) {
	c, before := New(Options{}), time.Now()
	put(t, c, "d", Replace, flat(t), 1)
	g := current(t, c, "d")
	defer g.Release()
	if g.Created.Before(before) || g.Created.After(time.Now()) {
		t.Errorf("created %v, put after %v", g.Created, before)
	}
}
