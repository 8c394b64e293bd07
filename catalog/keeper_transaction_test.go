package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// staged completes a put of one batch within a transaction.
func staged(t testing.TB, tx *Transaction, schema *arrowipc.Schema, id string, durable *bool, batch int) []*fakeBatch {
	t.Helper()
	fakes, list := batches(t, schema, batch)
	p, err := tx.Begin(schema)
	if err != nil {
		t.Fatal(err)
	}
	p.Durable = durable
	if _, err := p.Stage(context.Background(), list, "zstd", nil, id); err != nil {
		t.Fatal(err)
	}
	return fakes
}

// A transaction is durable if one of its puts is, and a commit that is sent again after a restart is answered.
func TestDurableTransaction(t *testing.T) {
	for _, tc := range []struct {
		name    string
		durable []*bool
		want    bool
	}{
		{"none says", []*bool{nil, nil}, false},
		{"one says yes", []*bool{yes, nil}, true},
		{"yes and no", []*bool{yes, no}, true},
		{"no and yes", []*bool{no, yes}, true},
		{"no", []*bool{no, nil}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			c, schema, ctx := keeping(k), flat(t), context.Background()
			tx := openTransaction(t, c, "d", Replace)
			for i, durable := range tc.durable {
				staged(t, tx, schema, "", durable, i)
			}
			facts, err := c.CommitTransaction(ctx, "d", tx.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			k.wantKept(t, c)
			if (len(k.kept) == 1) != tc.want {
				t.Errorf("kept is %q", k.kept)
			}
			again := New(Options{})
			again.RestorePuts(k.puts)
			repeated, err := again.CommitTransaction(ctx, "d", tx.ID, nil)
			if tc.want && (err != nil || string(repeated) != string(facts)) {
				t.Errorf("sent again after a restart: %s, %v", repeated, err)
			}
			if !tc.want && !errors.Is(err, ErrNoTransaction) {
				t.Errorf("sent again after a restart: %v", err)
			}
			c.Clear()
		})
	}
}

// A commit that cannot be kept leaves the transaction open.
func TestTransactionWhoseKeeperFails(t *testing.T) {
	k := newKeeper()
	c, schema, ctx := keeping(k), flat(t), context.Background()
	tx := openTransaction(t, c, "d", Replace)
	fakes := append(staged(t, tx, schema, "a", yes, 1), staged(t, tx, schema, "b", nil, 2)...)
	k.failing(errKeeper)
	if _, err := c.CommitTransaction(ctx, "d", tx.ID, []string{"a"}); !errors.Is(err, errKeeper) {
		t.Fatal(err)
	}
	wantRefs(t, fakes, 1)
	k.failing(nil)
	if _, err := c.CommitTransaction(ctx, "d", tx.ID, []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	g := current(t, c, "d")
	wantIDs(t, g, 2, 1)
	g.Release()
	k.wantKept(t, c)
	c.Clear()
	wantRefs(t, fakes, 0)
}

// What comes to a transaction while its commit is being kept waits for the outcome, or no longer than its context.
func TestWhileATransactionIsKept(t *testing.T) {
	for _, fails := range []error{nil, errKeeper} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper()
			c, schema, ctx := keeping(k), flat(t), context.Background()
			tx := openTransaction(t, c, "d", Replace)
			fakes := staged(t, tx, schema, "a", yes, 1)
			late, list := batches(t, schema, 2)
			p, err := tx.Begin(schema)
			if err != nil {
				t.Fatal(err)
			}
			k.failing(fails)
			goOn := k.holding()
			committed := make(chan error)
			go func() {
				_, err := c.CommitTransaction(ctx, "d", tx.ID, nil)
				committed <- err
			}()
			synctest.Wait()
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, err := tx.Abort(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("an abort that waits too long: %v", err)
			}
			if _, err := p.Stage(short, list, "zstd", nil, "b"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a put that waits too long: %v", err)
			}
			if _, err := c.CommitTransaction(short, "d", tx.ID, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a commit that waits too long: %v", err)
			}
			put := make(chan error)
			go func() {
				_, err := p.Stage(ctx, list, "zstd", nil, "b")
				put <- err
			}()
			synctest.Wait()
			goOn()
			if err := <-committed; !errors.Is(err, fails) {
				t.Errorf("the commit: %v", err)
			}
			err = <-put
			if fails != nil {
				if err != nil {
					t.Errorf("a put after a commit that failed: %v", err)
				}
				if !aborted(t, tx) {
					t.Error("the transaction is over")
				}
			} else {
				if !errors.Is(err, ErrNoTransaction) {
					t.Errorf("a put after the commit: %v", err)
				}
				wantRefs(t, late, 1)
				late[0].Release()
				if aborted(t, tx) {
					t.Error("the transaction is open")
				}
			}
			c.Clear()
			wantRefs(t, append(fakes, late...), 0)
		})
	}
}

