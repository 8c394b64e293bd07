package catalog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// Options configures a [Catalog]. The zero value is ready to use.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	Keeper  Keeper // of durable datasets; nil: there can be none
	Durable bool   // whether puts that do not say are durable; it takes a Keeper

	MaxLeases       int   // that run at once; default 100,000
	MaxLeasedBytes  int64 // stored bytes that only leases keep, past which there are no new ones; default 1 GiB
	MaxTransactions int   // that are open at once; default 10,000
	MaxDatasets     int   // that puts may make; default: any number

	Ledger Ledger // counts stored bytes, and bounds them; nil: nobody does

	// MaxPutBytes bounds what is kept of committed puts that have an id, to answer them again: past it, the facts of new ones are
	// kept without their columns. Default 64 MiB.
	MaxPutBytes int64
	// Charge counts n bytes of the catalogue's own to a budget, or tells why there is no room; it does not wait. Nil counts
	// nothing.
	Charge func(n int64) (Charge, error)
}

// Defaults of [Options].
const (
	DefaultMaxLeases       = 100_000
	DefaultMaxLeasedBytes  = 1 << 30
	DefaultMaxTransactions = 10_000
)

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	var errs []error
	if o.Durable && o.Keeper == nil {
		errs = append(errs, errors.New("catalog: Options.Durable without a Keeper; want one"))
	}
	if o.MaxLeases < 0 {
		errs = append(errs, fmt.Errorf("catalog: Options.MaxLeases is %d; want none below 0", o.MaxLeases))
	}
	if o.MaxLeasedBytes < 0 {
		errs = append(errs, fmt.Errorf("catalog: Options.MaxLeasedBytes is %d; want none below 0", o.MaxLeasedBytes))
	}
	if o.MaxTransactions < 0 {
		errs = append(errs, fmt.Errorf("catalog: Options.MaxTransactions is %d; want none below 0", o.MaxTransactions))
	}
	if o.MaxDatasets < 0 {
		errs = append(errs, fmt.Errorf("catalog: Options.MaxDatasets is %d; want none below 0", o.MaxDatasets))
	}
	if o.MaxPutBytes < 0 {
		errs = append(errs, fmt.Errorf("catalog: Options.MaxPutBytes is %d; want none below 0", o.MaxPutBytes))
	}
	return errors.Join(errs...)
}

// Catalog is the set of datasets of one server.
type Catalog struct {
	now      func() time.Time
	instance string
	counter  atomic.Uint64

	keeper  Keeper // nil: none
	durable bool

	charges func(n int64) (Charge, error) // nil: nothing is counted

	maxLeases      int
	maxLeasedBytes int64
	maxDatasets    int    // 0: any number
	ledger         Ledger // nil: none

	mu       sync.RWMutex // guards datasets and what is reserved; never held while a generation is released or kept
	datasets map[string]*Generation
	reserved map[string]chan struct{} // names whose datasets are being kept; closed when it is over
	expired  func(dataset string)     // nil: nobody asks

	leases       leases
	puts         *putIDs
	transactions transactions
	deadlines    deadlines
	evictions    evictions
}

// New makes an empty catalogue. The options are valid.
func New(o Options) *Catalog {
	if o.Now == nil {
		o.Now = time.Now
	}
	var id [8]byte
	rand.Read(id[:]) // never fails, by its documentation
	c := &Catalog{
		now: o.Now, instance: hex.EncodeToString(id[:]), datasets: map[string]*Generation{}, puts: newPutIDs(o.Now, cmp.Or(o.MaxPutBytes, keptPutBytes)), charges: o.Charge,
		maxDatasets: o.MaxDatasets, ledger: o.Ledger,
		keeper: o.Keeper, durable: o.Durable, reserved: map[string]chan struct{}{},
		maxLeases:      cmp.Or(o.MaxLeases, DefaultMaxLeases),
		maxLeasedBytes: cmp.Or(o.MaxLeasedBytes, DefaultMaxLeasedBytes),
		leases:         leases{byID: map[uint64]*lease{}},
		transactions:   transactions{byID: map[string]*Transaction{}, most: cmp.Or(o.MaxTransactions, DefaultMaxTransactions)},
		deadlines:      deadlines{now: o.Now},
	}
	c.evictions.init()
	return c
}

