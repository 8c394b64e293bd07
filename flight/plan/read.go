package plan

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/predicate"
)

// Read is what a read command means for one generation and one client.
type Read struct {
	Generation *catalog.Generation
	Projection *arrowipc.Projection // of the stored batches
	Schema     *arrowipc.Schema     // of the stream
	Decode     bool                 // values are sent in place of dictionaries
	Filter     *Filter              // nil: all rows are sent
	verdicts   []predicate.Verdict  // of the filter on each stored batch
	Rows       int64                // to be sent, filter and limit applied; Unknown where statistics do not decide
	limited    bool                 // fewer than there are

	// MinRows and MaxRows bound the rows to be sent; Kept is how many stored batches may have some.
	MinRows, MaxRows int64
	Kept             int

	// Decoded is the plain bytes of the chosen columns of those rows, dictionaries once; under a limit in proportion to
	// the rows, rounded down. Unknown where statistics do not decide: sizes of filtered rows, and of values in place of indices,
	// are not kept.
	Decoded int64
}

// Unknown stands for a total that nobody knows without reading, as Flight has it.
const Unknown = -1

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
	r := &Read{
		Generation: g, Projection: p, Schema: p.Schema, Rows: g.Rows, MinRows: g.Rows, MaxRows: g.Rows, Kept: len(g.Batches),
	}
	if r.Filter, err = newFilter(g, c); err != nil {
		return nil, fmt.Errorf("dataset %q: %w", g.Dataset, err)
	}
	if r.Filter != nil {
		r.MinRows, r.MaxRows, r.Kept = 0, 0, 0
		r.judge()
	} else {
		for _, span := range p.Spans {
			for _, n := range g.Nodes[span.Node0:span.Node1] {
				r.Decoded += n.Decoded
			}
		}
	}
	if err := r.planDictionaries(c, client); err != nil {
		return nil, fmt.Errorf("dataset %q: %w: %w", g.Dataset, ErrColumn, err)
	}
	if c.Limit != nil {
		r.limit(*c.Limit)
	}
	if r.Decode {
		r.Decoded = Unknown
	}
	return r, nil
}

// limit applies a limit of rows to the totals.
func (r *Read) limit(rows int64) {
	rows = max(rows, 0)
	r.limited = rows < r.MaxRows
	if r.limited && r.Rows != Unknown && r.Decoded != Unknown {
		hi, lo := bits.Mul64(uint64(r.Decoded), uint64(rows)) // their product may be more than 64 bits
		share, _ := bits.Div64(hi, lo, uint64(r.Rows))
		r.Decoded = int64(share)
	}
	r.MinRows, r.MaxRows = min(r.MinRows, rows), min(r.MaxRows, rows)
	if r.MinRows == r.MaxRows {
		r.Rows = r.MaxRows
	}
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
