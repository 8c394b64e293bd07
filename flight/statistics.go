package flight

import (
	"encoding/json"
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/arrowstats"
	"github.com/flightcache/flightcache/flight/plan"
	"github.com/flightcache/flightcache/statistics"
)

// readColumn is a column of a read whose statistics are told.
type readColumn struct {
	index   int32 // depth first, in the schema of the read
	field   *arrowipc.Field
	node    int // in the stored batches
	ordinal int // among the generation's row columns
}

// readColumns are the columns of a read that have one slot in each row.
func readColumns(r *plan.Read) []readColumn {
	ordinal := make(map[int]int, len(r.Generation.RowColumns)) // by node
	for i, rc := range r.Generation.RowColumns {
		ordinal[rc.Column.Node0] = i
	}
	var out []readColumn
	var walk func(stored, sent []*arrowipc.Column)
	walk = func(stored, sent []*arrowipc.Column) {
		for i, c := range stored {
			out = append(out, readColumn{int32(sent[i].Node0), c.Field, c.Node0, ordinal[c.Node0]})
			if c.Kind == arrowipc.KindStruct {
				walk(c.Children, sent[i].Children)
			}
		}
	}
	walk(r.Projection.Tree, r.Projection.Schema.Layout.Columns)
	return out
}

func statisticsSchema(columns []readColumn) *arrowstats.Schema {
	fields := make([]*arrowipc.Field, len(columns))
	for i, c := range columns {
		fields[i] = c.field
	}
	return arrowstats.NewSchema(fields)
}

// measured gathers what is known of columns, of the whole dataset or of one batch, of so many rows.
func measured(columns []readColumn, rows int64, known []statistics.Column, node func(int) catalog.NodeFacts) []arrowstats.Column {
	out := make([]arrowstats.Column, len(columns))
	for i, c := range columns {
		n := node(c.node)
		out[i] = arrowstats.Column{
			Index: c.index, Field: c.field, Measured: c.of(known, rows, n), Unmeasured: known == nil, Decoded: n.Decoded, Stored: n.Stored,
		}
	}
	return out
}

// of is what is known of the column: where it was not measured, nothing but its rows and the nulls of its own.
func (c readColumn) of(known []statistics.Column, rows int64, n catalog.NodeFacts) statistics.Column {
	if known == nil {
		return statistics.Column{Rows: rows, Nulls: n.Nulls}
	}
	return known[c.ordinal]
}

// sendStatistics answers a read of statistics: one batch about the dataset, or, where the command asks for the metadata of
// batches, one for each stored batch, with its number in app_metadata.
func (g *get) sendStatistics(r *plan.Read, perBatch bool) error {
	columns := readColumns(r)
	schema := statisticsSchema(columns)
	w := arrowflight.NewRecordWriter(g.stream, ipc.WithSchema(schema.Arrow()))
	write := func(rows int64, facts []byte, c []arrowstats.Column) error {
		record := schema.Record(rows, c)
		defer record.Release()
		g.call.rows += record.NumRows()
		g.messages++
		return w.WriteWithAppMetadata(record, facts)
	}
	var err error
	if perBatch {
		for i, b := range r.Generation.Batches {
			var facts []byte
			if facts, err = json.Marshal(batchFacts{Batch: i, Rows: b.Rows()}); err != nil {
				break
			}
			if err = write(b.Rows(), facts, measured(columns, b.Rows(), b.Statistics(), b.Node)); err != nil {
				break
			}
		}
	} else {
		all := r.Generation
		err = write(all.Rows, nil, measured(columns, all.Rows, all.Statistics, func(i int) catalog.NodeFacts { return all.Nodes[i] }))
	}
	if closed := w.Close(); err == nil {
		err = closed
	}
	return err
}

