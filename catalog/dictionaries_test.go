package catalog

import (
	"context"
	"maps"
	"strings"
	"testing"
)

// A dictionary is counted once in a generation, however many batches, puts and ids share it, and not as a column's.
func TestDictionariesCountOnce(t *testing.T) {
	schema := flat(t)
	small := fakeDictionary{Key: "small", Ordinal: 3, Decoded: 1000, Stored: 500}
	grown := fakeDictionary{Key: "grown", Ordinal: 3, Decoded: 3000, Stored: 900}
	c := newCatalog()
	commit := func(mode Mode, id int, dictionaries ...fakeDictionary) *Generation {
		t.Helper()
		fakes, list := batches(t, schema, id, id+1)
		for _, b := range fakes {
			b.dictionaries = dictionaries
		}
		p, err := c.Begin("d", mode, schema)
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Commit(context.Background(), list, "zstd", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Release)
		return g
	}
	beyond := func(g *Generation) (decoded, stored int64) { // what is counted beside batches
		decoded, stored = g.Decoded, g.Stored
		for _, b := range g.Batches {
			stored -= b.StoredBytes()
		}
		for _, n := range g.Nodes {
			decoded -= n.Decoded
		}
		return decoded, stored
	}
	for _, tc := range []struct {
		mode Mode
		put  []fakeDictionary
		want []fakeDictionary
	}{
		{Append, []fakeDictionary{small}, []fakeDictionary{small}},
		{Append, nil, []fakeDictionary{small}},
		{Append, []fakeDictionary{small}, []fakeDictionary{small}},
		{Append, []fakeDictionary{grown, small}, []fakeDictionary{small, grown}},
		{Replace, []fakeDictionary{grown}, []fakeDictionary{grown}},
		{Replace, nil, nil},
	} {
		var before *Generation
		var had map[int64]DictionaryFacts
		if list := c.List(""); len(list) > 0 {
			before, had = list[0], maps.Clone(list[0].Dictionaries)
			t.Cleanup(before.Release)
		}
		g := commit(tc.mode, 1, tc.put...)
		if !maps.Equal(g.Dictionaries, byOrdinal(tc.want)) {
			t.Errorf("dictionaries %v, want %v", g.Dictionaries, tc.want)
		}
		var decoded, stored int64
		for _, d := range tc.want {
			decoded += d.Decoded
			stored += d.Stored
		}
		if d, s := beyond(g); d != decoded || s != stored {
			t.Errorf("%d and %d bytes of dictionaries, want %d and %d", d, s, decoded, stored)
		}
		for _, column := range g.Facts().Columns {
			if column.DecodedBytes >= 1000 {
				t.Errorf("column %q has %d bytes, dictionaries among them", column.Name, column.DecodedBytes)
			}
		}
		if strings.Contains(string(g.FactsJSON()), "small") {
			t.Error("a dictionary's key is in the facts")
		}
		if before != nil && !maps.Equal(before.Dictionaries, had) {
			t.Errorf("the generation before now has the dictionaries %v, had %v", before.Dictionaries, had)
		}
	}
}
