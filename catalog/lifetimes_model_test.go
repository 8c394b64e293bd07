package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
)

// lifetimes is what the catalogue should be, of leases, transactions and expiry, on a clock of its own.
type lifetimes struct {
	t   *rapid.T
	now time.Time
	c   *Catalog

	schema *arrowipc.Schema

	datasets map[string]*modelDataset
	epoch    int
	held     []modelHeld
	leases   []modelLease
	open     []*modelTransaction
	all      []*fakeBatch
}

type modelDataset struct {
	epoch   int // another after each replacement, each compaction and each recoding
	batches []*fakeBatch
	expires time.Time
}

type modelLease struct {
	Lease
	generation string
	layout     uint64
	epoch      int
	batches    []*fakeBatch
}

// modelHeld is a generation that a reader holds.
type modelHeld struct {
	g       *Generation
	epoch   int
	batches []*fakeBatch
}

type modelTransaction struct {
	*Transaction
	parts [][]*fakeBatch
}

func (m *lifetimes) name() string { return rapid.SampledFrom([]string{"a", "b"}).Draw(m.t, "name") }

func (m *lifetimes) fresh() ([]*fakeBatch, []Batch) {
	b := newBatch(m.t, m.schema, len(m.all))
	m.all = append(m.all, b)
	return []*fakeBatch{b}, []Batch{b}
}

// live is the model's dataset unless its time is over.
func (m *lifetimes) live(name string) *modelDataset {
	d := m.datasets[name]
	if d != nil && !d.expires.IsZero() && !d.expires.After(m.now) {
		return nil
	}
	return d
}

func (m *lifetimes) published(name string, mode Mode, fakes []*fakeBatch, ttl time.Duration) {
	m.epoch++
	next := &modelDataset{epoch: m.epoch, batches: fakes}
	defer func() {
		g, err := m.c.Current(name)
		if err != nil {
			m.t.Fatal(err)
		}
		m.sized(g, next.batches)
		g.Release()
	}()
	if old := m.live(name); old != nil && mode == Append {
		next.batches, next.expires = append(slices.Clone(old.batches), fakes...), old.expires
		next.epoch = old.epoch
	}
	if ttl > 0 {
		next.expires = m.now.Add(ttl)
	}
	m.datasets[name] = next
}

func (m *lifetimes) put() {
	name, mode := m.name(), rapid.SampledFrom([]Mode{Replace, Append}).Draw(m.t, "mode")
	ttl := time.Duration(rapid.IntRange(0, 3).Draw(m.t, "ttl")) * time.Second
	fakes, list := m.fresh()
	if d := m.live(name); d != nil && mode == Append {
		m.encode(fakes[0], d.batches)
	} else {
		m.encode(fakes[0], nil)
	}
	p, err := m.c.Begin(name, mode, m.schema)
	if err != nil {
		m.t.Fatal(err)
	}
	p.TTL = ttl
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	g.Release()
	m.published(name, mode, fakes, ttl)
}

// lease takes a lease on the newest generation of a dataset, or on one that is held.
func (m *lifetimes) lease() {
	if len(m.held) > 0 && m.one(3) == 0 {
		h := m.held[m.one(len(m.held))]
		m.leased(h.g, h.epoch, h.batches)
		return
	}
	name := m.name()
	g, err := m.c.Current(name)
	d := m.live(name)
	if (err == nil) != (d != nil) {
		m.t.Fatalf("Current(%q): %v", name, err)
	}
	if err != nil {
		return
	}
	defer g.Release()
	m.leased(g, d.epoch, d.batches)
}

func (m *lifetimes) leased(g *Generation, epoch int, batches []*fakeBatch) {
	_, before := m.c.Leases()
	more := g.lineage.more(g)
	l, ok := m.c.Lease(g, time.Duration(rapid.IntRange(1, 3).Draw(m.t, "period"))*time.Second)
	if !ok {
		m.t.Fatal("no lease")
	}
	if _, after := m.c.Leases(); after-before != more {
		m.t.Fatalf("a lease keeps %d bytes more, said to be %d", after-before, more)
	}
	m.leases = append(m.leases, modelLease{l, g.ID, g.Layout, epoch, batches})
}

