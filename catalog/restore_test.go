package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
)

// restart gives what a catalogue of a new run has after the restore of all durable datasets of an old one.
func restart(t rapid.TB, old *Catalog, o Options) *Catalog {
	c := New(o)
	for _, g := range old.List("") {
		if g.Durable {
			for _, b := range g.Batches {
				b.Retain()
			}
			if err := c.Restore(Restored{
				Dataset: g.Dataset, ID: g.ID, Schema: g.Schema, Codec: g.Codec, Created: g.Created, Expires: g.Expires,
				Pinned: g.Pinned(), Order: g.Order, OrderDropped: g.OrderDropped,
			}, g.Batches); err != nil {
				t.Fatal(err)
			}
		}
		g.Release()
	}
	return c
}

// A restored dataset is the one that was kept, with all that can be asked of it, and goes on as that one would.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		c, schema, ctx := keeping(k), flat(t), context.Background()
		fakes, list := batches(t, schema, 1, 2, 3)
		fakes[0].dictionaries, fakes[2].dictionaries = pool[:2], pool[1:]
		p, err := c.Begin("d", Create, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.TTL, p.Durable, p.Pin = time.Hour, yes, yes
		follows := func(last, first any) bool { return last.(int) <= first.(int) }
		g, err := p.Commit(ctx, list, "lz4", &Order{SortedBy: []string{"n"}, First: 1, Last: 3, Follows: follows})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Release()
		time.Sleep(time.Minute)

		again := restart(t, c, Options{Keeper: k})
		c.Clear()
		k.wantKept(t, again)
		r := current(t, again, "d")
		want, err1 := c.Describe(g)
		got, err2 := again.Describe(r)
		if err := errors.Join(err1, err2); err != nil || string(got) != string(want) {
			t.Errorf("restored as\n%s\nwant\n%s\n%v", got, want, err)
		}
		wantTotals(t, r, schema, fakes)
		r.Release()
		wantRefs(t, fakes, 2)
		if err := again.Restore(Restored{Dataset: "d", ID: "x", Schema: schema}, nil); !errors.Is(err, ErrExists) {
			t.Errorf("restored once more: %v", err)
		}
		more, list := batches(t, schema, 4)
		p, err = again.Begin("d", Append, schema)
		if err != nil {
			t.Fatal(err)
		}
		appended, err := p.Commit(ctx, list, "lz4", &Order{SortedBy: []string{"n"}, First: 3, Last: 4, Follows: follows})
		if err != nil {
			t.Fatal(err)
		}
		if appended.ID == g.ID || appended.Order == nil || appended.Order.First != 1 || appended.Order.Last != 4 {
			t.Errorf("the append made %s of %+v", appended.ID, appended.Order)
		}
		appended.Release()
		k.wantKept(t, again)
		time.Sleep(time.Hour)
		synctest.Wait()
		if again.Len() != 0 || len(k.kept) != 0 {
			t.Errorf("%d datasets after the time of the only one, kept %q", again.Len(), k.kept)
		}
		wantRefs(t, more, 0)
		wantRefs(t, fakes, 1) // which this test holds
	})
}

// In any order of changes, with a keeper that fails at times, what is kept is the durable datasets as they are; and a restart has
// them again. (rapid prints the seed of a failure.)
func TestKeptModel(t *testing.T) {
	schemas := []*arrowipc.Schema{flat(t), buildSchema(t, "", structField("p", int64Field("x")))}
	rapid.Check(t, func(t *rapid.T) {
		k, ctx := newKeeper(), context.Background()
		o := Options{Keeper: k, Durable: rapid.Bool().Draw(t, "durable server")}
		c := New(o)
		var all []*fakeBatch
		expect := func(err error, also ...error) bool {
			for _, e := range append(also, errKeeper) {
				if errors.Is(err, e) {
					return false
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			return true
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "a/b", "c"}).Draw(t, "name")
			k.failing(nil)
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				k.failing(errKeeper)
			}
			switch rapid.SampledFrom([]string{"put", "put", "put", "transaction", "drop", "pin", "restart"}).Draw(t, "what") {
			case "put":
				mode := rapid.SampledFrom([]Mode{Replace, Append, Append, Create}).Draw(t, "mode")
				schema := schemas[rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "schema")]
				p, err := c.Begin(name, mode, schema)
				if !expect(err, ErrExists, ErrSchemaMismatch) {
					continue
				}
				p.Durable = rapid.SampledFrom([]*bool{nil, yes, no}).Draw(t, "durable")
				b := newBatch(t, schema, len(all))
				all = append(all, b)
				g, err := p.Commit(ctx, []Batch{b}, "zstd", nil)
				if expect(err) {
					g.Release()
				} else {
					b.Release()
				}
			case "transaction":
				tx, err := c.BeginTransaction(name, Replace, time.Hour)
				expect(err)
				p, err := tx.Begin(schemas[0])
				expect(err)
				p.Durable = rapid.SampledFrom([]*bool{nil, yes, no}).Draw(t, "durable")
				b := newBatch(t, schemas[0], len(all))
				all = append(all, b)
				_, err = p.Stage(ctx, []Batch{b}, "zstd", nil, "")
				expect(err)
				if _, err := c.CommitTransaction(ctx, name, tx.ID, nil); !expect(err) {
					if open, err := tx.Abort(ctx); !open || err != nil {
						t.Fatalf("a transaction that failed: %v, %v", open, err)
					}
				}
			case "drop":
				expect(c.Drop(ctx, name), ErrNotFound)
			case "pin":
				expect(c.SetPinned(ctx, name, rapid.Bool().Draw(t, "pinned")), ErrNotFound)
			case "restart":
				again := restart(t, c, o)
				c.Clear()
				c = again
			}
			k.wantKept(t, c)
		}
		c.Clear()
		for _, b := range all {
			if n := b.refs.Load(); n != 0 {
				t.Fatalf("batch %d is left with %d references", b.id, n)
			}
		}
	})
}
