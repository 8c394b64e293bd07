package flight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/permissions"
)

// testActions are actions that only test builds have; a build tag adds them.
var testActions = map[string]func(*Server) ([]byte, error){}

// DoAction carries out one action: a JSON object in, exactly one JSON result out. Those of Flight itself have protobuf in
// their place.
func (s *Server) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	c := callOf(stream.Context())
	c.action = a.GetType()
	switch a.GetType() {
	case arrowflight.SetSessionOptionsActionType, arrowflight.GetSessionOptionsActionType, arrowflight.CloseSessionActionType:
		return fmt.Errorf("%w: action %q", errUnsupported, a.GetType())
	}
	result, err := s.result(stream.Context(), c, a)
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.Result{Body: result})
}

// result carries out an action, whichever form its body has.
func (s *Server) result(ctx context.Context, c *call, a *arrowflight.Action) ([]byte, error) {
	if test, ok := testActions[a.GetType()]; ok {
		return test(s)
	}
	switch a.GetType() {
	case arrowflight.RenewFlightEndpointActionType:
		return s.renewFlightEndpoint(c, a.GetBody())
	case arrowflight.CancelFlightInfoActionType:
		return s.cancelFlightInfo(c, a.GetBody())
	}
	action, err := descriptors.ParseAction(a.GetType(), a.GetBody())
	if err != nil {
		return nil, err
	}
	return s.act(ctx, c, action)
}

// asks is what an action does, and to which dataset; "": to all, whatever their names.
func asks(action descriptors.Action) (permissions.Right, descriptors.Name) {
	switch a := action.(type) {
	case descriptors.Describe:
		return permissions.Read, a.Dataset
	case descriptors.Statistics:
		return permissions.Read, a.Dataset
	case descriptors.ServerStats:
		if a.Dataset != "" {
			return permissions.Read, a.Dataset
		}
	case descriptors.Drop:
		return permissions.Write, a.Dataset
	case descriptors.Begin:
		return permissions.Write, a.Dataset
	case descriptors.Commit:
		return permissions.Write, a.Dataset
	case descriptors.Abort:
		return permissions.Write, a.Dataset
	case descriptors.Pin:
		return permissions.Admin, a.Dataset
	case descriptors.Unpin:
		return permissions.Admin, a.Dataset
	case descriptors.Evict:
		return permissions.Admin, a.Dataset
	case descriptors.Compact:
		return permissions.Admin, a.Dataset
	}
	return permissions.Admin, ""
}

// permit tells whether the caller may carry out an action.
func (s *Server) permit(c *call, action descriptors.Action) error {
	right, dataset := asks(action)
	if c.dataset = string(dataset); dataset == "" {
		return s.mayAll(c, right)
	}
	if _, begins := action.(descriptors.Begin); begins {
		return s.mayPut(c, c.dataset)
	}
	return s.may(c, right, c.dataset)
}

func (s *Server) act(ctx context.Context, c *call, action descriptors.Action) ([]byte, error) {
	if err := s.permit(c, action); err != nil {
		return nil, err
	}
	switch a := action.(type) {
	case descriptors.Drop:
		return s.drop(ctx, a)
	case descriptors.Describe:
		g, err := s.catalog.Current(string(a.Dataset))
		if err != nil {
			return nil, err
		}
		defer g.Release()
		return s.catalog.Describe(g)
	case descriptors.Statistics:
		return s.statistics(a)
	case descriptors.ServerStats:
		return s.serverStats(a)
	case descriptors.Pin:
		return s.pin(ctx, a.Dataset, true)
	case descriptors.Unpin:
		return s.pin(ctx, a.Dataset, false)
	case descriptors.Evict:
		return s.evict(ctx, a)
	case descriptors.Compact:
		return s.compactAction(ctx, a)
	case descriptors.Begin:
		return s.begin(c, a)
	case descriptors.Commit:
		c.transaction = a.Transaction
		defer s.grown(c.dataset)
		return s.catalog.CommitTransaction(ctx, c.dataset, a.Transaction, a.Puts)
	case descriptors.Abort:
		c.transaction = a.Transaction
		return s.abort(ctx, a)
	}
	return nil, fmt.Errorf("%w: action %q", errUnsupported, action.ActionName())
}

// dropResult is the result of drop.
type dropResult struct {
	Dataset string `json:"dataset"`
	Dropped bool   `json:"dropped"`
}

func (s *Server) drop(ctx context.Context, a descriptors.Drop) ([]byte, error) {
	name := string(a.Dataset)
	gone := s.about(name)
	err := s.catalog.Drop(ctx, name)
	if err == nil {
		gone.tell(callOf(ctx))
	}
	if err != nil && !(a.IfExists && errors.Is(err, catalog.ErrNotFound)) {
		return nil, err
	}
	s.stats.forget(name)
	return json.Marshal(dropResult{Dataset: name, Dropped: err == nil})
}

// size is what a dataset has, shortly before it goes.
type size struct{ rows, stored int64 }

// about gives the size of a dataset, of none where it is not there.
func (s *Server) about(name string) size {
	g, err := s.catalog.Current(name)
	if err != nil {
		return size{}
	}
	defer g.Release()
	return size{g.Rows, g.Stored}
}

// tell notes that a dataset of that size has gone.
func (z size) tell(c *call) { c.rows, c.bytes = z.rows, z.stored }

// ListActions tells of every action that this server carries out.
func (s *Server) ListActions(_ *arrowflight.Empty, stream arrowflight.FlightService_ListActionsServer) error {
	for _, a := range descriptors.Actions() {
		if err := stream.Send(&arrowflight.ActionType{Type: a.Name, Description: a.Doc}); err != nil {
			return err
		}
	}
	for _, a := range flightActions {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

// flightActions are those of Flight itself, with protobuf in and out.
var flightActions = []*arrowflight.ActionType{
	{Type: arrowflight.CancelFlightInfoActionType, Description: "End the lease of a FlightInfo."},
	{Type: arrowflight.RenewFlightEndpointActionType, Description: "Have the lease of an endpoint run for its whole time again."},
}

// DoExchange is Unimplemented: put and get are separate calls.
func (s *Server) DoExchange(arrowflight.FlightService_DoExchangeServer) error {
	return fmt.Errorf("%w: DoExchange; use DoPut and DoGet", errUnsupported)
}
