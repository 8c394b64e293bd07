package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func openTransaction(t testing.TB, c *Catalog, name string, mode Mode) *Transaction {
	t.Helper()
	tx, err := c.BeginTransaction(name, mode, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// stage completes a put of a transaction with batches of these ids.
func stage(t testing.TB, tx *Transaction, id string, order *Order, batchIDs ...int) []*fakeBatch {
	t.Helper()
	fakes, list := batches(t, flat(t), batchIDs...)
	p, err := tx.Begin(flat(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stage(context.Background(), list, "zstd", order, id); err != nil {
		t.Fatal(err)
	}
	return fakes
}

func TestTransaction(t *testing.T) {
	for _, tc := range []struct {
		name string
		mode Mode
		puts []string
		want []int
	}{
		{"all, as they were completed", Replace, nil, []int{1, 2, 3, 4, 5}},
		{"in another order", Replace, []string{"c", "a", "b"}, []int{5, 1, 2, 3, 4}},
		{"some", Replace, []string{"b"}, []int{3, 4}},
		{"appended", Append, nil, []int{9, 1, 2, 3, 4, 5}},
		{"appended in an order", Append, []string{"b", "a"}, []int{9, 3, 4, 1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCatalog()
			all := put(t, c, "d", Replace, flat(t), 9)
			before := current(t, c, "d")
			tx := openTransaction(t, c, "d", tc.mode)
			all = append(all, stage(t, tx, "a", nil, 1, 2)...)
			all = append(all, stage(t, tx, "b", nil, 3, 4)...)
			all = append(all, stage(t, tx, "c", nil, 5)...)
			now := current(t, c, "d")
			if now != before {
				t.Error("something is visible before the commit")
			}
			now.Release()
			before.Release()
			facts, err := c.CommitTransaction(context.Background(), "d", tx.ID, tc.puts)
			if err != nil {
				t.Fatal(err)
			}
			g := current(t, c, "d")
			wantIDs(t, g, tc.want...)
			if string(facts) != string(g.FactsJSON()) {
				t.Errorf("the commit answers %s", facts)
			}
			g.Release()
			for _, f := range all {
				want := int64(0)
				if slices.Contains(tc.want, f.id) {
					want = 1
				}
				if got := f.refs.Load(); got != want {
					t.Errorf("batch %d has %d references, want %d", f.id, got, want)
				}
			}
			if again, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); err != nil || string(again) != string(facts) {
				t.Errorf("the commit sent again: %s, %v", again, err)
			}
			if tc.puts != nil {
				if again, err := c.CommitTransaction(context.Background(), "d", tx.ID, tc.puts); err != nil || string(again) != string(facts) {
					t.Errorf("the same commit sent again: %s, %v", again, err)
				}
				if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, append(slices.Clone(tc.puts), "x")); !errors.Is(err, ErrResent) {
					t.Errorf("another commit: %v", err)
				}
			}
			if _, err := c.CommitTransaction(context.Background(), "e", tx.ID, nil); !errors.Is(err, ErrNoTransaction) {
				t.Errorf("the commit of another dataset: %v", err)
			}
			if aborted(t, tx) || c.Transactions() != 0 {
				t.Error("it is still open")
			}
			c.Clear()
			wantRefs(t, all, 0)
		})
	}
}

func TestStagedFacts(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	tx := openTransaction(t, c, "d", Replace)
	fakes, list := batches(t, flat(t), 1, 2)
	p, err := tx.Begin(flat(t))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p.Stage(context.Background(), list, "lz4", nil, "p")
	if err != nil {
		t.Fatal(err)
	}
	var got Staged
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Dataset != "d" || got.Transaction != tx.ID || got.PutID != "p" || got.Rows != fakes[0].rows+fakes[1].rows || got.Batches != 2 ||
		got.StoredBytes != fakes[0].stored+fakes[1].stored || got.DecodedBytes == 0 || got.Codec != "lz4" {
		t.Errorf("facts %s", raw)
	}
}

// Whatever ends a transaction but a commit gives all of it back, and what comes late is refused.
func TestTransactionThatEnds(t *testing.T) {
	for name, end := range map[string]func(*Catalog, *Transaction){
		"aborted": func(_ *Catalog, tx *Transaction) { tx.Abort(context.Background()) },
		"expired": func(*Catalog, *Transaction) { time.Sleep(time.Minute) },
		"cleared": func(c *Catalog, _ *Transaction) { c.Clear() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{})
				tx := openTransaction(t, c, "d", Replace)
				if want := time.Now().Add(time.Minute); !tx.Expires.Equal(want) {
					t.Errorf("expires %v, want %v", tx.Expires, want)
				}
				fakes := stage(t, tx, "a", nil, 1, 2)
				late, err := tx.Begin(flat(t))
				if err != nil {
					t.Fatal(err)
				}
				end(c, tx)
				synctest.Wait()
				wantRefs(t, fakes, 0)
				mine, list := batches(t, flat(t), 3)
				if _, err := late.Stage(context.Background(), list, "zstd", nil, "b"); !errors.Is(err, ErrNoTransaction) {
					t.Errorf("a late put: %v", err)
				}
				wantRefs(t, mine, 1)
				if _, err := c.Transaction("d", tx.ID); !errors.Is(err, ErrNoTransaction) {
					t.Errorf("it is found: %v", err)
				}
				if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); !errors.Is(err, ErrNoTransaction) {
					t.Errorf("it is committed: %v", err)
				}
				if aborted(t, tx) || c.Transactions() != 0 || c.Len() != 0 {
					t.Error("it is still open, or there is a dataset")
				}
			})
		})
	}
}

