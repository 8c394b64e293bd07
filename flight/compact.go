package flight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// Compaction says when small batches of a dataset are joined.
type Compaction string

// The kinds of compaction: by itself when many have come, or only when the action compact asks for it.
const (
	CompactAuto Compaction = "auto"
	CompactOff  Compaction = "off"
)

// validate tells what is wrong with a kind of compaction; "" is the default.
func (c Compaction) validate() error {
	switch c {
	case "", CompactAuto, CompactOff:
		return nil
	}
	return fmt.Errorf("compact %q: want auto or off", c)
}

// compactor joins small batches of datasets, those that have grown one after the other.
type compactor struct {
	server *Server
	turn   chan struct{} // of one place: who makes another layout, in the background or for an action, holds it
	backlog
}

func newCompactor(s *Server) *compactor {
	c := &compactor{server: s, turn: make(chan struct{}, 1)}
	c.open(c.inBackground)
	return c
}

// grown tells that batches have come to a dataset.
func (c *compactor) grown(dataset string) {
	if c.server.opts.Compact == CompactAuto && c.server.catalog.Crowded(dataset) {
		c.add(dataset)
	}
}

func (c *compactor) inBackground(ctx context.Context, dataset string) {
	switch r, err := c.compact(ctx, dataset, false); {
	case err == nil:
		if r.changed {
			c.server.opts.Log.Info("compacted", zap.String("dataset", dataset), zap.Int("batches_before", r.BatchesBefore), zap.Int("batches", r.Batches))
		}
	case errors.Is(err, catalog.ErrNotFound), ctx.Err() != nil:
	default:
		c.server.opts.Log.Warn("not compacted", zap.String("dataset", dataset), zap.Error(err))
	}
}

// compactResult is the result of compact.
type compactResult struct {
	Dataset           string `json:"dataset"`
	Generation        string `json:"generation"`
	BatchesBefore     int    `json:"batches_before"`
	Batches           int    `json:"batches"`
	StoredBytesBefore int64  `json:"stored_bytes_before"`
	StoredBytes       int64  `json:"stored_bytes"`

	changed bool
}

// compactAction answers the action compact.
func (s *Server) compactAction(ctx context.Context, a descriptors.Compact) ([]byte, error) {
	r, err := s.compactor.compact(ctx, string(a.Dataset), true)
	if err != nil {
		return nil, inDataset(a.Dataset, err)
	}
	return json.Marshal(r)
}

// stepBytes is how many stored bytes of new batches are made before they take the place of the old ones: until then both
// are there.
const stepBytes = 64 << 20

// maxConflicts is how often a compaction begins anew with a dataset that was replaced under it, and maxPasses how often it
// goes through all of one: where dictionaries become one, more may fit than before.
const (
	maxConflicts = 3
	maxPasses    = 8
)

// compact joins small batches of a dataset: all that can be, or those that are worth it while the dataset still grows. It
// goes in steps, each of which publishes another layout of what the dataset is by then. Errors are the context's,
// catalog.ErrNotFound, catalog.ErrConflict and those of batchstore.Joiner; what earlier steps have done stays.
func (c *compactor) compact(ctx context.Context, dataset string, all bool) (r compactResult, err error) {
	conflicts, passes := 0, 0
	for first := true; ; first = false {
		g, err := c.server.catalog.Current(dataset)
		if err != nil {
			return r, err
		}
		if first {
			r.BatchesBefore, r.StoredBytesBefore = len(g.Batches), g.Stored
		}
		now, more, err := c.step(ctx, g, all)
		if now != nil {
			r.changed = true
			g.Release()
			g = now
		}
		r.Dataset, r.Generation, r.Batches, r.StoredBytes = dataset, g.ID, len(g.Batches), g.Stored
		if errors.Is(err, catalog.ErrConflict) && conflicts < maxConflicts {
			conflicts++
			more, err = true, nil
		}
		if all && now != nil && !more {
			passes++
			more = passes < maxPasses
		}
		if err != nil || now == nil {
			c.server.catalog.Settle(g) // after an error too: to try again at once would be as much in vain
		}
		g.Release()
		if err != nil || !more {
			return r, err
		}
	}
}

// step makes one more layout of a generation, acquired, or none (nil) where nothing is worth joining. More tells that
// there may be more to do. An error may come beside a layout.
func (c *compactor) step(ctx context.Context, g *catalog.Generation, all bool) (now *catalog.Generation, more bool, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	changes, written, more, err := c.join(ctx, g, all)
	if len(changes) == 0 {
		return nil, false, err
	}
	now, conflict := c.server.catalog.Compact(ctx, g, changes)
	if conflict != nil {
		for _, x := range changes {
			for _, b := range x.Batches {
				b.Release()
			}
		}
		return nil, false, conflict
	}
	c.server.stats.both(g.Dataset, func(n *counts) {
		n.compactions.Add(1)
		n.bytesCompacted.Add(written)
		for _, x := range changes {
			n.batchesCompacted.Add(int64(x.Last - x.First))
			n.batchesJoined.Add(int64(len(x.Batches)))
		}
	})
	return now, more, err
}

// join makes new batches of a generation's small ones, one reference to each, and gives their plain bytes. More tells that
// it has stopped in between. The error is the first one; only where memory lacks or the context is over it ends the work.
func (c *compactor) join(ctx context.Context, g *catalog.Generation, all bool) (changes []catalog.Change, written int64, more bool, err error) {
	store := c.server.store
	list := wholeBatches(g)
	if len(list) < len(g.Batches) {
		return nil, 0, false, nil // some are lost: what is left stays where it is
	}
	claim := store.JoinClaim(ctx)
	defer claim.End()
	joiner := store.Joiner(g.Schema, claim)
	defer joiner.Close()
	stored := int64(0)
	for _, run := range store.Joins(g.Schema.Layout, list, all) {
		if stored >= stepBytes {
			return changes, joiner.Written(), true, err
		}
		made, failed := joiner.Join(ctx, list[run.First:run.Last])
		if failed != nil {
			if err == nil {
				err = fmt.Errorf("batches %d to %d: %w", run.First, run.Last-1, failed)
			}
			if errors.Is(failed, batchstore.ErrMemory) || ctx.Err() != nil {
				break
			}
			continue
		}
		if len(made) >= run.Last-run.First { // as they turn out, they do not fit into fewer
			for _, b := range made {
				b.Release()
			}
			continue
		}
		x := catalog.Change{First: run.First, Last: run.Last}
		for _, b := range made {
			stored += b.StoredBytes()
			x.Batches = append(x.Batches, b)
		}
		changes = append(changes, x)
	}
	return changes, joiner.Written(), false, err
}
