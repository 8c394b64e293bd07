package flight

import (
	"context"
	"encoding/json"
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/permissions"
	"github.com/flightcache/flightcache/flight/plan"
	"github.com/flightcache/flightcache/predicate"
)

// GetFlightInfo plans a read and answers from metadata alone: the schema of the stream, rows and decoded bytes, and one
// or more endpoints whose opaque tickets are bound to the generation that was counted, under a lease of their own. Only `count: "exact"` looks at
// payloads, of a filter's own columns and where statistics do not decide.
func (s *Server) GetFlightInfo(ctx context.Context, d *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	r, command, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Generation.Release()
	s.catalog.Use(r.Generation.Dataset)
	if command.Statistics {
		return s.statisticsInfo(r, command, d, s.lease(r.Generation)), nil
	}
	if command.Count == descriptors.CountExact && r.Rows == plan.Unknown {
		if err := s.countRows(ctx, r); err != nil {
			return nil, inDataset(command.Dataset, err)
		}
	}
	lease := s.lease(r.Generation)
	ticket := descriptors.Ticket{
		Command: r.Resolved(command), Generation: r.Generation.ID, Layout: r.Generation.Layout,
		LastBatch: bound(r.Generation, &command), LeaseID: lease.ID,
	}
	if command.Partitions <= 1 {
		return flightInfo(r, d, leased(endpoint(s.sealer.Seal(ticket), nil), lease)), nil
	}
	ranges := r.Partition(command.Partitions)
	if size := len(s.sealer.Seal(ticket)) * len(ranges); size > maxTicketsBytes {
		return nil, fmt.Errorf("%w: the command is in each of %d tickets, which have %d bytes together, at most %d are sent; ask for fewer partitions, or make the command shorter",
			errTooBig, len(ranges), size, maxTicketsBytes)
	}
	var endpoints []*arrowflight.FlightEndpoint
	for _, x := range ranges {
		ticket.FirstBatch, ticket.LastBatch = x.First, x.Last
		facts, err := json.Marshal(rangeFacts{Batches: x.Last - x.First, Rows: x.Rows, DecodedBytes: x.Decoded})
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, leased(endpoint(s.sealer.Seal(ticket), facts), lease))
	}
	return flightInfo(r, d, endpoints...), nil
}

// maxTicketsBytes bounds the tickets of one answer: each carries the whole command.
const maxTicketsBytes = 16 << 20

// rangeFacts are the JSON of one endpoint of several: what the stored batches of its range hold of the chosen columns.
// Under a filter they are the most that it sends.
type rangeFacts struct {
	Batches      int   `json:"batches"`
	Rows         int64 `json:"rows"`
	DecodedBytes int64 `json:"decoded_bytes"`
}

// countRows runs the filter over the batches that statistics do not decide.
func (s *Server) countRows(ctx context.Context, r *plan.Read) error {
	claim := s.store.ReadClaim(ctx)
	defer claim.End()
	selector := s.store.Selector(r.Generation.Schema.Layout, r.Filter.Selection(), claim)
	defer selector.Close()
	rows, decoded := int64(0), int64(0)
	defer func() {
		s.stats.both(r.Generation.Dataset, func(c *counts) { c.bytesDecoded.Add(decoded) })
	}()
	for i, b := range r.Generation.Batches {
		if r.Verdict(i) != predicate.Some {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		stored, err := wholeBatch(b)
		if err != nil {
			return err
		}
		n, d, err := selector.Count(stored)
		decoded += d
		if err != nil {
			return err
		}
		rows += n
	}
	r.Counted(rows)
	return nil
}

// GetSchema gives the schema that the same descriptor's stream would have.
func (s *Server) GetSchema(ctx context.Context, d *arrowflight.FlightDescriptor) (*arrowflight.SchemaResult, error) {
	r, command, err := s.plan(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Generation.Release()
	if command.Statistics {
		return &arrowflight.SchemaResult{Schema: s.statisticsInfo(r, command, d, catalog.Lease{}).Schema}, nil
	}
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
	of := callOf(ctx)
	of.dataset = string(c.Dataset)
	if err := s.may(of, permissions.Read, of.dataset); err != nil {
		return nil, c, err
	}
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

// flightInfo tells what a plan found.
func flightInfo(r *plan.Read, d *arrowflight.FlightDescriptor, endpoints ...*arrowflight.FlightEndpoint) *arrowflight.FlightInfo {
	return &arrowflight.FlightInfo{
		Schema:           r.Schema.Encapsulated(),
		FlightDescriptor: d,
		Endpoint:         endpoints,
		TotalRecords:     r.Rows,
		TotalBytes:       r.Decoded,
		Ordered:          true,
		AppMetadata:      r.FactsJSON(),
	}
}

// endpoint is one that names no location: this server.
func endpoint(ticket, facts []byte) *arrowflight.FlightEndpoint {
	return &arrowflight.FlightEndpoint{Ticket: &arrowflight.Ticket{Ticket: ticket}, AppMetadata: facts}
}

// ListFlights tells of every dataset that the caller may read and whose name begins with the criteria's expression. Its tickets are plain names: they
// read what is newest when they are used.
func (s *Server) ListFlights(c *arrowflight.Criteria, stream arrowflight.FlightService_ListFlightsServer) error {
	flights := s.catalog.List(string(c.GetExpression()))
	defer func() {
		for _, g := range flights {
			g.Release()
		}
	}()
	caller := client(stream.Context(), s.readOptions(stream.Context(), &descriptors.ReadCommand{})) // the same for all
	of := callOf(stream.Context())
	for _, g := range flights {
		if !s.allows(of, permissions.Read, g.Dataset) {
			continue
		}
		r, err := plan.New(g, &descriptors.ReadCommand{Dataset: descriptors.Name(g.Dataset)}, caller)
		if err != nil {
			return err
		}
		d := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: descriptors.Name(g.Dataset).Segments()}
		if err := stream.Send(flightInfo(r, d, endpoint([]byte(g.Dataset), nil))); err != nil {
			return err
		}
	}
	return nil
}
