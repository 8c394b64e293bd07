package catalog

import (
	"crypto/rand"
	"encoding/hex"
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
}

// Catalog is the set of datasets of one server.
type Catalog struct {
	now      func() time.Time
	instance string
	counter  atomic.Uint64

	mu       sync.RWMutex // guards datasets; never held while a generation is released
	datasets map[string]*Generation
}

// New makes an empty catalogue.
func New(o Options) *Catalog {
	if o.Now == nil {
		o.Now = time.Now
	}
	var id [8]byte
	rand.Read(id[:]) // never fails, by its documentation
	return &Catalog{now: o.Now, instance: hex.EncodeToString(id[:]), datasets: map[string]*Generation{}}
}

// Current gives the newest generation of a dataset, acquired: the caller releases it. ErrNotFound.
func (c *Catalog) Current(name string) (*Generation, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	g := c.datasets[name]
	// A published generation holds the catalogue's own reference, so acquire cannot fail under the lock.
	if g == nil || !g.acquire() {
		return nil, fmt.Errorf("%w: %q; ListFlights shows what is there", ErrNotFound, name)
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
		if strings.HasPrefix(name, prefix) && g.acquire() {
			out = append(out, g)
		}
	}
	c.mu.RUnlock()
	sort.Slice(out, func(i, j int) bool { return out[i].Dataset < out[j].Dataset })
	return out
}

// Len is the number of datasets.
func (c *Catalog) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.datasets)
}

// Drop takes a dataset out. Readers that hold a generation of it go on. ErrNotFound.
func (c *Catalog) Drop(name string) error {
	c.mu.Lock()
	g := c.datasets[name]
	delete(c.datasets, name)
	c.mu.Unlock()
	if g == nil {
		return fmt.Errorf("%w: %q; nothing was dropped", ErrNotFound, name)
	}
	g.Release()
	return nil
}

// Clear drops every dataset.
func (c *Catalog) Clear() {
	c.mu.Lock()
	old := c.datasets
	c.datasets = map[string]*Generation{}
	c.mu.Unlock()
	for _, g := range old {
		g.Release()
	}
}

// nextID makes a generation id: the instance keeps ids of different runs apart, the counter those of one run.
func (c *Catalog) nextID() string { return fmt.Sprintf("%s-%d", c.instance, c.counter.Add(1)) }

func newGeneration(name, id string, schema *arrowipc.Schema, columns []arrowipc.RowColumn, codec string, now time.Time) *Generation {
	g := &Generation{
		RowColumns: columns, Statistics: make([]statistics.Column, len(columns)),
		Dataset: name, ID: id, Schema: schema, Codec: codec, Created: now,
		Nodes: make([]NodeFacts, schema.Layout.Node1), Dictionaries: map[int64]DictionaryFacts{}, known: map[any]bool{},
	}
	g.refs.Store(2) // the catalogue's, and that of whoever commits
	return g
}
