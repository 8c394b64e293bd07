package flight

import (
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
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

// generationOf acquires the generation that a ticket reads: the one that its lease holds or, after the lease, the newest
// if it is still the same.
func (s *Server) generationOf(t descriptors.Ticket) (*catalog.Generation, error) {
	if t.LeaseID == 0 {
		return s.generation(string(t.Command.Dataset), t.Generation)
	}
	if g, err := s.catalog.Leased(t.LeaseID, t.Generation); err == nil {
		return g, nil
	}
	g, err := s.catalog.At(string(t.Command.Dataset), t.Generation)
	if err != nil {
		return nil, fmt.Errorf("%w (the lease of this ticket has ended)", err)
	}
	return g, nil
}

// renewFlightEndpoint is the action of that name: the lease of the endpoint's ticket runs for its whole time again.
func (s *Server) renewFlightEndpoint(c *call, body []byte) ([]byte, error) {
	var request arrowflight.RenewFlightEndpointRequest
	if err := proto.Unmarshal(body, &request); err != nil || request.GetEndpoint() == nil {
		return nil, fmt.Errorf("%w: action %s: its body is no RenewFlightEndpointRequest with an endpoint",
			descriptors.ErrBadCommand, arrowflight.RenewFlightEndpointActionType)
	}
	e := request.GetEndpoint()
	t, err := descriptors.ParseTicket(e.GetTicket().GetTicket(), s.sealer)
	if err != nil {
		return nil, err
	}
	c.dataset = string(t.Command.Dataset)
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
func (s *Server) cancelFlightInfo(c *call, body []byte) ([]byte, error) {
	var request arrowflight.CancelFlightInfoRequest
	if err := proto.Unmarshal(body, &request); err != nil || request.GetInfo() == nil {
		return nil, fmt.Errorf("%w: action %s: its body is no CancelFlightInfoRequest with an info",
			descriptors.ErrBadCommand, arrowflight.CancelFlightInfoActionType)
	}
	tickets := make([]descriptors.Ticket, 0, len(request.GetInfo().GetEndpoint()))
	for i, e := range request.GetInfo().GetEndpoint() {
		t, err := descriptors.ParseTicket(e.GetTicket().GetTicket(), s.sealer)
		if err != nil {
			return nil, fmt.Errorf("endpoint %d: %w; nothing was cancelled", i, err)
		}
		tickets = append(tickets, t)
	}
	result := arrowflight.CancelFlightInfoResult{Status: arrowflight.CancelStatusNotCancellable}
	for _, t := range tickets {
		c.dataset = string(t.Command.Dataset)
		if t.LeaseID != 0 {
			s.catalog.EndLease(t.LeaseID, t.Generation)
			result.Status = arrowflight.CancelStatusCancelled
		}
	}
	return proto.Marshal(&result)
}
