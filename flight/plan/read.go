package plan

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// Read is what a read command means for one generation and one client.
type Read struct {
	Generation *catalog.Generation
	Projection *arrowipc.Projection // of the stored batches
	Schema     *arrowipc.Schema     // of the stream
	Decode     bool                 // values are sent in place of dictionaries
	Rows       int64                // to be sent, the limit applied
	limited    bool                 // fewer than there are

	// Decoded is the plain bytes of the chosen columns of those rows, dictionaries once; under a limit in proportion to
	// the rows, rounded down. -1 where nobody knows: the sizes of values in place of indices are not kept.
	Decoded int64
}

// Client is what a plan has to know of who reads.
type Client struct {
	MaxMessage         int64 // the most bytes of a message's body that it takes; 0 is any number
	Plain              bool  // buffers go to it decoded
	DecodeDictionaries bool  // it cannot read dictionaries
}

// New plans a read. The caller keeps the generation acquired while the plan is used. ErrColumn.
func New(g *catalog.Generation, c *descriptors.ReadCommand, client Client) (*Read, error) {
	picks, err := pickColumns(g.Schema, c.Columns)
	if err != nil {
		return nil, fmt.Errorf("dataset %q: %w", g.Dataset, err)
	}
	p, err := g.Schema.Project(picks)
	if err != nil {
		// The picks come from the schema itself: what is left is a projection over the limits of a schema.
		return nil, fmt.Errorf("dataset %q: %w: %w", g.Dataset, ErrColumn, err)
	}
	r := &Read{Generation: g, Projection: p, Schema: p.Schema, Rows: g.Rows}
	for _, span := range p.Spans {
		for _, n := range g.Nodes[span.Node0:span.Node1] {
			r.Decoded += n.Decoded
		}
	}
	if err := r.planDictionaries(c, client); err != nil {
		return nil, fmt.Errorf("dataset %q: %w: %w", g.Dataset, ErrColumn, err)
	}
	if c.Limit != nil && *c.Limit < g.Rows {
		r.limited = true
		r.Rows = max(*c.Limit, 0)
		hi, lo := bits.Mul64(uint64(r.Decoded), uint64(r.Rows)) // their product may be more than 64 bits
		share, _ := bits.Div64(hi, lo, uint64(g.Rows))
		r.Decoded = int64(share)
	}
	if r.Decode {
		r.Decoded = -1
	}
	return r, nil
}

// ErrBatchRange means a ticket that names batches which the generation does not have.
var ErrBatchRange = errors.New("bad batch range")

// Batches are the stored batches that a ticket's range names; last may be descriptors.ToEnd.
func (r *Read) Batches(first, last int) ([]catalog.Batch, error) {
	all := r.Generation.Batches
	if last == descriptors.ToEnd {
		last = len(all)
	}
	if first < 0 || first > last || last > len(all) {
		return nil, fmt.Errorf("%w: batches %d to %d of dataset %q, which has %d; ask GetFlightInfo again",
			ErrBatchRange, first, last, r.Generation.Dataset, len(all))
	}
	return all[first:last], nil
}