// A transaction whose time comes while its commit is being kept is committed or, if that fails, over.
func TestTransactionLapsesWhileItIsKept(t *testing.T) {
	for _, fails := range []error{nil, errKeeper} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper()
			c, schema, ctx := keeping(k), flat(t), context.Background()
			tx, err := c.BeginTransaction("d", Replace, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			fakes := staged(t, tx, schema, "a", yes, 1)
			k.failing(fails)
			goOn := k.holding()
			committed := make(chan error)
			go func() {
				_, err := c.CommitTransaction(ctx, "d", tx.ID, nil)
				committed <- err
			}()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if c.Transactions() != 1 {
				t.Error("the transaction ended under its commit")
			}
			goOn()
			if err := <-committed; !errors.Is(err, fails) {
				t.Errorf("the commit: %v", err)
			}
			if c.Transactions() != 0 || (c.Len() == 1) != (fails == nil) {
				t.Errorf("%d transactions, %d datasets", c.Transactions(), c.Len())
			}
			if fails != nil {
				wantRefs(t, fakes, 0)
			}
			c.Clear()
			wantRefs(t, fakes, 0)
		})
	}
}

// The id of a durable put is kept with its generation: after a restart too, it is answered and not put again.
func TestDurablePutIDs(t *testing.T) {
	k := newKeeper()
	c, schema, ctx := keeping(k), flat(t), context.Background()
	putAs := func(c *Catalog, id string, durable *bool, batch int) (facts []byte, again bool) {
		claim, before, err := c.ClaimPut(ctx, "d", id, Sent{Mode: Append, Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if before != nil {
			return before, true
		}
		defer claim.Abort()
		_, list := batches(t, schema, batch)
		p, err := c.Begin("d", Append, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.Durable, p.Claim = durable, claim
		g, err := p.Commit(ctx, list, "zstd", nil)
		if err != nil {
			return nil, false
		}
		defer g.Release()
		return g.FactsJSON(), false
	}
	first, _ := putAs(c, "a", yes, 1)
	if facts, again := putAs(c, "a", yes, 1); !again || string(facts) != string(first) {
		t.Errorf("sent again: %s", facts)
	}
	k.failing(errKeeper)
	if facts, _ := putAs(c, "b", nil, 2); facts != nil {
		t.Error("a put whose keeper failed was answered")
	}
	k.failing(nil)
	second, again := putAs(c, "b", nil, 2)
	if again {
		t.Error("a put that failed is known")
	}

	restarted := New(Options{Keeper: k})
	restarted.RestorePuts(k.puts)
	for id, want := range map[string][]byte{"a": first, "b": second} {
		if facts, again := putAs(restarted, id, yes, 9); !again || string(facts) != string(want) {
			t.Errorf("put %s after a restart: %s, want %s", id, facts, want)
		}
	}
	if restarted.Len() != 0 {
		t.Error("a repeated put was stored")
	}
	c.Clear()
}

func TestRestoredPutsOfOneID(t *testing.T) {
	now := noon
	c := New(Options{Now: func() time.Time { return now }})
	c.RestorePuts([]KeptPut{
		{Name: putName("d", "old"), At: now.Add(-keptPutTime), Facts: []byte(`"old"`)},
		{Name: putName("d", "p"), At: now.Add(-time.Hour), Facts: []byte(`"first"`)},
		{Name: putName("d", "q"), At: now.Add(-time.Minute), Facts: []byte(`"other"`)},
		{Name: putName("d", "p"), At: now, Facts: []byte(`"second"`)},
	})
	for id, want := range map[string]string{"p": "second", "q": "other"} {
		_, facts, err := c.ClaimPut(context.Background(), "d", id, Sent{})
		var got string
		if err := errors.Join(err, json.Unmarshal(facts, &got)); err != nil || got != want {
			t.Errorf("put %s: %s, %v", id, facts, err)
		}
	}
	claimed(t, c, "d", "old").Abort()
	now = now.Add(keptPutTime - time.Second)
	claimed(t, c, "d", "q").Abort()
	if _, facts, _ := c.ClaimPut(context.Background(), "d", "p", Sent{}); string(facts) != `"second"` {
		t.Errorf("a day later: %s", facts)
	}
}
