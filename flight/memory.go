package flight

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// Eviction is what becomes of datasets when a put finds no memory.
type Eviction string

// The kinds of eviction. To reject is to evict nothing: the put waits, and fails. To drop takes the least recently used
// datasets away; reading one then says so. To spill is the store's work, which has a folder then: what was used least recently
// moves to files.
const (
	EvictionReject Eviction = "reject"
	EvictionDrop   Eviction = "drop"
	EvictionSpill  Eviction = "spill"
)

// validate tells what is wrong with a kind of eviction; "" is the default.
func (e Eviction) validate() error {
	switch e {
	case "", EvictionReject, EvictionDrop, EvictionSpill:
		return nil
	}
	return fmt.Errorf("eviction %q: want reject, drop or spill", e)
}

// datasets are the server's, as the store's budget sees them.
type datasets struct{ *Server }

// Evict drops datasets that hold about n stored bytes, if the server evicts at all.
func (d datasets) Evict(n int64) bool {
	if d.opts.Eviction != EvictionDrop {
		return false
	}
	names := d.catalog.Evict(n, d.putting.holds, "to make room for a put (option --eviction drop)")
	for _, name := range names {
		d.stats.forget(name)
		d.opts.Log.Info("evicted", zap.String("dataset", name), zap.Int64("wanted", n))
	}
	return len(names) > 0
}

// Held gives the bytes that eviction cannot free.
func (d datasets) Held() (pinned, leaving int64) { return d.catalog.Held() }

// evictResult is the result of evict.
type evictResult struct {
	Dataset     string `json:"dataset"`
	Evicted     bool   `json:"evicted"`
	Dropped     bool   `json:"dropped"`           // the dataset is gone; else it is read from files now
	StoredBytes int64  `json:"stored_bytes"`      // that the dataset has, or had
	FreedBytes  int64  `json:"freed_bytes"`       // of these, that left memory, or will when they are sent
	Durable     bool   `json:"durable,omitempty"` // the dataset outlives the server
}

// evict does to one dataset what a full budget does to those that were not used lately: with files its bodies leave memory, and
// it can be read as before; without, it is dropped. A durable dataset is never dropped.
func (s *Server) evict(ctx context.Context, a descriptors.Evict) ([]byte, error) {
	name := string(a.Dataset)
	if g, err := s.catalog.Current(name); err == nil {
		defer g.Release()
		if g.Durable || s.opts.Eviction == EvictionSpill {
			return s.unload(callOf(ctx), g)
		}
	}
	gone := s.about(name)
	stored, err := s.catalog.EvictDataset(ctx, name, "by the action evict")
	if err != nil {
		return nil, err
	}
	gone.tell(callOf(ctx))
	s.stats.forget(name)
	return json.Marshal(evictResult{Dataset: name, Evicted: true, Dropped: true, StoredBytes: stored, FreedBytes: stored})
}

// unload has a generation's bodies leave memory. The caller holds it.
func (s *Server) unload(c *call, g *catalog.Generation) ([]byte, error) {
	if g.Pinned() {
		return nil, fmt.Errorf("%w: %q; unpin it first", catalog.ErrPinned, g.Dataset)
	}
	freed, err := s.store.Unload(g.Schema, wholeBatches(g))
	if err != nil {
		return nil, err
	}
	size{g.Rows, freed}.tell(c)
	return json.Marshal(evictResult{Dataset: g.Dataset, Evicted: true, StoredBytes: g.Stored, FreedBytes: freed, Durable: g.Durable})
}

// putting are the names of datasets that running puts go to: eviction leaves those alone.
type putting struct {
	mu    sync.Mutex
	names map[string]int
}

func (p *putting) add(name string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names[name] += n; p.names[name] == 0 {
		delete(p.names, name)
	}
}

func (p *putting) holds(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name] > 0
}
