package batchstore

import (
	"context"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// AddDictionary takes one dictionary batch, header and body; the body is the ingest's from here on, whatever is
// returned. Batches that come after it see it. A dictionary that has not come when a batch needs it has no values, which
// is right for columns that are all null. Errors are those of Add.
func (in *Ingest) AddDictionary(ctx context.Context, m *arrowipc.Message, body arena.Block) error {
	src := &arrival{header: m.Batch, body: body}
	defer src.free()
	if in.failed.Load() != noGroup {
		return in.firstError()
	}
	if err := in.addDictionary(ctx, m, src); err != nil {
		return fmt.Errorf("dictionary batch of id %d: %w", m.Dictionary, err)
	}
	return nil
}

func (in *Ingest) addDictionary(ctx context.Context, m *arrowipc.Message, src *arrival) error {
	d := in.dicts
	ordinal, ok := d.ordinal(m.Dictionary)
	if !ok {
		return fmt.Errorf("%w: no column of the schema has this dictionary", ErrInvalidBatch)
	}
	values, err := in.dictionaryBatch(d.layouts[ordinal].Values, m, src)
	if err != nil {
		return err
	}
	needs, err := d.needs(ordinal, values)
	if err != nil {
		return err
	}
	c := d.current[ordinal]
	switch {
	case m.Delta && (c == nil || !c.came):
		return fmt.Errorf("%w: a delta to a dictionary that has not come", ErrInvalidBatch)
	case m.Delta:
		if c.bytes+values.bytes() > in.store.opts.MaxDecoded || c.rows+values.rows > MaxRows {
			return fmt.Errorf("%w: it would grow over %d bytes or %d values", ErrTooLarge, in.store.opts.MaxDecoded, int64(MaxRows))
		}
		c.append(values, &src.body)
	case c == nil:
		c = d.begin(ordinal)
		c.append(values, &src.body)
	default:
		extends, err := c.replace(in.store, in.memory(false), values)
		if err != nil {
			return err
		}
		if !extends {
			// What waits to be joined means the old dictionary.
			if err := in.flush(ctx); err != nil {
				return err
			}
			c = d.begin(ordinal)
			c.append(values, &src.body)
		}
	}
	if c.scattered() {
		in.join() // workers read the parts
		if err := c.consolidate(in.store, in.memory(false)); err != nil {
			return err
		}
	}
	c.came = true
	for i, n := range needs {
		if m.Delta {
			n = max(n, c.needs[i])
		}
		c.needs[i] = n // a replacement has all values: what earlier ones had beyond their rows does not count any more
	}
	d.settled = false
	return nil
}

// dictionaryBatch gives a dictionary batch's values as plain, checked ones, which lie in src's body.
func (in *Ingest) dictionaryBatch(l *arrowipc.Layout, m *arrowipc.Message, src *arrival) (*plainBatch, error) {
	if err := in.store.admit(l, src, m); err != nil {
		return nil, err
	}
	values := &plainBatch{rows: m.Batch.Rows, nodes: m.Batch.Nodes, variadic: m.Batch.Variadic}
	if m.Batch.Compression == arrowipc.Uncompressed {
		values.bufs = sliceBuffers(src.body.B, m.Batch.Buffers)
	} else {
		block, err := in.store.decodePlain(in.memory(false), values, sliceBuffers(src.body.B, m.Batch.Buffers), compress.Codec(m.Batch.Compression))
		if err != nil {
			return nil, invalid(err)
		}
		src.free()
		src.body = block
		in.decoded.Add(src.decoded)
	}
	return values, checkPlain(l, values)
}

// needs gives, by nested leaf, how many values a dictionary's values ask for. Whether there are so many is seen when a
// batch comes: the nested dictionary may still follow.
func (d *dictionaries) needs(ordinal int, values *plainBatch) ([]int64, error) {
	s := newSource(values)
	out := make([]int64, len(d.nested[ordinal]))
	for i, x := range d.nested[ordinal] {
		var err error
		if out[i], err = checkIndices(s, x, noLimit); err != nil {
			return nil, err
		}
	}
	return out, nil
}