// A commit that is refused leaves the transaction as it was.
func TestRefusedCommits(t *testing.T) {
	c := newCatalog()
	tx := openTransaction(t, c, "d", Create)
	if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); !errors.Is(err, ErrIncomplete) {
		t.Errorf("of nothing: %v", err)
	}
	fakes := stage(t, tx, "a", nil, 1)
	fakes = append(fakes, stage(t, tx, "", nil, 2)...)
	for _, puts := range [][]string{{}, {"x"}, {"a", "x"}, {"a", "a"}, {""}} {
		if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, puts); !errors.Is(err, ErrIncomplete) {
			t.Errorf("of %q: %v", puts, err)
		}
	}
	other := put(t, c, "d", Replace, flat(t), 3)
	if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); !errors.Is(err, ErrExists) {
		t.Errorf("over an existing dataset: %v", err)
	}
	wantRefs(t, fakes, 1)
	if err := c.Drop(context.Background(), "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, []string{"a"}); err != nil {
		t.Error(err)
	}
	wantRefs(t, fakes[:1], 1)
	wantRefs(t, append(fakes[1:], other...), 0)
	c.Clear()
	wantRefs(t, fakes, 0)
}

func TestTransactionSchemas(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	other := buildSchema(t, "", int64Field("z"))
	tx := openTransaction(t, c, "d", Replace)
	p, err := tx.Begin(other) // begins first, is completed second
	if err != nil {
		t.Fatal(err)
	}
	stage(t, tx, "a", nil, 1)
	if _, err := tx.Begin(other); !errors.Is(err, ErrSchemaMismatch) || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("Begin: %v", err)
	}
	mine, list := batches(t, other, 2)
	if _, err := p.Stage(context.Background(), list, "zstd", nil, "b"); !errors.Is(err, ErrConflict) {
		t.Errorf("Stage: %v", err)
	}
	wantRefs(t, mine, 1)

	put(t, c, "e", Replace, flat(t), 3)
	appending := openTransaction(t, c, "e", Append)
	if _, err := appending.Begin(other); !errors.Is(err, ErrSchemaMismatch) {
		t.Errorf("Begin of an append: %v", err)
	}
	stage(t, appending, "", nil, 4)
	put(t, c, "e", Replace, other, 5)
	if _, err := c.CommitTransaction(context.Background(), "e", appending.ID, nil); !errors.Is(err, ErrConflict) {
		t.Errorf("commit to a changed dataset: %v", err)
	}
	if _, err := c.BeginTransaction("e", Create, time.Minute); !errors.Is(err, ErrExists) {
		t.Errorf("a transaction that is to create what is there: %v", err)
	}
}