// one draws the place of one of n, of which there is at least one.
func (m *lifetimes) one(n int) int { return rapid.IntRange(0, n-1).Draw(m.t, "which") }

func (m *lifetimes) renew() {
	if len(m.leases) == 0 {
		return
	}
	l := &m.leases[m.one(len(m.leases))]
	renewed, err := m.c.Renew(l.ID, l.generation)
	if (err == nil) != l.Expires.After(m.now) {
		m.t.Fatalf("renew: %v", err)
	}
	if err == nil {
		l.Lease = renewed
	}
}

func (m *lifetimes) cancel() {
	if len(m.leases) == 0 {
		return
	}
	i := m.one(len(m.leases))
	l := m.leases[i]
	if m.c.EndLease(l.ID, l.generation) != l.Expires.After(m.now) {
		m.t.Fatal("cancel")
	}
	m.leases = slices.Delete(m.leases, i, i+1)
}

func (m *lifetimes) begin() {
	tx, err := m.c.BeginTransaction(m.name(), rapid.SampledFrom([]Mode{Replace, Append}).Draw(m.t, "mode"), 2*time.Second)
	if err != nil {
		m.t.Fatal(err)
	}
	m.open = append(m.open, &modelTransaction{Transaction: tx})
}

func (m *lifetimes) stage() {
	if len(m.open) == 0 {
		return
	}
	tx := m.open[m.one(len(m.open))]
	fakes, list := m.fresh()
	p, err := tx.Begin(m.schema)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := p.Stage(context.Background(), list, "zstd", nil, fmt.Sprint(len(tx.parts))); err != nil {
		m.t.Fatal(err)
	}
	tx.parts = append(tx.parts, fakes)
}

func (m *lifetimes) commit() {
	if len(m.open) == 0 {
		return
	}
	i := m.one(len(m.open))
	tx := m.open[i]
	places := rapid.Permutation(indices(len(tx.parts))).Draw(m.t, "order")
	places = places[:rapid.IntRange(0, len(places)).Draw(m.t, "kept")]
	puts := []string{}
	var fakes []*fakeBatch
	for _, p := range places {
		puts, fakes = append(puts, fmt.Sprint(p)), append(fakes, tx.parts[p]...)
	}
	_, err := m.c.CommitTransaction(context.Background(), tx.Dataset, tx.ID, puts)
	if len(places) == 0 {
		if !errors.Is(err, ErrIncomplete) {
			m.t.Fatalf("commit of nothing: %v", err)
		}
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.published(tx.Dataset, tx.Mode, fakes, 0)
	m.open = slices.Delete(m.open, i, i+1)
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// tick moves the clock, and has the timer come.
func (m *lifetimes) tick() {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 2500).Draw(m.t, "ms")) * time.Millisecond)
	m.c.deadlines.fire()
	for name := range m.datasets {
		if m.live(name) == nil {
			delete(m.datasets, name)
		}
	}
	m.leases = slices.DeleteFunc(m.leases, func(l modelLease) bool { return !l.Expires.After(m.now) })
	m.open = slices.DeleteFunc(m.open, func(tx *modelTransaction) bool { return !tx.Expires.After(m.now) })
}

