package batchstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// appendCoded stores one batch of a put of its own whose dictionaries are of random values.
func appendCoded(t *testing.T, s *Store, m *dictModel, codec compress.Codec, values, rows int64) []*Batch {
	t.Helper()
	in := begin(t, s, m.schema, IngestOptions{Codec: codec})
	clear(m.states)
	for k := range m.states {
		m.set(k, false, m.values(k, values))
		if err := addDictionary(t, in, m.schema.Layout.Dictionaries[k].ID, false, m.whole(k), compress.None); err != nil {
			t.Fatal(err)
		}
	}
	b := randomPlain(m.r, m.schema.Layout, rows)
	putIndices(m.r, b, m.leaves, m.limits())
	states := dictStates{}
	for i, x := range m.states {
		states[m.schema.Layout.Dictionaries[i].ID] = x
	}
	m.sent = append(m.sent, sentBatch{b, states})
	if err := addBatch(t, in, b, compress.None); err != nil {
		t.Fatal(err)
	}
	out, err := in.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// codedSchema has two columns with one dictionary of the shape, one of them in a list, and another with a dictionary of texts.
func codedSchema(t *testing.T, r *rand.Rand, x shape, bits int) *arrowipc.Schema {
	coded := encodedWith(7, bits, r.IntN(2) == 0, fieldOf(t, "coded", x.dt))
	list := *fieldOf(t, "list", shapes[11].dt)
	child := *coded
	child.Name = list.Children[0].Name
	list.Children = []*arrowipc.Field{&child}
	return buildSchema(t, fieldOf(t, "plain", i64), coded, &list, encodedWith(3, 32, true, fieldOf(t, "text", str)))
}

// Batches whose dictionaries differ are joined where these can become one: the rows are the same, and the dictionary has
// each value once. Where they cannot, the batches stay.
func TestJoinUnitesDictionaries(t *testing.T) {
	for _, x := range someShapes(7) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			s := newStore(t, Options{Workers: 1})
			for _, codec := range []compress.Codec{compress.None, compress.Zstd} {
				schema := codedSchema(t, r, x, 32)
				m := newDictModel(t, r, schema)
				var list []*Batch
				for range 5 {
					list = append(list, appendCoded(t, s, m, codec, 1+r.Int64N(20), 1+r.Int64N(30))...)
				}
				want := m.oracle(allOf(t, schema), false)
				list = joined(t, s, schema, list, s.Joins(schema.Layout, list, true))
				unitable := united(schema.Layout)[0]
				if unitable && len(list) != 1 { // others may be the same by chance
					t.Errorf("%d batches", len(list))
				}
				got, n := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, list, 1<<40)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: rows differ:\n%s\nwant\n%s", codec, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if unitable {
					if n != 2 {
						t.Errorf("%d dictionaries were sent", n)
					}
					once(t, s, schema, list[0])
				}
				releaseAll(list)
			}
			noDictionaries(t, s)
		})
	}
}

// once checks that the dictionaries of a batch have each value once.
func once(t *testing.T, s *Store, schema *arrowipc.Schema, b *Batch) {
	t.Helper()
	for i, d := range b.dicts {
		plain, block, err := s.decodeDictionary(s.unclaimed(), d)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for row := range plain.rows {
			key := valueKey(newSource(plain), schema.Layout.Dictionaries[i].Values.Columns[0], row)
			if seen[key] {
				t.Errorf("dictionary %d has value %q twice", i, key)
			}
			seen[key] = true
		}
		Free(&block)
	}
}

