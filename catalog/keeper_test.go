package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func keeping(k *fakeKeeper) *Catalog { return New(Options{Keeper: k}) }

// Which puts are durable, what is kept of them, and what takes it away.
func TestWhatIsKept(t *testing.T) {
	schema := flat(t)
	for _, tc := range []struct {
		name    string
		durable bool // of the server
		steps   func(c *Catalog) error
		calls   string
		last    bool // the dataset is durable at the end
	}{
		{"a put that does not say", false, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, nil, 1)
			return err
		}, "", false},
		{"a put that does not say, on a durable server", true, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, nil, 1)
			return err
		}, "keep d", true},
		{"a put that says no, on a durable server", true, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, no, 1)
			return err
		}, "", false},
		{"append to durable", false, func(c *Catalog) error {
			_, err1 := commitAs(t, c, "d", Append, schema, yes, 1)
			_, err2 := commitAs(t, c, "d", Append, schema, no, 2)
			return errors.Join(err1, err2)
		}, "keep d, keep d", true},
		{"append to what is not", true, func(c *Catalog) error {
			_, err1 := commitAs(t, c, "d", Append, schema, no, 1)
			_, err2 := commitAs(t, c, "d", Append, schema, nil, 2)
			return errors.Join(err1, err2)
		}, "", false},
		{"durable append to what is not", false, func(c *Catalog) error {
			_, err1 := commitAs(t, c, "d", Append, schema, nil, 1)
			_, err2 := commitAs(t, c, "d", Append, schema, yes, 2)
			return errors.Join(err1, err2)
		}, "keep d", true},
		{"replace by what is not", false, func(c *Catalog) error {
			_, err1 := commitAs(t, c, "d", Replace, schema, yes, 1)
			_, err2 := commitAs(t, c, "d", Replace, schema, nil, 2)
			return errors.Join(err1, err2)
		}, "keep d, forget d", false},
		{"drop", false, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, yes, 1)
			return errors.Join(err, c.Drop(context.Background(), "d"))
		}, "keep d, forget d", false},
		{"pin twice, unpin", false, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, yes, 1)
			ctx := context.Background()
			return errors.Join(err, c.SetPinned(ctx, "d", true), c.SetPinned(ctx, "d", true), c.SetPinned(ctx, "d", false))
		}, "keep d, keep d, keep d", true},
		{"eviction", false, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, yes, 1)
			if _, one := c.EvictDataset(context.Background(), "d", "why"); !errors.Is(one, ErrDurable) {
				return fmt.Errorf("evict: %w", one)
			}
			if names := c.Evict(1<<30, func(string) bool { return false }, "why"); names != nil {
				return fmt.Errorf("evicted %q", names)
			}
			return err
		}, "keep d", true},
		{"clear", false, func(c *Catalog) error {
			_, err := commitAs(t, c, "d", Replace, schema, yes, 1)
			return err
		}, "keep d", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			c := New(Options{Keeper: k, Durable: tc.durable})
			if err := tc.steps(c); err != nil {
				t.Fatal(err)
			}
			k.wantKept(t, c)
			if got := strings.Join(k.calls, ", "); got != tc.calls {
				t.Errorf("the keeper was called for %q, want %q", got, tc.calls)
			}
			if g, err := c.Current("d"); (err == nil && g.Durable) != tc.last {
				t.Errorf("at the end: %+v, %v", g, err)
			} else if err == nil {
				var d Description
				facts, err := c.Describe(g)
				if err := errors.Join(err, json.Unmarshal(facts, &d)); err != nil || d.Durable != tc.last {
					t.Errorf("describe says %s, %v", facts, err)
				}
				g.Release()
			}
			kept := len(k.kept)
			c.Clear()
			if len(k.kept) != kept || c.Len() != 0 {
				t.Error("clearing memory changed what is kept")
			}
		})
	}
}

func TestNothingKeeps(t *testing.T) {
	if err := (Options{Durable: true}).Validate(); err == nil {
		t.Error("durable puts without a keeper are valid")
	}
	c, schema := newCatalog(), flat(t)
	if _, err := commitAs(t, c, "d", Replace, schema, yes, 1); !errors.Is(err, ErrNotKept) || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("a durable put: %v", err)
	}
	if _, err := commitAs(t, c, "d", Replace, schema, no, 1); err != nil {
		t.Errorf("one that says no: %v", err)
	}
}