// check counts who keeps each batch.
func (m *lifetimes) check(*rapid.T) {
	keepers := map[*fakeBatch]map[string]bool{}
	keep := func(who string, list []*fakeBatch) {
		for _, b := range list {
			if keepers[b] == nil {
				keepers[b] = map[string]bool{}
			}
			keepers[b][who] = true
		}
	}
	for name, d := range m.datasets {
		g, err := m.c.Current(name)
		if err != nil {
			m.t.Fatal(err)
		}
		keep(fmt.Sprint(g.ID, d.epoch), d.batches)
		g.Release()
	}
	for _, h := range m.held {
		keep(fmt.Sprint(h.g.ID, h.epoch), h.batches)
	}
	for _, l := range m.leases {
		keep(fmt.Sprint(l.generation, l.epoch), l.batches)
		g, err := m.c.Leased(l.ID, l.generation)
		if err != nil || g.Layout != l.layout || !slices.Equal(ids(g), idsOf(l.batches)) {
			m.t.Fatalf("leased: %v", err)
		}
		g.Release()
	}
	for _, tx := range m.open {
		for _, p := range tx.parts {
			keep(tx.ID, p)
		}
	}
	only := int64(0)
	for _, b := range m.all {
		if got := int(b.refs.Load()); got != len(keepers[b]) {
			m.t.Fatalf("batch %d has %d references, want %d", b.id, got, len(keepers[b]))
		}
	}
	seen := map[any]bool{}
	for _, d := range m.datasets {
		for _, b := range d.batches {
			seen[b] = true
			for _, x := range b.dictionaries {
				seen[x.Key] = true
			}
		}
	}
	for _, l := range m.leases {
		for _, b := range l.batches {
			if !seen[b] {
				seen[b] = true
				only += b.stored
			}
			for _, x := range b.dictionaries {
				if !seen[x.Key] {
					seen[x.Key] = true
					only += x.Stored
				}
			}
		}
	}
	if n, bytes := m.c.Leases(); n != len(m.leases) || bytes != only {
		m.t.Fatalf("%d leases keep %d bytes, want %d and %d", n, bytes, len(m.leases), only)
	}
	if m.c.Len() != len(m.datasets) || m.c.Transactions() != len(m.open) {
		m.t.Fatalf("%d datasets and %d transactions, want %d and %d", m.c.Len(), m.c.Transactions(), len(m.datasets), len(m.open))
	}
}

// In any interleaving of puts, leases, transactions and passing time, each batch is kept by exactly those who should keep
// it, and at the end by nobody. (rapid prints the seed of a failure.)
func TestLifetimesModel(t *testing.T) {
	schema := flat(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &lifetimes{t: t, schema: schema, now: noon, datasets: map[string]*modelDataset{}}
		p := &purse{}
		m.c = New(Options{Now: func() time.Time { return m.now }, Charge: p.charge})
		step := func(f func()) func(*rapid.T) {
			return func(t *rapid.T) { m.t = t; f() }
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "hold": step(m.hold), "let go": step(m.letGo), "compact": step(m.compact), "recode": step(m.recode), "put": step(m.put), "lease": step(m.lease), "renew": step(m.renew), "cancel": step(m.cancel),
			"begin": step(m.begin), "stage": step(m.stage), "commit": step(m.commit), "tick": step(m.tick),
			"drop": step(func() {
				name := m.name()
				if err := m.c.Drop(context.Background(), name); (err == nil) != (m.datasets[name] != nil) {
					m.t.Fatalf("Drop(%q): %v", name, err)
				}
				delete(m.datasets, name)
			}),
		})
		m.c.Clear()
		for _, h := range m.held {
			h.g.Release()
		}
		if n := m.c.evictions.leaving.Load(); n != 0 {
			t.Fatalf("%d bytes are said to be on their way", n)
		}
		for _, b := range m.all {
			if n := b.refs.Load(); n != 0 {
				t.Fatalf("batch %d is left with %d references", b.id, n)
			}
		}
		if bytes, n := p.has(); bytes != 0 || n != 0 {
			t.Fatalf("%d charges of %d bytes are left", n, bytes)
		}
		if n := len(m.c.deadlines.heap); n != 0 {
			t.Fatalf("%d deadlines are left", n)
		}
	})
}
