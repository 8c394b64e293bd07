package main

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// table is never changed once it can be found; its batches are released by the garbage collector.
type table struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    int64
	bytes   int64
}

type peer struct {
	flight.BaseFlightServer

	mu     sync.RWMutex
	tables map[string]table // guarded by mu
}

func (p *peer) find(name string) (table, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	t, ok := p.tables[name]
	if !ok {
		return table{}, status.Errorf(codes.NotFound, "no table %q", name)
	}
	return t, nil
}

func nameOf(d *flight.FlightDescriptor) string { return strings.Join(d.GetPath(), "/") }

// target is the name that a put is for, and whether it adds to what is there.
func target(d *flight.FlightDescriptor) (name string, appends bool, err error) {
	if len(d.GetCmd()) == 0 {
		return nameOf(d), false, nil
	}
	var command struct{ Dataset string }
	if err := json.Unmarshal(d.GetCmd(), &command); err != nil {
		return "", false, status.Errorf(codes.InvalidArgument, "the command is not the expected JSON object: %v", err)
	}
	return command.Dataset, true, nil
}

// DoPut keeps the batches of the stream under the name of its descriptor. A path replaces, a command appends.
func (p *peer) DoPut(stream flight.FlightService_DoPutServer) error {
	reader, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer reader.Release()
	name, appends, err := target(reader.LatestFlightDescriptor())
	if err != nil {
		return err
	}
	t := table{schema: reader.Schema()}
	for reader.Next() {
		batch := reader.RecordBatch()
		batch.Retain()
		t.batches = append(t.batches, batch)
		t.rows += batch.NumRows()
		for _, column := range batch.Columns() {
			t.bytes += int64(column.Data().SizeInBytes())
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.tables[name]; ok && appends {
		// Readers hold shorter slices of the same array, which never see what is written behind their end.
		t.batches = append(before.batches, t.batches...)
		t.rows += before.rows
		t.bytes += before.bytes
	}
	p.tables[name] = t
	return nil
}

// DoGet writes the selected columns of every batch with arrow-go's own writer.
func (p *peer) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	var request struct {
		Dataset string
		Columns []string
	}
	if err := json.Unmarshal(ticket.GetTicket(), &request); err != nil {
		return status.Errorf(codes.InvalidArgument, "the ticket is not the expected JSON object: %v", err)
	}
	t, err := p.find(request.Dataset)
	if err != nil {
		return err
	}
	schema, positions, err := project(t.schema, request.Columns)
	if err != nil {
		return err
	}
	writer := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	for _, batch := range t.batches {
		columns := make([]arrow.Array, len(positions))
		for i, position := range positions {
			columns[i] = batch.Column(position)
		}
		chosen := array.NewRecordBatch(schema, columns, batch.NumRows())
		err := writer.Write(chosen)
		chosen.Release()
		if err != nil {
			return err
		}
	}
	return writer.Close()
}

func project(schema *arrow.Schema, names []string) (*arrow.Schema, []int, error) {
	if names == nil {
		positions := make([]int, schema.NumFields())
		for i := range positions {
			positions[i] = i
		}
		return schema, positions, nil
	}
	var fields []arrow.Field
	var positions []int
	for _, name := range names {
		found := schema.FieldIndices(name)
		if len(found) != 1 {
			return nil, nil, status.Errorf(codes.InvalidArgument, "%d columns are named %q", len(found), name)
		}
		positions = append(positions, found[0])
		fields = append(fields, schema.Field(found[0]))
	}
	metadata := schema.Metadata()
	return arrow.NewSchema(fields, &metadata), positions, nil
}

// GetFlightInfo answers rows and bytes, counted while the table was put.
func (p *peer) GetFlightInfo(_ context.Context, d *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	name := nameOf(d)
	t, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return info(d, name, t)
}

func info(d *flight.FlightDescriptor, name string, t table) (*flight.FlightInfo, error) {
	ticket, err := json.Marshal(map[string]string{"dataset": name})
	if err != nil {
		return nil, err
	}
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(t.schema, memory.DefaultAllocator),
		FlightDescriptor: d,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords:     t.rows,
		TotalBytes:       t.bytes,
	}, nil
}

// ListFlights tells of every table whose name begins with the criteria.
func (p *peer) ListFlights(c *flight.Criteria, stream flight.FlightService_ListFlightsServer) error {
	p.mu.RLock()
	tables := maps.Clone(p.tables)
	p.mu.RUnlock()
	for name, t := range tables {
		if !strings.HasPrefix(name, string(c.GetExpression())) {
			continue
		}
		told, err := info(&flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{name}}, name, t)
		if err != nil {
			return err
		}
		if err := stream.Send(told); err != nil {
			return err
		}
	}
	return nil
}