func TestTransactionsAreBounded(t *testing.T) {
	c := New(Options{MaxTransactions: 1})
	tx := openTransaction(t, c, "d", Replace)
	if _, err := c.BeginTransaction("e", Replace, time.Minute); !errors.Is(err, ErrTooMany) {
		t.Errorf("a second one: %v", err)
	}
	aborted(t, tx)
	aborted(t, openTransaction(t, c, "e", Replace))
}

func TestTransactionPutIDs(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	claimed(t, c, "d", "p").Done([]byte("outside"), nil)
	for range 2 { // another transaction, another scope
		tx := openTransaction(t, c, "d", Replace)
		claim, _, err := tx.ClaimPut(t.Context(), "p", Sent{})
		if err != nil || claim == nil {
			t.Fatalf("claim: %v", err)
		}
		claim.Done([]byte("inside"), nil)
		if _, facts, err := tx.ClaimPut(t.Context(), "p", Sent{}); string(facts) != "inside" || err != nil {
			t.Errorf("again: %s, %v", facts, err)
		}
	}
}

// The order of a commit's rows is joined put by put, and the last TTL and pin count.
func TestTransactionJoinsOrders(t *testing.T) {
	sorted := func(first, last int) *Order {
		return &Order{SortedBy: []string{"n"}, First: first, Last: last, Follows: func(last, first any) bool { return last.(int) <= first.(int) }}
	}
	for _, tc := range []struct {
		puts []string
		want bool
	}{{nil, true}, {[]string{"a", "b"}, true}, {[]string{"b", "a"}, false}, {[]string{"a", "c"}, false}, {[]string{"b"}, true}} {
		c := newCatalog()
		tx := openTransaction(t, c, "d", Replace)
		stage(t, tx, "a", sorted(1, 5), 1)
		p, err := tx.Begin(flat(t))
		if err != nil || !slices.Equal(p.SortedBy(), []string{"n"}) {
			t.Fatalf("a second put is sorted by %q, %v", p.SortedBy(), err)
		}
		stage(t, tx, "b", sorted(5, 7), 2)
		if tc.puts != nil {
			stage(t, tx, "c", nil, 3)
		}
		if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, tc.puts); err != nil {
			t.Fatal(err)
		}
		g := current(t, c, "d")
		if got := g.Order != nil; got != tc.want {
			t.Errorf("%q: ordered is %v", tc.puts, got)
		}
		if tc.puts == nil && (g.Order.First != 1 || g.Order.Last != 7) {
			t.Errorf("from %v to %v", g.Order.First, g.Order.Last)
		}
		g.Release()
		c.Clear()
	}
}

func TestTransactionTTLAndPin(t *testing.T) {
	c := newCatalog()
	defer c.Clear()
	tx := openTransaction(t, c, "d", Replace)
	yes := true
	for i, attributes := range []Put{{TTL: time.Hour, Pin: &yes}, {TTL: time.Minute}, {}} {
		_, list := batches(t, flat(t), i)
		p, err := tx.Begin(flat(t))
		if err != nil {
			t.Fatal(err)
		}
		p.TTL, p.Pin = attributes.TTL, attributes.Pin
		if _, err := p.Stage(context.Background(), list, "zstd", nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CommitTransaction(context.Background(), "d", tx.ID, nil); err != nil {
		t.Fatal(err)
	}
	g := current(t, c, "d")
	defer g.Release()
	if !g.Pinned() || !g.Expires.Equal(noon.Add(time.Minute)) {
		t.Errorf("pinned %v, expires %v", g.Pinned(), g.Expires)
	}
}

// aborted aborts a transaction and tells whether it was open.
func aborted(t testing.TB, tx *Transaction) bool {
	t.Helper()
	open, err := tx.Abort(context.Background())
	if err != nil {
		t.Error(err)
	}
	return open
}
