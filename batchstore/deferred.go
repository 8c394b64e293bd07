package batchstore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// Deferred tells whether the batch is plain and waits to be encoded: see [Store.Encode].
func (b *Batch) Deferred() bool { return b.waits.Load() }

// postpone has a plain batch wait to be encoded; 0 wants nothing. Nobody else has the batch yet.
func (b *Batch) postpone(wanted int) {
	if b.wanted = wanted; wanted != 0 {
		b.waits.Store(true)
		b.store.plain.Add(b.size)
	}
}

// settled ends that the batch waits.
func (b *Batch) settled() {
	if b.waits.CompareAndSwap(true, false) {
		b.store.plain.Add(-b.size)
	}
}

// goal is the codec that the batch has, or is to have.
func (b *Batch) goal() compress.Codec {
	if b.wanted != 0 {
		return compress.Codec(b.wanted - 1)
	}
	return b.codec
}

// defers tells whether what comes next is stored plain for now. Where memory was short once, nothing more of the put is.
func (in *Ingest) defers() bool {
	if !in.opts.Defer || in.opts.Codec == compress.None || in.hurried.Load() {
		return false
	}
	if in.store.budget.short() {
		in.hurried.Store(true)
		return false
	}
	return true
}

// Deferred is how many bytes of bodies wait to be encoded.
func (s *Store) Deferred() int64 { return s.plain.Load() }

// EncodeBytes is how many stored bytes [Store.Encode] should be given at a time: what it makes lies beside them until it takes
// their place.
func (s *Store) EncodeBytes() int64 { return s.opts.SegmentBytes }

// Encode makes the batches that take the place of deferred ones, one of each: the same rows under the codec that the put asked
// for, with the same statistics and dictionaries. It works on the store's workers while these have nothing else to do. Before
// each batch it asks goOn whether it is still wanted, on any goroutine.
//
// The batches are of the schema, in row order, and stay the caller's, who keeps them retained; the caller owns one reference
// to each new one. There is nil in the place of those that were not encoded. Of these, some are deferred no more: a batch that
// would not become smaller stays plain, and one that cannot be read stays what it is. The error is the first one: ErrMemory,
// after which no more is begun (it never waits for memory), the context's cause, or one of reading a file. What was made
// comes beside it.
func (s *Store) Encode(ctx context.Context, schema *arrowipc.Schema, batches []*Batch, goOn func() bool) ([]*Batch, error) {
	out := make([]*Batch, len(batches))
	var mu sync.Mutex // guards first; nothing else is locked under it
	var first error
	var running sync.WaitGroup
	for i, b := range batches {
		if !b.Deferred() {
			continue
		}
		mu.Lock()
		over := first != nil && errors.Is(first, ErrMemory)
		mu.Unlock()
		if over || !goOn() {
			break
		}
		running.Add(1)
		job := func() {
			defer running.Done()
			if !goOn() {
				return
			}
			made, err := s.encodeLater(b)
			out[i] = made
			if err != nil {
				mu.Lock()
				if first == nil || errors.Is(err, ErrMemory) {
					first = err
				}
				mu.Unlock()
			}
		}
		select {
		case s.crew(b.goal(), b.level).later <- job:
			continue
		case <-ctx.Done():
			running.Done()
			mu.Lock()
			first = context.Cause(ctx)
			mu.Unlock()
		}
		break
	}
	running.Wait()
	made := make([]*Batch, 0, len(out))
	for _, b := range out {
		if b != nil {
			made = append(made, b)
		}
	}
	s.files.joined(schema, made)
	return out, first
}

// encodeLater encodes a deferred batch, on a worker. Nil without an error: it stays plain.
func (s *Store) encodeLater(b *Batch) (made *Batch, err error) {
	defer func() {
		if p := recover(); p != nil { // a fault of ours: it must not end the process
			err = fmt.Errorf("%w: %v", errPanic, p)
			s.opts.Panic(p, debug.Stack())
		}
		if err != nil && !errors.Is(err, ErrMemory) {
			b.settled() // who reads it will be told
		}
	}()
	m := s.unclaimed()
	stored, err := s.peek(m, b)
	if err != nil {
		return nil, err
	}
	defer stored.Release()
	h := b.header
	body, err := s.encodeBody(m, &h, sliceBuffers(stored.block.B, b.header.Buffers), b.goal(), b.level)
	if err != nil {
		return nil, err
	}
	if n := int64(len(body.B)); n >= b.size || n > s.storedLimit(b.layout) {
		Free(&body)
		b.settled()
		return nil, nil
	}
	made, err = s.newBatch(m, b.layout, h, b.goal(), b.decoded, b.measured, body)
	if err != nil {
		return nil, err
	}
	made.metadata, made.level, made.apart = b.metadata, b.level, b.apart
	for _, d := range b.dicts {
		d.Retain()
	}
	made.dicts = append(made.dicts, b.dicts...)
	return made, nil
}
