package catalog

import (
	"context"
	"strings"
	"testing"
)

// Where a batch was not measured, nothing is said of values, only of sizes and of nulls of a column's own; that stays so
// when measured batches follow.
func TestFactsWithoutStatistics(t *testing.T) {
	schema := buildSchema(t, "", int64Field("n"), structField("p", int64Field("x")))
	c := newCatalog()
	fakes, list := batches(t, schema, 1, 2)
	fakes[1].statistics = nil
	p, err := c.Begin("d", Create, schema)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Commit(context.Background(), list, "none", nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	check := func(rows string) {
		t.Helper()
		g := current(t, c, "d")
		defer g.Release()
		facts := string(g.FactsJSON())
		if g.Statistics != nil || strings.Contains(facts, `"min"`) || strings.Contains(facts, `"fields"`) || !strings.Contains(facts, rows) {
			t.Errorf("statistics %v, facts %s", g.Statistics, facts)
		}
	}
	check(`"rows":5,"batches":2`)
	put(t, c, "d", Append, schema, 3)
	check(`"rows":9,"batches":3`)
	put(t, c, "d", Replace, schema, 3)
	if g := current(t, c, "d"); g.Statistics == nil || !strings.Contains(string(g.FactsJSON()), `"min":3`) {
		t.Errorf("after a put: %s", g.FactsJSON())
	} else {
		g.Release()
	}
}

// Eviction leaves datasets alone whose bytes lie elsewhere, appended to or not, until they are replaced.
func TestEvictLeavesWhatIsInPlace(t *testing.T) {
	c, _ := shelf(t, 10, 10)
	_, list := batches(t, flat(t), 7)
	p, err := c.Begin("there", Create, flat(t))
	if err != nil {
		t.Fatal(err)
	}
	p.InPlace = true
	g, err := p.Commit(context.Background(), list, "none", nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	wantEvicted(t, c.Evict(1<<40, nobody, "x"), "d0", "d1")
	put(t, c, "there", Append, flat(t), 8)
	wantEvicted(t, c.Evict(1<<40, nobody, "x"))
	put(t, c, "there", Replace, flat(t), 9)
	wantEvicted(t, c.Evict(1<<40, nobody, "x"), "there")
}
