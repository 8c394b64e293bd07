package catalog

import (
	"errors"
	"strings"
	"testing"
)

// A put that is sent again is compared with the one that was committed, as far as it says what it is; a restored one of
// which nothing is known is taken for the same.
func TestResentPuts(t *testing.T) {
	k := newKeeper()
	c, schema := New(Options{Keeper: k}), flat(t)
	other := buildSchema(t, "", int64Field("n"), utf8Field("other"))
	relabelled := buildSchema(t, "from elsewhere", int64Field("n"), utf8Field("s"))
	claim, _, err := c.ClaimPut(t.Context(), "d", "p", Sent{Mode: Append})
	if err != nil {
		t.Fatal(err)
	}
	fakes, list := batches(t, schema, 1, 2)
	p, err := c.Begin("d", Append, schema)
	if err != nil {
		t.Fatal(err)
	}
	p.Claim, p.Durable = claim, yes
	g, err := p.Commit(t.Context(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	rows := func(n int64) *int64 { return &n }
	there := fakes[0].rows + fakes[1].rows
	restarted := New(Options{Keeper: k})
	restarted.RestorePuts(k.puts)
	old := New(Options{})
	for _, p := range k.puts {
		p.What = ""
		old.RestorePuts([]KeptPut{p})
	}
	for name, tc := range map[string]struct {
		sent Sent
		says string // "": the same
	}{
		"the mode alone": {Sent{Mode: Append}, ""},
		"all":            {Sent{Append, rows(there), schema}, ""},
		"other metadata": {Sent{Append, nil, relabelled}, ""},
		"another mode":   {Sent{Mode: Create}, "mode append, now create"},
		"other rows":     {Sent{Append, rows(there + 1), nil}, "rows, now"},
		"another schema": {Sent{Append, rows(there), other}, "another schema"},
	} {
		for _, c := range []*Catalog{c, restarted} {
			again, facts, err := c.ClaimPut(t.Context(), "d", "p", tc.sent)
			if again != nil {
				t.Fatalf("%s: it may be put again", name)
			}
			if tc.says == "" && (err != nil || string(facts) != string(g.FactsJSON())) {
				t.Errorf("%s: %s, %v", name, facts, err)
			}
			if tc.says != "" && (!errors.Is(err, ErrResent) || !strings.Contains(err.Error(), tc.says) || facts != nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, facts, err := old.ClaimPut(t.Context(), "d", "p", tc.sent); err != nil || facts == nil {
			t.Errorf("%s, of one that nothing is known of: %v", name, err)
		}
	}
	c.Clear()
}
