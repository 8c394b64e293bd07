package flight

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
)

// shortWait is how long the encoder waits where there is no memory for what it would make.
const shortWait = 200 * time.Millisecond

// encoder encodes what puts have deferred, one dataset after the other, as long as the store's workers have nothing else to
// do. Each step makes encoded batches of some plain ones and publishes them in their places.
type encoder struct {
	server *Server
	backlog
}

func newEncoder(s *Server) *encoder {
	e := &encoder{server: s}
	e.open(e.encode)
	return e
}

// look has a dataset encoded, as far as it has deferred batches.
func (e *encoder) look(dataset string) {
	if e.server.store.Deferred() > 0 {
		e.add(dataset)
	}
}

// lookAtAll is look at every dataset: those that were restored may have been waiting when the last run ended.
func (e *encoder) lookAtAll() {
	if e.server.store.Deferred() == 0 {
		return
	}
	for _, g := range e.server.catalog.List("") {
		if at := deferred(g, 1); len(at) > 0 {
			e.add(g.Dataset)
		}
		g.Release()
	}
}

// encode encodes all that is deferred of a dataset, unless it is dropped before or the context ends. What cannot be encoded
// stays plain.
func (e *encoder) encode(ctx context.Context, dataset string) {
	for ctx.Err() == nil {
		g, err := e.server.catalog.Current(dataset)
		if err != nil {
			return // dropped
		}
		made, more, err := e.step(ctx, g)
		g.Release()
		switch {
		case errors.Is(err, catalog.ErrConflict): // look at what it is now
		case errors.Is(err, batchstore.ErrMemory):
			if made > 0 {
				continue // that has freed some
			}
			select {
			case <-time.After(shortWait):
			case <-ctx.Done():
			}
		case err != nil:
			if ctx.Err() == nil {
				e.server.opts.Log.Warn("not encoded, and stays plain", zap.String("dataset", dataset), zap.Error(err))
			}
			if made == 0 {
				return
			}
		case !more:
			return
		}
	}
}

// step encodes some batches of a generation and publishes them, as many as were made. More tells that others may be left. An
// error may come beside what was published.
func (e *encoder) step(ctx context.Context, g *catalog.Generation) (made int, more bool, err error) {
	store, c := e.server.store, e.server.catalog
	at := deferred(g, store.EncodeBytes())
	if len(at) == 0 {
		return 0, false, nil
	}
	batches := make([]*batchstore.Batch, len(at))
	for i, k := range at {
		batches[i] = g.Batches[k].(*batchstore.Batch)
	}
	encoded, err := store.Encode(ctx, g.Schema, batches, func() bool { return ctx.Err() == nil && c.Newest(g) })
	var changes []catalog.Change
	plain := int64(0)
	for i, b := range encoded {
		if b == nil {
			continue
		}
		made++
		plain += batches[i].StoredBytes()
		if n := len(changes); n > 0 && changes[n-1].Last == at[i] {
			changes[n-1].Last++
			changes[n-1].Batches = append(changes[n-1].Batches, b)
			continue
		}
		changes = append(changes, catalog.Change{First: at[i], Last: at[i] + 1, Batches: []catalog.Batch{b}})
	}
	if made == 0 {
		return 0, true, err
	}
	if failed := e.publish(ctx, g, changes); failed != nil {
		for _, b := range encoded {
			if b != nil {
				b.Release()
			}
		}
		return 0, true, failed
	}
	e.server.stats.both(g.Dataset, func(n *counts) {
		n.bytesEncoded.Add(plain)
		n.batchesDeferred.Add(int64(made))
		n.bytesDeferred.Add(plain)
	})
	return made, true, err
}

// publish puts encoded batches in their places, when no compaction is under way: that would have worked in vain. Encoding
// itself does not wait for its turn, nor has compactions wait, as it may go on for as long as workers are busy.
func (e *encoder) publish(ctx context.Context, g *catalog.Generation, changes []catalog.Change) error {
	turn := e.server.compactor.turn
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	now, err := e.server.catalog.Recode(ctx, g, changes)
	if err == nil {
		now.Release()
	}
	return err
}

// deferred are the places of the first deferred batches of a generation, of about so many stored bytes together.
func deferred(g *catalog.Generation, most int64) (at []int) {
	for i, b := range g.Batches {
		if x, whole := b.(*batchstore.Batch); whole && x.Deferred() {
			at = append(at, i)
			if most -= x.StoredBytes(); most <= 0 {
				break
			}
		}
	}
	return at
}
