package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func descriptor(place []string) *flight.FlightDescriptor {
	return &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: place}
}

// put puts the table as the dataset at place, replacing what is there. Where a batch cannot be written the call is
// cancelled: half-closed, it would be a complete put of the batches before.
func put(client flight.Client, place []string, t *table) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := client.DoPut(ctx)
	if err != nil {
		return err
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(t.schema))
	w.SetFlightDescriptor(descriptor(place))
	for _, b := range t.batches {
		if err := w.Write(b); errors.Is(err, io.EOF) {
			// The call has ended; its status says why.
			break
		} else if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return drain(stream)
}

// drain reads the answers to a put until the call ends, which must be well and after one answer.
func drain(stream flight.FlightService_DoPutClient) error {
	for answers := 0; ; answers++ {
		_, err := stream.Recv()
		switch {
		case !errors.Is(err, io.EOF) && err != nil:
			return err
		case err != nil && answers != 1:
			return fmt.Errorf("the put was answered %d times; one answer is promised", answers)
		case err != nil:
			return nil
		}
	}
}

// get reads the dataset at place by the tickets of its FlightInfo, whose schema must be that of the streams.
func get(client flight.Client, place []string) (*table, error) {
	info, err := client.GetFlightInfo(context.Background(), descriptor(place))
	if err != nil {
		return nil, err
	}
	schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	t := &table{schema: schema}
	for _, endpoint := range info.GetEndpoint() {
		if err := t.read(client, endpoint.GetTicket()); err != nil {
			t.release()
			return nil, err
		}
	}
	return t, nil
}

// read adds the batches of one ticket.
func (t *table) read(client flight.Client, ticket *flight.Ticket) error {
	stream, err := client.DoGet(context.Background(), ticket)
	if err != nil {
		return err
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	if !sameSchema(r.Schema(), t.schema) {
		return fmt.Errorf("FlightInfo promised %v, the stream has %v", t.schema, r.Schema())
	}
	return t.collect(r)
}

func sameSchema(a, b *arrow.Schema) bool {
	return a.Equal(b) && a.Metadata().Equal(b.Metadata())
}