// Which dictionaries can become one.
func TestUnited(t *testing.T) {
	text := func(id int64) *arrowipc.Field { return encodedWith(id, 8, true, fieldOf(t, "a", str)) }
	ordered := text(1)
	ordered.Dictionary.Ordered = true
	outer := encodedWith(2, 8, true, fieldOf(t, "o", structOf(i8, str)))
	inner := *text(1)
	inner.Name = outer.Children[1].Name
	outer.Children[1] = &inner
	for name, tc := range map[string]struct {
		fields []*arrowipc.Field
		want   []bool
	}{
		"text":    {[]*arrowipc.Field{text(1)}, []bool{true}},
		"two":     {[]*arrowipc.Field{text(1), text(2)}, []bool{true, true}},
		"ordered": {[]*arrowipc.Field{ordered, text(2)}, []bool{false, true}},
		"nested":  {[]*arrowipc.Field{outer, text(3)}, []bool{false, false, true}},
		"list":    {[]*arrowipc.Field{encodedWith(1, 8, true, fieldOf(t, "l", shapes[11].dt))}, []bool{false}},
	} {
		if got := united(buildSchema(t, tc.fields...).Layout); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// An index column of 8 bits cannot tell more values apart than it has numbers for: what does not fit begins another batch.
// A dictionary that is too large by itself is nobody's business.
func TestJoinOfNarrowIndices(t *testing.T) {
	for _, signed := range []bool{true, false} {
		t.Run(fmt.Sprint("signed ", signed), func(t *testing.T) {
			s := newStore(t, Options{Workers: 1})
			schema := buildSchema(t, encodedWith(1, 8, signed, fieldOf(t, "a", str)))
			most := int64(256)
			if signed {
				most = 128
			}
			var list []*Batch
			var want []string
			put := func(first, values, used int64) {
				t.Helper()
				in := begin(t, s, schema, IngestOptions{})
				var v []string
				var at []int64
				for i := range values {
					v = append(v, fmt.Sprintf("<%d>", first+i))
				}
				for i := range used {
					at = append(at, i)
					want = append(want, v[i])
				}
				if err := addDictionary(t, in, 1, false, texts(v...), compress.None); err != nil {
					t.Fatal(err)
				}
				if err := addBatch(t, in, indices(1, at...), compress.None); err != nil {
					t.Fatal(err)
				}
				stored, err := in.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, stored...)
			}
			put(0, 60, 60)
			put(0, 50, 50)       // has nothing new
			put(60, most-60, 60) // fills it
			put(most, 1, 1)      // begins the next
			put(1000, 300, 100)  // is too large beside anything
			put(1050, 10, 10)    // is in it, but not where it could be pointed at
			put(7, 1, 1)
			list = joined(t, s, schema, list, s.Joins(schema.Layout, list, true))
			var rows []int64
			for _, b := range list {
				rows = append(rows, b.Rows())
			}
			if want := []int64{170, 1, 100, 11}; !slices.Equal(rows, want) {
				t.Errorf("batches of %d rows, want %d", rows, want)
			}
			got, _ := readAll(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, list, 1<<40)
			for i, row := range got {
				if i >= len(want) || !strings.Contains(row, want[i]) {
					t.Fatalf("row %d reads %q, want %v", i, row, want[i])
				}
			}
			releaseAll(list)
			noDictionaries(t, s)
		})
	}
}

// Dictionaries that grow from append to append, and those that come again in another order, end as one; what is large is
// left as it is.
func TestJoinsOfDictionaries(t *testing.T) {
	s := newStore(t, Options{Workers: 1, JoinBelow: 4 << 10, MaxMessage: 64 << 10})
	schema := buildSchema(t, encodedWith(1, 32, true, fieldOf(t, "a", str)))
	put := func(values ...string) []*Batch {
		t.Helper()
		in := begin(t, s, schema, IngestOptions{})
		if err := addDictionary(t, in, 1, false, texts(values...), compress.None); err != nil {
			t.Fatal(err)
		}
		if err := addBatch(t, in, indices(4, 0, int64(len(values)-1)), compress.None); err != nil {
			t.Fatal(err)
		}
		out, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var list []*Batch
	var words []string
	for i := range 40 {
		words = append(words, fmt.Sprint("word ", i))
		list = append(list, put(words...)...)
	}
	last := list[len(list)-1].dicts[0]
	runs := s.Joins(schema.Layout, list, true)
	if len(runs) < 2 || runs[0].First != 0 || runs[len(runs)-1].Last != 40 {
		t.Errorf("runs %v, want several that are all", runs)
	}
	list = joined(t, s, schema, list, runs)
	for len(list) > 1 {
		runs := s.Joins(schema.Layout, list, true)
		if len(runs) == 0 {
			t.Fatalf("%d batches stay", len(list))
		}
		list = joined(t, s, schema, list, runs)
	}
	if list[0].dicts[0].digest != last.digest {
		t.Error("the dictionary that has all values was stored anew")
	}
	// Automatic: what is open because of its dictionaries is joined only where it is worth it.
	for range 20 {
		list = append(list, put("y", "x")...)
	}
	if runs := s.Joins(schema.Layout, list, false); !slices.Equal(runs, []Run{{1, 21}}) && !slices.Equal(runs, []Run{{0, 21}}) {
		t.Errorf("runs %v", runs)
	}
	large := put(strings.Repeat("a", 5000), strings.Repeat("b", 5000))
	if runs := s.Joins(schema.Layout, append(list[:1:1], large...), true); runs != nil {
		t.Errorf("a large dictionary: runs %v", runs)
	}
	releaseAll(large)
	releaseAll(list)
	noDictionaries(t, s)
}
