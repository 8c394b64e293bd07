package flight

import (
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/permissions"
)

// lease takes a lease on a generation; the zero lease is none, where there may be no more.
func (s *Server) lease(g *catalog.Generation) catalog.Lease {
	l, _ := s.catalog.Lease(g, s.opts.LeaseTime)
	return l
}

// leased tells of the lease that an endpoint's ticket names, if any.
func leased(e *arrowflight.FlightEndpoint, l catalog.Lease) *arrowflight.FlightEndpoint {
	if l.ID != 0 {
		e.ExpirationTime = timestamppb.New(l.Expires)
	}
	return e
}

// generationOf acquires the generation that a ticket reads: the one that its lease holds or, without one or after it, the
// newest if it is still the same. A ticket for some of the batches is good only under the layout that it counts them in.
func (s *Server) generationOf(t descriptors.Ticket) (g *catalog.Generation, err error) {
	if t.LeaseID != 0 {
		if g, err = s.catalog.Leased(t.LeaseID, t.Generation); err != nil {
			if g, err = s.catalog.At(string(t.Command.Dataset), t.Generation); err != nil {
				return nil, fmt.Errorf("%w (the lease of this ticket has ended)", err)
			}
		}
	} else if g, err = s.generation(string(t.Command.Dataset), t.Generation); err != nil {
		return nil, err
	}
	if all := t.FirstBatch == 0 && t.LastBatch == descriptors.ToEnd; !all && t.Layout != g.Layout {
		defer g.Release()
		return nil, fmt.Errorf("%w: it is for some of the batches of generation %s of dataset %q, which have been joined since; ask GetFlightInfo again",
			errLayout, t.Generation, g.Dataset)
	}
	return g, nil
}

// bound is the last batch of a ticket for a whole generation. Where what was counted depends on the batches that the rows
// lie in, the ticket names all of them, and so is good under this layout only.
func bound(g *catalog.Generation, c *descriptors.ReadCommand) int {
	if c.PruneOnly || c.Statistics && c.BatchMetadata {
		return len(g.Batches)
	}
	return descriptors.ToEnd
}

// maxEndpointBytes bounds an endpoint that is to be renewed: its ticket is hardly longer than a command may be.
const maxEndpointBytes = 2 << 20

// renewFlightEndpoint is the action of that name: the lease of the endpoint's ticket runs for its whole time again.
func (s *Server) renewFlightEndpoint(c *call, body []byte) ([]byte, error) {
	if len(body) > maxEndpointBytes {
		return nil, badBody(arrowflight.RenewFlightEndpointActionType, "a body of %d bytes, at most %d are taken", len(body), maxEndpointBytes)
	}
	var request arrowflight.RenewFlightEndpointRequest
	if err := proto.Unmarshal(body, &request); err != nil || request.GetEndpoint() == nil {
		return nil, badBody(arrowflight.RenewFlightEndpointActionType, "want a RenewFlightEndpointRequest with an endpoint")
	}
	e := request.GetEndpoint()
	t, err := descriptors.ParseTicket(e.GetTicket().GetTicket(), s.sealer)
	if err != nil {
		return nil, err
	}
	c.dataset = string(t.Command.Dataset)
	if err := s.may(c, permissions.Read, c.dataset); err != nil {
		return nil, err
	}
	if t.LeaseID == 0 {
		return nil, fmt.Errorf("dataset %q: %w to renew: its ticket reads what is there when it is used; GetFlightInfo gives leases",
			c.dataset, errNoLease)
	}
	l, err := s.catalog.Renew(t.LeaseID, t.Generation)
	if err != nil {
		return nil, inDataset(t.Command.Dataset, err)
	}
	return proto.Marshal(leased(e, l))
}

// cancelFlightInfo is the action of that name: the leases of the endpoints' tickets end. Tickets without one have nothing
// to cancel; a lease that has ended before is as cancelled as one that ends now.
//
// A FlightInfo may be as large as a message, and its endpoints are two bytes at the least: the tickets are read from the
// bytes, as parsing all of it would take many times its size.
func (s *Server) cancelFlightInfo(c *call, body []byte) ([]byte, error) {
	leases, endpoints := map[uint64]string{}, -1 // to generations; no info yet
	err := eachField(body, 1, func(info []byte) error {
		endpoints = max(endpoints, 0)
		return eachField(info, 3, func(e []byte) error {
			t, err := s.endpointTicket(e)
			if err != nil {
				return fmt.Errorf("endpoint %d: %w; nothing was cancelled", endpoints, err)
			}
			endpoints++
			c.dataset = string(t.Command.Dataset)
			if err := s.may(c, permissions.Read, c.dataset); err != nil {
				return fmt.Errorf("endpoint %d: %w; nothing was cancelled", endpoints-1, err)
			}
			if t.LeaseID != 0 {
				leases[t.LeaseID] = t.Generation
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return nil, err
	case endpoints < 0:
		return nil, badBody(arrowflight.CancelFlightInfoActionType, "want a CancelFlightInfoRequest with an info")
	}
	result := arrowflight.CancelFlightInfoResult{Status: arrowflight.CancelStatusNotCancellable}
	for id, generation := range leases {
		s.catalog.EndLease(id, generation)
		result.Status = arrowflight.CancelStatusCancelled
	}
	return proto.Marshal(&result)
}

// endpointTicket reads the ticket of a serialized endpoint.
func (s *Server) endpointTicket(endpoint []byte) (descriptors.Ticket, error) {
	var raw []byte
	err := eachField(endpoint, 1, func(ticket []byte) error {
		return eachField(ticket, 1, func(b []byte) error {
			raw = b
			return nil
		})
	})
	if err != nil {
		return descriptors.Ticket{}, err
	}
	return descriptors.ParseTicket(raw, s.sealer)
}

// eachField calls f with each length-delimited field of this number in a protobuf message.
func eachField(message []byte, number protowire.Number, f func([]byte) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return badBody(arrowflight.CancelFlightInfoActionType, "a CancelFlightInfoRequest that does not parse")
		}
		message = message[size:]
		size = protowire.ConsumeFieldValue(n, kind, message)
		if size < 0 {
			return badBody(arrowflight.CancelFlightInfoActionType, "a CancelFlightInfoRequest that does not parse")
		}
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message) // its size has just been found right
			if err := f(value); err != nil {
				return err
			}
		}
		message = message[size:]
	}
	return nil
}

// badBody is an error about the body of one of Flight's own actions.
func badBody(action, format string, args ...any) error {
	return fmt.Errorf("%w: action %s: %s", descriptors.ErrBadCommand, action, fmt.Sprintf(format, args...))
}