// A keeper that fails leaves all as it was: the dataset, its totals, its batches' references, and what may be done next.
func TestKeeperFails(t *testing.T) {
	schema, ctx := flat(t), context.Background()
	for _, tc := range []struct {
		name string
		do   func(c *Catalog) ([]*fakeBatch, error)
	}{
		{"replace", func(c *Catalog) ([]*fakeBatch, error) { return commitAs(t, c, "d", Replace, schema, yes, 7, 8) }},
		{"append", func(c *Catalog) ([]*fakeBatch, error) { return commitAs(t, c, "d", Append, schema, nil, 7, 8) }},
		{"volatile replace", func(c *Catalog) ([]*fakeBatch, error) { return commitAs(t, c, "d", Replace, schema, no, 7, 8) }},
		{"new", func(c *Catalog) ([]*fakeBatch, error) { return commitAs(t, c, "e", Create, schema, yes, 7, 8) }},
		{"drop", func(c *Catalog) ([]*fakeBatch, error) { return nil, c.Drop(ctx, "d") }},
		{"pin", func(c *Catalog) ([]*fakeBatch, error) { return nil, c.SetPinned(ctx, "d", true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			c := keeping(k)
			first, err := commitAs(t, c, "d", Append, schema, yes, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			g := current(t, c, "d")
			before, was := string(g.FactsJSON()), g.ID
			g.Release()
			k.failing(errKeeper)
			fakes, err := tc.do(c)
			if !errors.Is(err, errKeeper) {
				t.Fatalf("the error is %v", err)
			}
			wantRefs(t, fakes, 1)
			wantRefs(t, first, 1)
			g = current(t, c, "d")
			if string(g.FactsJSON()) != before || g.ID != was || g.Pinned() || c.Len() != 1 {
				t.Errorf("the dataset became %s", g.FactsJSON())
			}
			wantIDs(t, g, 1, 2)
			k.wantKept(t, c)
			k.failing(nil)
			for _, f := range fakes {
				f.Release()
			}
			if _, err := commitAs(t, c, "d", Append, schema, nil, 3); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, g, 1, 2)
			g.Release()
			k.wantKept(t, c)
			if fakes, err = tc.do(c); err != nil {
				t.Fatalf("once more: %v", err)
			}
			k.wantKept(t, c)
			c.Clear()
			wantRefs(t, append(fakes, first...), 0)
		})
	}
}

// Dictionaries of an append that failed are counted when it is sent again.
func TestDictionariesOfAFailedAppend(t *testing.T) {
	k := newKeeper()
	c, schema := keeping(k), flat(t)
	append := func(dictionaries ...fakeDictionary) error {
		fakes, list := batches(t, schema, 1)
		fakes[0].dictionaries = dictionaries
		p, err := c.Begin("d", Append, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.Durable = yes
		g, err := p.Commit(context.Background(), list, "zstd", nil)
		if err == nil {
			g.Release()
		}
		return err
	}
	if err := append(pool[0]); err != nil {
		t.Fatal(err)
	}
	k.failing(errKeeper)
	if err := append(pool[0], pool[1]); !errors.Is(err, errKeeper) {
		t.Fatal(err)
	}
	k.failing(nil)
	if err := append(pool[1], pool[2]); err != nil {
		t.Fatal(err)
	}
	g := current(t, c, "d")
	defer g.Release()
	if got, want := fmt.Sprint(g.Dictionaries), fmt.Sprint(byOrdinal(pool)); got != want {
		t.Errorf("the dictionaries are %s, want %s", got, want)
	}
}

// While a generation is being kept, readers see the one before and other datasets go on; whoever would change the same dataset
// waits for it, or for no longer than its context.
func TestWhileAGenerationIsKept(t *testing.T) {
	for name, change := range map[string]func(c *Catalog, ctx context.Context) error{
		"commit": func(c *Catalog, ctx context.Context) error {
			p, err := c.Begin("d", Replace, flat(t))
			if err == nil {
				var g *Generation
				if g, err = p.Commit(ctx, nil, "zstd", nil); err == nil {
					g.Release()
				}
			}
			return err
		},
		"drop": func(c *Catalog, ctx context.Context) error { return c.Drop(ctx, "d") },
		"pin":  func(c *Catalog, ctx context.Context) error { return c.SetPinned(ctx, "d", true) },
		"evict": func(c *Catalog, ctx context.Context) error {
			_, err := c.EvictDataset(ctx, "d", "why")
			if errors.Is(err, ErrDurable) {
				return nil // which the generation that was being kept is
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKeeper()
				c, schema := keeping(k), flat(t)
				put(t, c, "d", Replace, schema, 1)
				before := current(t, c, "d")
				before.Release()
				goOn := k.holding()
				committed := make(chan error)
				go func() {
					_, err := commitAs(t, c, "d", Replace, schema, yes, 2)
					committed <- err
				}()
				synctest.Wait()
				now := current(t, c, "d")
				if now.ID != before.ID {
					t.Error("a generation is visible before it is kept")
				}
				now.Release()
				put(t, c, "other", Replace, schema, 3) // does not hang
				if names := c.Evict(1<<30, func(name string) bool { return name == "other" }, "why"); names != nil {
					t.Errorf("evicted %q while it is being kept", names)
				}

				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if err := change(c, ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a change that waits too long: %v", err)
				}
				changed := make(chan error)
				go func() { changed <- change(c, context.Background()) }()
				synctest.Wait()
				select {
				case err := <-changed:
					t.Fatalf("a change did not wait: %v", err)
				default:
				}
				goOn()
				if err := errors.Join(<-committed, <-changed); err != nil {
					t.Error(err)
				}
				k.wantKept(t, c)
				c.Clear()
			})
		})
	}
}

