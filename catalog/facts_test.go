package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
)

// The JSON of a generation's facts, byte by byte but for the generation's random id.
func TestFactsJSON(t *testing.T) {
	schema := buildSchema(t, "", int64Field("n<&>"), structField("p", int64Field("x"), structField("q", int64Field("y"))))
	c := newCatalog()
	put(t, c, "travel/flights", Replace, schema, 1, 2) // 2 and 3 rows, 72 and 80 stored bytes
	g := current(t, c, "travel/flights")
	defer g.Release()
	// Node i of a batch of r rows has 8r(i+1) plain and 3r(i+1)+8 stored bytes, (id+i) mod (r+1) nulls.
	// The bounds of a number are the id and ten times the id.
	bounds := `"min":1,"max":20,"exact":true`
	want := `{"dataset":"travel/flights","generation":"` + g.ID + `","rows":5,"batches":2,"decoded_bytes":600,"stored_bytes":152,` +
		`"codec":"zstd","created":"2024-02-29T11:00:00.005Z","columns":[` +
		`{"name":"n\u003c\u0026\u003e","type":"int64","decoded_bytes":40,"stored_bytes":31,"null_count":3,` + bounds + `},` +
		`{"name":"p","type":"struct\u003cx: int64, q: struct\u003cy: int64\u003e\u003e","decoded_bytes":560,"stored_bytes":274,` +
		`"null_count":5,"fields":[{"path":"p.x","type":"int64","null_count":0,` + bounds + `},` +
		`{"path":"p.q","type":"struct\u003cy: int64\u003e","null_count":2},{"path":"p.q.y","type":"int64","null_count":4,` + bounds + `}]}]}`
	if got := string(g.FactsJSON()); got != want {
		t.Errorf("facts\n%s\nwant\n%s", got, want)
	}
	if !bytes.Equal(g.FactsJSON(), g.FactsJSON()) {
		t.Error("the facts of one generation differ from call to call")
	}
}

// No rows and no columns are still numbers and a list, never null.
func TestFactsOfNothing(t *testing.T) {
	c := newCatalog()
	put(t, c, "d", Replace, buildSchema(t, ""))
	g := current(t, c, "d")
	defer g.Release()
	if got := string(g.FactsJSON()); !strings.HasSuffix(got, `"columns":[]}`) || !strings.Contains(got, `"rows":0,"batches":0,`) {
		t.Errorf("facts %s", got)
	}
}

// Column names are bytes from outside: the facts are JSON whatever they are.
func TestFactsOfStrangeNames(t *testing.T) {
	for _, name := range []string{"", "a\xffb", "\x00", "\"", "\\", "\u2028", "日本"} {
		c := newCatalog()
		put(t, c, "d", Replace, buildSchema(t, "", int64Field(name)), 1)
		g := current(t, c, "d")
		var f Facts
		if err := json.Unmarshal(g.FactsJSON(), &f); err != nil {
			t.Errorf("column %q: %v", name, err)
		} else if want := strings.ToValidUTF8(name, "\uFFFD"); f.Columns[0].Name != want {
			t.Errorf("column %q came back as %q, want %q", name, f.Columns[0].Name, want)
		}
		g.Release()
	}
}

// An append's totals are the old generation's and the new batches', and the old ones stay what they were.
func TestTotalsAddUp(t *testing.T) {
	schema := buildSchema(t, "", int64Field("n"), structField("p", utf8Field("y")))
	c := newCatalog()
	fakes := put(t, c, "d", Append, schema, 1, 2, 3)
	old := current(t, c, "d")
	defer old.Release()
	before := fmt.Sprint(old.Rows, old.Decoded, old.Stored, old.Nodes)
	fakes = append(fakes, put(t, c, "d", Append, schema, 4, 5)...)
	g := current(t, c, "d")
	defer g.Release()
	wantTotals(t, g, schema, fakes)
	if after := fmt.Sprint(old.Rows, old.Decoded, old.Stored, old.Nodes); after != before {
		t.Errorf("an append changed the totals of the generation before: %s, were %s", after, before)
	}
}

// wantTotals adds the batches' counts up anew.
func wantTotals(t rapid.TB, g *Generation, schema *arrowipc.Schema, fakes []*fakeBatch) {
	t.Helper()
	var rows, decoded, stored int64
	nodes := make([]NodeFacts, schema.Layout.Node1)
	var dictionaries []fakeDictionary
	for _, b := range fakes {
		rows += b.rows
		stored += b.stored
		for _, d := range b.dictionaries {
			if !slices.Contains(dictionaries, d) {
				dictionaries = append(dictionaries, d)
				decoded += d.Decoded
				stored += d.Stored
			}
		}
		for i, n := range b.nodes {
			nodes[i].Decoded += n.Decoded
			nodes[i].Stored += n.Stored
			nodes[i].Nulls += n.Nulls
			decoded += n.Decoded
		}
	}
	if g.Rows != rows || g.Decoded != decoded || g.Stored != stored || fmt.Sprint(g.Nodes) != fmt.Sprint(nodes) {
		t.Errorf("generation %s: %d rows, %d and %d bytes, nodes %v; want %d, %d, %d, %v",
			g.ID, g.Rows, g.Decoded, g.Stored, g.Nodes, rows, decoded, stored, nodes)
	}
	if !maps.Equal(g.Dictionaries, byOrdinal(dictionaries)) {
		t.Errorf("generation %s has the dictionaries %v, want %v", g.ID, g.Dictionaries, dictionaries)
	}
}