// Keeps tells whether datasets can be durable.
func (c *Catalog) Keeps() bool { return c.keeper != nil }

// Current gives the newest generation of a dataset, acquired: the caller releases it. ErrNotFound.
func (c *Catalog) Current(name string) (*Generation, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	g := c.live(name)
	// A published generation holds the catalogue's own reference, so acquire cannot fail under the lock.
	if g == nil || !g.acquire() {
		return nil, fmt.Errorf("%w; ListFlights shows what is there", c.notFound(name))
	}
	return g, nil
}

// At gives one generation of a dataset, acquired: the caller releases it. ErrNotFound, or ErrStale when the dataset
// has moved on.
func (c *Catalog) At(name, generation string) (*Generation, error) {
	g, err := c.Current(name)
	if err != nil {
		return nil, err
	}
	if g.ID != generation {
		defer g.Release()
		return nil, fmt.Errorf("%w: generation %s of dataset %q was replaced, it is now %s; ask GetFlightInfo again",
			ErrStale, generation, name, g.ID)
	}
	return g, nil
}

// List gives the newest generation of every dataset whose name begins with prefix, in order of name, each acquired:
// the caller releases them.
func (c *Catalog) List(prefix string) []*Generation {
	c.mu.RLock()
	var out []*Generation
	for name, g := range c.datasets {
		if strings.HasPrefix(name, prefix) && !g.over(c.now) && g.acquire() {
			out = append(out, g)
		}
	}
	c.mu.RUnlock()
	sort.Slice(out, func(i, j int) bool { return out[i].Dataset < out[j].Dataset })
	return out
}

// OnExpiry has f called whenever a dataset was dropped because its time was over. There is one such function.
func (c *Catalog) OnExpiry(f func(dataset string)) {
	c.mu.Lock()
	c.expired = f
	c.mu.Unlock()
}

// Len is the number of datasets.
func (c *Catalog) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.datasets)
}

// Drop takes a dataset out; a durable one is forgotten first. Readers that hold a generation of it go on. ErrNotFound, or the
// Keeper's errors: the dataset is there still. The context is for the wait for another change of the dataset that is being
// kept.
func (c *Catalog) Drop(ctx context.Context, name string) error {
	if err := c.enter(ctx, name); err != nil {
		return err
	}
	g, err := c.datasets[name], error(nil)
	switch {
	case g == nil:
		err = fmt.Errorf("%w; nothing was dropped", c.notFound(name))
	case g.Durable:
		err = c.keep(name, func() error { return c.keeper.Forget(name) })
	}
	if err == nil {
		c.remove(name)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	g.Release()
	return nil
}

// Clear takes every dataset out of memory, aborts every transaction and ends every lease. What is durable stays kept. It waits
// for what is being kept.
func (c *Catalog) Clear() { c.clear(func(*Generation) bool { return true }) }

// ClearVolatile is Clear but for the newest generations of durable datasets.
func (c *Catalog) ClearVolatile() { c.clear(func(g *Generation) bool { return !g.Durable }) }

func (c *Catalog) clear(goes func(*Generation) bool) {
	c.abortTransactions()
	var old []*Generation
	c.mu.Lock()
	c.settle()
	for name, g := range c.datasets {
		if goes(g) {
			old = append(old, c.remove(name))
		}
	}
	c.mu.Unlock()
	for _, g := range old {
		g.Release()
	}
	c.endLeases()
}

// newGeneration makes a generation without batches. In its id, the instance keeps ids of different runs apart, and the
// counter those of one run.
func (c *Catalog) newGeneration(name string, schema *arrowipc.Schema, columns []arrowipc.RowColumn, codec string) *Generation {
	number := c.counter.Add(1)
	g := &Generation{
		chargesFacts: c.charge,
		RowColumns:   columns, Statistics: make([]statistics.Column, len(columns)),
		Dataset: name, ID: fmt.Sprintf("%s-%d", c.instance, number), number: number, Schema: schema, Codec: codec, Created: c.now(),
		Nodes: make([]NodeFacts, schema.Layout.Node1), Dictionaries: map[int64]DictionaryFacts{}, known: map[any]bool{},
	}
	g.refs.Store(2) // the catalogue's, and that of whoever commits
	return g
}
