package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// rowReader reads the endpoints of a FlightInfo into a sink.
type rowReader struct {
	client *client
	format sinkFormat
	out    io.Writer
	width  int
	// left is the number of rows still wanted.
	left int64
	bar  *progress
	// sink is made when the first stream tells its schema.
	sink sink
}

// read reads all endpoints, in order, then closes the sink.
func (r *rowReader) read(ctx context.Context, info *flight.FlightInfo) error {
	for i, endpoint := range info.Endpoint {
		if err := r.reachable(endpoint); err != nil {
			return fmt.Errorf("endpoint %d: %w", i, err)
		}
		if err := r.readEndpoint(ctx, endpoint.Ticket); err != nil {
			return err
		}
	}
	if r.sink == nil {
		schema, err := schemaOf(info)
		if err != nil {
			return fmt.Errorf("the server at %s told neither endpoints nor a schema: %w", r.client.address, err)
		}
		if err := r.open(schema); err != nil {
			return err
		}
	}
	return r.sink.Close()
}

// schemaOf reads the schema of a FlightInfo, which is an IPC stream without batches.
func schemaOf(info *flight.FlightInfo) (*arrow.Schema, error) {
	r, err := newStreamReader(bytes.NewReader(info.Schema), int64(len(info.Schema))+1)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}

// reachable refuses an endpoint that is not at the server asked. No location means that server.
func (r *rowReader) reachable(endpoint *flight.FlightEndpoint) error {
	if len(endpoint.Location) == 0 {
		return nil
	}
	var uris []string
	for _, l := range endpoint.Location {
		if l.Uri == flight.LocationReuseConnection || l.Uri == r.client.address {
			return nil
		}
		uris = append(uris, l.Uri)
	}
	return fmt.Errorf("it is at another server (%s); read it from there with --address", strings.Join(uris, ", "))
}

func (r *rowReader) open(schema *arrow.Schema) (err error) {
	if r.format == sinkTable {
		r.sink = newTableSink(r.out, schema, r.width)
		return nil
	}
	r.sink, err = newSink(r.format, r.out, schema)
	return err
}

// readEndpoint reads one stream, or as much of it as is still wanted.
func (r *rowReader) readEndpoint(ctx context.Context, ticket *flight.Ticket) error {
	// Leaving early cancels the stream: the server stops sending.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.DoGet(ctx, ticket)
	if err != nil {
		return rpcError(r.client.address, err)
	}
	reader, err := flight.NewRecordReader(stream, ipc.WithBodySizeLimit(math.MaxInt32))
	if err != nil {
		return rpcError(r.client.address, err)
	}
	defer reader.Release()
	if r.sink == nil {
		if err := r.open(reader.Schema()); err != nil {
			return err
		}
	}
	for r.left > 0 && reader.Next() {
		if err := r.write(reader.RecordBatch()); err != nil {
			return err
		}
	}
	if r.left == 0 {
		return nil
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return rpcError(r.client.address, err)
	}
	return nil
}

// write passes a batch on, cut to the rows still wanted. The batch stays its owner's.
func (r *rowReader) write(batch arrow.RecordBatch) error {
	if batch.NumRows() > r.left {
		batch = batch.NewSlice(0, r.left)
		defer batch.Release()
	}
	if err := r.sink.Write(batch); err != nil {
		return err
	}
	r.left -= batch.NumRows()
	r.bar.add(batch.NumRows(), batchBytes(batch))
	return nil
}
