package flight

import (
	"context"
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/plan"
)

// GetFlightInfo plans a read and answers from metadata alone: the schema of the stream, rows and decoded bytes, and one
// endpoint whose opaque ticket is bound to the generation that was counted.
func (s *Server) GetFlightInfo(ctx context.Context, d *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	r, command, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Generation.Release()
	ticket := s.sealer.Seal(descriptors.Ticket{
		Command: r.Resolved(command), Generation: r.Generation.ID, LastBatch: descriptors.ToEnd,
	})
	return flightInfo(r, d, ticket), nil
}

// GetSchema gives the schema that the same descriptor's stream would have.
func (s *Server) GetSchema(ctx context.Context, d *arrowflight.FlightDescriptor) (*arrowflight.SchemaResult, error) {
	r, _, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Generation.Release()
	return &arrowflight.SchemaResult{Schema: r.Schema.Encapsulated()}, nil
}

// PollFlightInfo is GetFlightInfo: there is nothing to wait for, so it is complete at once.
func (s *Server) PollFlightInfo(ctx context.Context, d *arrowflight.FlightDescriptor) (*arrowflight.PollInfo, error) {
	info, err := s.GetFlightInfo(ctx, d)
	if err != nil {
		return nil, err
	}
	progress := 1.0
	return &arrowflight.PollInfo{Info: info, Progress: &progress}, nil
}

// plan reads a descriptor as a read command and plans it on its generation, which the caller releases.
func (s *Server) plan(ctx context.Context, d *arrowflight.FlightDescriptor) (*plan.Read, descriptors.ReadCommand, error) {
	c, err := readCommand(d)
	if err != nil {
		return nil, c, err
	}
	callOf(ctx).dataset = string(c.Dataset)
	g, err := s.generation(string(c.Dataset), c.Generation)
	if err != nil {
		return nil, c, err
	}
	r, err := plan.New(g, &c, client(ctx, s.readOptions(ctx, &c)))
	if err != nil {
		g.Release()
		return nil, c, err
	}
	return r, c, nil
}

func readCommand(d *arrowflight.FlightDescriptor) (descriptors.ReadCommand, error) {
	switch d.GetType() {
	case arrowflight.DescriptorPATH:
		return descriptors.ReadFromPath(d.Path)
	case arrowflight.DescriptorCMD:
		return descriptors.ReadFromCommand(d.Cmd)
	}
	return descriptors.ReadCommand{}, fmt.Errorf("%w: descriptor of type %v; want PATH or CMD", descriptors.ErrBadCommand, d.GetType())
}

// flightInfo tells what a plan found. The endpoint names no location: this server.
func flightInfo(r *plan.Read, d *arrowflight.FlightDescriptor, ticket []byte) *arrowflight.FlightInfo {
	return &arrowflight.FlightInfo{
		Schema:           r.Schema.Encapsulated(),
		FlightDescriptor: d,
		Endpoint:         []*arrowflight.FlightEndpoint{{Ticket: &arrowflight.Ticket{Ticket: ticket}}},
		TotalRecords:     r.Rows,
		TotalBytes:       r.Decoded,
		Ordered:          true,
		AppMetadata:      r.Generation.FactsJSON(),
	}
}

// ListFlights tells of every dataset whose name begins with the criteria's expression. Its tickets are plain names: they
// read what is newest when they are used.
func (s *Server) ListFlights(c *arrowflight.Criteria, stream arrowflight.FlightService_ListFlightsServer) error {
	flights := s.catalog.List(string(c.GetExpression()))
	defer func() {
		for _, g := range flights {
			g.Release()
		}
	}()
	for _, g := range flights {
		c := descriptors.ReadCommand{Dataset: descriptors.Name(g.Dataset)}
		r, err := plan.New(g, &c, client(stream.Context(), s.readOptions(stream.Context(), &c)))
		if err != nil {
			return err
		}
		d := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: descriptors.Name(g.Dataset).Segments()}
		if err := stream.Send(flightInfo(r, d, []byte(g.Dataset))); err != nil {
			return err
		}
	}
	return nil
}