// A durable dataset whose time is over is forgotten before it is dropped, and again and again where that fails. Nobody sees it.
func TestExpiryOfDurableDatasets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		c, schema := keeping(k), flat(t)
		var told []string
		c.OnExpiry(func(name string) { told = append(told, name) })
		fakes, list := batches(t, schema, 1)
		p, err := c.Begin("d", Replace, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.TTL, p.Durable = time.Minute, yes
		g, err := p.Commit(context.Background(), list, "zstd", nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
		k.wantKept(t, c)
		k.failing(errKeeper)
		time.Sleep(time.Minute + retryExpiry/2)
		synctest.Wait()
		k.wantCalls(t, "keep d", "forget d")
		if _, err := c.Current("d"); !errors.Is(err, ErrNotFound) {
			t.Errorf("its time is over: %v", err)
		}
		if c.Len() != 1 || told != nil {
			t.Errorf("%d datasets, told of %q", c.Len(), told)
		}
		time.Sleep(2 * retryExpiry)
		synctest.Wait()
		k.wantCalls(t, "forget d", "forget d")
		k.failing(nil)
		time.Sleep(retryExpiry)
		synctest.Wait()
		k.wantCalls(t, "forget d")
		if c.Len() != 0 || len(k.kept) != 0 || fmt.Sprint(told) != "[d]" {
			t.Errorf("%d datasets, kept %q, told of %q", c.Len(), k.kept, told)
		}
		if got := c.Departures(); got != (Departures{Expired: 1}) {
			t.Errorf("%+v", got)
		}
		wantRefs(t, fakes, 0)
	})
}

// The time of a dataset that comes while a change is being kept is not forgotten, however the change ends.
func TestExpiryWhileBeingKept(t *testing.T) {
	for _, fails := range []error{nil, errKeeper} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper()
			c, schema := keeping(k), flat(t)
			p, err := c.Begin("d", Replace, schema)
			if err != nil {
				t.Fatal(err)
			}
			p.TTL, p.Durable = time.Minute, yes
			g, err := p.Commit(context.Background(), nil, "zstd", nil)
			if err != nil {
				t.Fatal(err)
			}
			g.Release()
			goOn := k.holding()
			pinned := make(chan error)
			go func() { pinned <- c.SetPinned(context.Background(), "d", true) }()
			time.Sleep(2 * time.Minute)
			k.failing(fails)
			goOn()
			if err := <-pinned; !errors.Is(err, fails) {
				t.Error(err)
			}
			k.failing(nil)
			time.Sleep(2 * retryExpiry)
			synctest.Wait()
			if c.Len() != 0 || len(k.kept) != 0 {
				t.Errorf("%d datasets, kept %q", c.Len(), k.kept)
			}
		})
	}
}

// A put that comes when the time of a durable dataset is over, but its timer late, takes its place, and is not taken away by it.
func TestPutAfterDurableExpiry(t *testing.T) {
	for _, durable := range []*bool{yes, no} {
		now := noon
		k := newKeeper()
		c, schema := New(Options{Keeper: k, Now: func() time.Time { return now }}), flat(t)
		p, err := c.Begin("d", Replace, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.TTL, p.Durable = time.Hour, yes
		old, list := batches(t, schema, 1)
		g, err := p.Commit(context.Background(), list, "zstd", nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
		now = now.Add(2 * time.Hour)
		if _, err := commitAs(t, c, "d", Create, schema, durable, 2); err != nil {
			t.Fatal(err)
		}
		k.wantKept(t, c)
		wantRefs(t, old, 0)
		g = current(t, c, "d")
		wantIDs(t, g, 2)
		g.Release()
		c.Clear()
	}
}

// A keeper that panics does not leave the name reserved.
func TestKeeperPanics(t *testing.T) {
	k := newKeeper()
	c, schema := keeping(k), flat(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		p, err := c.Begin("d", Replace, schema)
		if err != nil {
			t.Fatal(err)
		}
		p.Durable = yes
		c.keeper = panicking{}
		p.Commit(context.Background(), nil, "zstd", nil)
	}()
	c.keeper = k
	if _, err := commitAs(t, c, "d", Create, schema, yes, 1); err != nil {
		t.Fatal(err)
	}
	k.wantKept(t, c)
}

type panicking struct{}

func (panicking) Keep(Kept) error     { panic("keep") }
func (panicking) Forget(string) error { panic("forget") }
