package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// purse is a budget that counts, and can be empty.
type purse struct {
	mu    sync.Mutex
	bytes int64
	live  int
	empty bool
}

var errEmpty = errors.New("the purse is empty")

func (p *purse) charge(n int64) (Charge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.empty {
		return nil, errEmpty
	}
	p.bytes += n
	p.live++
	return &coin{purse: p, bytes: n}, nil
}

func (p *purse) has() (bytes int64, live int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes, p.live
}

type coin struct {
	purse *purse
	bytes int64
	spent bool
}

func (c *coin) Release() {
	c.purse.mu.Lock()
	defer c.purse.mu.Unlock()
	if c.spent {
		panic("a charge was released twice")
	}
	c.spent = true
	c.purse.bytes -= c.bytes
	c.purse.live--
}

// counted is a holder that counts.
type counted struct {
	mu   sync.Mutex
	refs int
}

func (c *counted) Retain() { c.add(1) }

func (c *counted) Release() { c.add(-1) }

func (c *counted) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refs += n; c.refs < 0 {
		panic("a holder was released more often than it was retained")
	}
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refs
}

// All that the catalogue keeps is counted while it keeps it, and what keeps a schema is held while a generation has it.
func TestCharges(t *testing.T) {
	ctx, p := context.Background(), &purse{}
	c, schema := New(Options{Charge: p.charge}), flat(t)
	commit := func(mode Mode, h *counted, ids ...int) *Generation {
		t.Helper()
		_, list := batches(t, schema, ids...)
		x, err := c.Begin("d", mode, schema)
		if err != nil {
			t.Fatal(err)
		}
		x.Held = h
		g, err := x.Commit(ctx, list, "zstd", nil)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	want := func(step string, live int) {
		t.Helper()
		if bytes, n := p.has(); n != live || (bytes > 0) != (live > 0) || bytes < int64(300*live) {
			t.Errorf("%s: %d charges of %d bytes, want %d", step, n, bytes, live)
		}
	}
	var first, second counted
	g := commit(Replace, &first, 1, 2)
	want("a generation and its facts", 2)
	h := commit(Append, &second, 3)
	want("another, and the reader of the first", 4)
	if first.count() != 2 || second.count() != 0 {
		t.Errorf("the first schema is held by %d, the second by %d", first.count(), second.count())
	}
	g.Release()
	want("the newest", 2)
	if first.count() != 1 {
		t.Errorf("the schema is held by %d", first.count())
	}
	lease, ok := c.Lease(h, time.Minute)
	if !ok {
		t.Fatal("no lease")
	}
	want("with a lease", 3)
	_, list := batches(t, schema, 9)
	list[0].(*fakeBatch).rows = h.Batches[0].Rows() + h.Batches[1].Rows()
	again, err := c.Compact(ctx, h, []Change{{0, 2, list}})
	if err != nil {
		t.Fatal(err)
	}
	want("with another layout", 4) // which has no facts yet
	h.Release()
	again.Release()
	if first.count() != 2 {
		t.Errorf("the schema is held by %d", first.count())
	}
	c.EndLease(lease.ID, h.ID)
	want("the newest layout", 1)
	commit(Replace, &second, 4).Release()
	if first.count() != 0 || second.count() != 1 {
		t.Errorf("the first schema is held by %d, the second by %d", first.count(), second.count())
	}
	want("a replacement", 2)
	if err := c.Drop(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	want("nothing", 0)
	if second.count() != 0 {
		t.Errorf("the schema is held by %d", second.count())
	}
}

func TestChargesOfTransactions(t *testing.T) {
	ctx, p := context.Background(), &purse{}
	c, schema := New(Options{Charge: p.charge}), flat(t)
	for _, end := range []string{"commit", "commit some", "abort", "clear"} {
		tx, err := c.BeginTransaction("d", Replace, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var h counted
		for i := range 3 {
			_, list := batches(t, schema, i+1)
			x, err := tx.Begin(schema)
			if err != nil {
				t.Fatal(err)
			}
			x.Held = &h
			if _, err := x.Stage(ctx, list, "zstd", nil, fmt.Sprint("p", i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, n := p.has(); n != 4 || h.count() != 3 {
			t.Errorf("%s: %d charges, the schema is held by %d", end, n, h.count())
		}
		switch end {
		case "commit":
			_, err = c.CommitTransaction(ctx, "d", tx.ID, nil)
		case "commit some":
			_, err = c.CommitTransaction(ctx, "d", tx.ID, []string{"p1"})
		case "abort":
			_, err = tx.Abort(ctx)
		case "clear":
			c.Clear()
		}
		if err != nil {
			t.Fatal(err)
		}
		if end[:1] == "c" && end != "clear" {
			if _, n := p.has(); n != 2 || h.count() != 1 {
				t.Errorf("%s: %d charges, the schema is held by %d", end, n, h.count())
			}
			if err := c.Drop(ctx, "d"); err != nil {
				t.Fatal(err)
			}
		}
		if bytes, n := p.has(); bytes != 0 || n != 0 || h.count() != 0 {
			t.Errorf("%s: %d charges of %d bytes stay, the schema is held by %d", end, n, bytes, h.count())
		}
	}
}

// Where there is no room nothing is changed, and nothing stays counted. Facts are told all the same.
func TestNoRoomForCharges(t *testing.T) {
	ctx, p := context.Background(), &purse{}
	c, schema := New(Options{Charge: p.charge}), flat(t)
	put(t, c, "d", Replace, schema, 1, 2)
	g := current(t, c, "d")
	defer g.Release()
	tx, err := c.BeginTransaction("d", Replace, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	before, n := p.has()
	p.empty = true
	fakes, list := batches(t, schema, 3)
	x, err := c.Begin("d", Append, schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Commit(ctx, list, "zstd", nil); !errors.Is(err, errEmpty) {
		t.Errorf("commit: %v", err)
	}
	x.Charge = (&purse{}).charge
	if x, err = tx.Begin(schema); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Stage(ctx, list, "zstd", nil, ""); !errors.Is(err, errEmpty) {
		t.Errorf("stage: %v", err)
	}
	if _, err := c.BeginTransaction("d", Replace, time.Minute); !errors.Is(err, errEmpty) {
		t.Errorf("begin: %v", err)
	}
	if _, ok := c.Lease(g, time.Minute); ok {
		t.Error("a lease")
	}
	list[0].(*fakeBatch).rows = g.Rows
	if _, err := c.Compact(ctx, g, []Change{{0, 2, list}}); !errors.Is(err, errEmpty) {
		t.Errorf("compact: %v", err)
	}
	wantRefs(t, fakes, 1)
	if bytes, now := p.has(); bytes != before || now != n {
		t.Errorf("%d charges of %d bytes, there were %d of %d", now, bytes, n, before)
	}
	now := current(t, c, "d")
	defer now.Release()
	if now != g || len(now.FactsJSON()) == 0 {
		t.Error("the dataset is another")
	}
}

// A keeper that fails leaves nothing counted or held.
func TestChargesOfWhatIsNotKept(t *testing.T) {
	p, k := &purse{}, newKeeper()
	c, schema := New(Options{Charge: p.charge, Keeper: k, Durable: true}), flat(t)
	k.fails = errKeeper
	_, list := batches(t, schema, 1)
	x, err := c.Begin("d", Replace, schema)
	if err != nil {
		t.Fatal(err)
	}
	var h counted
	x.Held = &h
	if _, err := x.Commit(context.Background(), list, "zstd", nil); err == nil {
		t.Error("it was committed")
	}
	if bytes, n := p.has(); n != 0 || bytes != 0 || h.count() != 0 {
		t.Errorf("%d charges of %d bytes stay, the schema is held by %d", n, bytes, h.count())
	}
}

// What a generation is said to take is about what it takes.
func TestBytesOfGenerations(t *testing.T) {
	wide := make([]*arrowipc.Field, 2000)
	for i := range wide {
		wide[i] = int64Field(fmt.Sprint("column_", i))
	}
	for name, schema := range map[string]*arrowipc.Schema{
		"narrow": flat(t), "wide": buildSchema(t, "", wide...), "nested": buildSchema(t, "", structField("s", wide...)),
	} {
		p := &purse{}
		c := New(Options{Charge: p.charge})
		_, list := batches(t, schema, 1)
		n := 20_000 / len(schema.Layout.Columns)
		if name == "nested" {
			n = 20
		}
		used := func() int64 {
			var m runtime.MemStats
			for range 2 {
				runtime.GC()
			}
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := used()
		for i := range n {
			x, err := c.Begin(fmt.Sprint("dataset/", i), Replace, schema)
			if err != nil {
				t.Fatal(err)
			}
			g, err := x.Commit(context.Background(), slices.Clone(list), "zstd", nil)
			if err != nil {
				t.Fatal(err)
			}
			g.Release()
		}
		took := used() - before
		bytes, _ := p.has()
		if ratio := float64(bytes) / float64(took); ratio < 1/1.5 || ratio > 1.5 {
			t.Errorf("%s: %d generations are said to take %d bytes, and take %d", name, n, bytes, took)
		}
		runtime.KeepAlive(c)
	}
}