// statisticsInfo tells of a read of statistics.
func (s *Server) statisticsInfo(r *plan.Read, c descriptors.ReadCommand, d *arrowflight.FlightDescriptor, l catalog.Lease) *arrowflight.FlightInfo {
	columns := readColumns(r)
	rows := int64(len(columns) + 1)
	if c.BatchMetadata {
		rows *= int64(len(r.Generation.Batches))
	}
	ticket := s.sealer.Seal(descriptors.Ticket{
		Command: c, Generation: r.Generation.ID, Layout: r.Generation.Layout, LastBatch: bound(r.Generation, &c), LeaseID: l.ID,
	})
	info := flightInfo(r, d, leased(endpoint(ticket, nil), l))
	info.Schema = arrowflight.SerializeSchema(statisticsSchema(columns).Arrow(), memory.DefaultAllocator)
	info.TotalRecords, info.TotalBytes = rows, plan.Unknown
	return info
}

// columnStatistics are the JSON of one column in the result of the action statistics.
type columnStatistics struct {
	Path      string `json:"path"`
	Type      string `json:"type"`
	NullCount int64  `json:"null_count"`
	catalog.BoundFacts
	DecodedBytes int64 `json:"decoded_bytes"`
	StoredBytes  int64 `json:"stored_bytes"`
}

// maxBatchStatistics bounds the columns of all batches together that one result of the action tells of.
const maxBatchStatistics = 100_000

// partStatistics are those of a dataset or of one stored batch.
type partStatistics struct {
	Batch   *int               `json:"batch,omitempty"`
	Rows    int64              `json:"rows"`
	Columns []columnStatistics `json:"columns"`
}

// statisticsResult is the result of the action statistics.
type statisticsResult struct {
	Dataset    string   `json:"dataset"`
	Generation string   `json:"generation"`
	SortedBy   []string `json:"sorted_by,omitempty"`
	partStatistics
	Batches []partStatistics `json:"batches,omitempty"`
}

// statistics answers the action of that name.
func (s *Server) statistics(a descriptors.Statistics) ([]byte, error) {
	g, err := s.catalog.Current(string(a.Dataset))
	if err != nil {
		return nil, err
	}
	defer g.Release()
	r, err := plan.New(g, &descriptors.ReadCommand{Dataset: a.Dataset, Columns: a.Columns}, plan.Client{})
	if err != nil {
		return nil, err
	}
	columns := readColumns(r)
	if n := len(columns) * len(g.Batches); a.PerBatch && n > maxBatchStatistics {
		return nil, fmt.Errorf("%w: statistics of %d columns in each of %d batches, at most %d are told at once; choose columns, or read them with statistics and batch_metadata",
			errTooBig, len(columns), len(g.Batches), maxBatchStatistics)
	}
	paths := make(map[int]string, len(g.RowColumns))
	for _, rc := range g.RowColumns {
		paths[rc.Column.Node0] = catalog.PathText(rc.Path)
	}
	part := func(rows int64, known []statistics.Column, node func(int) catalog.NodeFacts) partStatistics {
		p := partStatistics{Rows: rows, Columns: []columnStatistics{}}
		for _, c := range columns {
			n := node(c.node)
			st := c.of(known, rows, n)
			p.Columns = append(p.Columns, columnStatistics{
				Path: paths[c.node], Type: c.field.TypeString(), NullCount: st.Nulls, BoundFacts: catalog.Bounds(c.field, st),
				DecodedBytes: n.Decoded, StoredBytes: n.Stored,
			})
		}
		return p
	}
	result := statisticsResult{
		Dataset: g.Dataset, Generation: g.ID,
		partStatistics: part(g.Rows, g.Statistics, func(i int) catalog.NodeFacts { return g.Nodes[i] }),
	}
	if g.Order != nil {
		result.SortedBy = g.Order.SortedBy
	}
	if a.PerBatch {
		for i, b := range g.Batches {
			p := part(b.Rows(), b.Statistics(), b.Node)
			p.Batch = &i
			result.Batches = append(result.Batches, p)
		}
	}
	return json.Marshal(result)
}
