package flight

import (
	"fmt"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/statistics"
)

// lostBatch stands in a durable dataset for a batch whose file is damaged or missing, so that the others stay readable and
// rows are counted as before. To read it is an error. It has no payload: nothing of it is counted or released.
type lostBatch struct {
	place batchstore.Place
	rows  int64
	err   error
}

// Rows is the number of rows. Of several batches of one file that are lost, only the sum is known.
func (b *lostBatch) Rows() int64 { return b.rows }

// StoredBytes is 0.
func (b *lostBatch) StoredBytes() int64 { return 0 }

// Node is nothing.
func (b *lostBatch) Node(int) catalog.NodeFacts { return catalog.NodeFacts{} }

// EachDictionary has none to tell of.
func (b *lostBatch) EachDictionary(func(key any, id, decoded, stored int64)) {}

// Statistics are not known: no filter passes the batch over.
func (b *lostBatch) Statistics() []statistics.Column { return nil }

// Small is false: there is nothing to join.
func (b *lostBatch) Small() bool { return false }

// Retain does nothing.
func (b *lostBatch) Retain() {}

// Release does nothing.
func (b *lostBatch) Release() {}

// wholeBatches are the batches of a generation that are not lost.
func wholeBatches(g *catalog.Generation) []*batchstore.Batch {
	out := make([]*batchstore.Batch, 0, len(g.Batches))
	for _, b := range g.Batches {
		if b, whole := b.(*batchstore.Batch); whole {
			out = append(out, b)
		}
	}
	return out
}

// wholeBatch gives a batch of a generation for reading. The error is that of a lost one.
func wholeBatch(b catalog.Batch) (*batchstore.Batch, error) {
	if lost, is := b.(*lostBatch); is {
		return nil, fmt.Errorf("batch %d of %s is lost, the others can be read (by partitions): %w", lost.place.Index, lost.place.Segment, lost.err)
	}
	return b.(*batchstore.Batch), nil
}
