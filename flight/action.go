package flight

import (
	"encoding/json"
	"errors"
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// testActions are actions that only test builds have; a build tag adds them.
var testActions = map[string]func(*Server) ([]byte, error){}

// DoAction carries out one action: a JSON object in, exactly one JSON result out.
func (s *Server) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	c := callOf(stream.Context())
	c.action = a.GetType()
	switch a.GetType() {
	case arrowflight.CancelFlightInfoActionType, arrowflight.RenewFlightEndpointActionType,
		arrowflight.SetSessionOptionsActionType, arrowflight.GetSessionOptionsActionType, arrowflight.CloseSessionActionType:
		return fmt.Errorf("%w: action %q", errUnsupported, a.GetType())
	}
	if test, ok := testActions[a.GetType()]; ok {
		result, err := test(s)
		if err != nil {
			return err
		}
		return stream.Send(&arrowflight.Result{Body: result})
	}
	action, err := descriptors.ParseAction(a.GetType(), a.GetBody())
	if err != nil {
		return err
	}
	result, err := s.act(c, action)
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.Result{Body: result})
}

func (s *Server) act(c *call, action descriptors.Action) ([]byte, error) {
	switch a := action.(type) {
	case descriptors.Drop:
		c.dataset = string(a.Dataset)
		return s.drop(a)
	case descriptors.Describe:
		c.dataset = string(a.Dataset)
		g, err := s.catalog.Current(string(a.Dataset))
		if err != nil {
			return nil, err
		}
		defer g.Release()
		return g.FactsJSON(), nil
	case descriptors.Statistics:
		c.dataset = string(a.Dataset)
		return s.statistics(a)
	case descriptors.ServerStats:
		c.dataset = string(a.Dataset)
		return s.serverStats(a)
	}
	return nil, fmt.Errorf("%w: action %q", errUnsupported, action.ActionName())
}

// dropResult is the result of drop.
type dropResult struct {
	Dataset string `json:"dataset"`
	Dropped bool   `json:"dropped"`
}

func (s *Server) drop(a descriptors.Drop) ([]byte, error) {
	name := string(a.Dataset)
	err := s.catalog.Drop(name)
	if err != nil && !(a.IfExists && errors.Is(err, catalog.ErrNotFound)) {
		return nil, err
	}
	s.stats.forget(name)
	return json.Marshal(dropResult{Dataset: name, Dropped: err == nil})
}

// ListActions tells of every action that this server carries out.
func (s *Server) ListActions(_ *arrowflight.Empty, stream arrowflight.FlightService_ListActionsServer) error {
	for _, a := range descriptors.Actions() {
		if err := stream.Send(&arrowflight.ActionType{Type: a.Name, Description: a.Doc}); err != nil {
			return err
		}
	}
	return nil
}

// Handshake is Unimplemented: this server has no authentication yet.
func (s *Server) Handshake(arrowflight.FlightService_HandshakeServer) error {
	return fmt.Errorf("%w: Handshake; there is no authentication to shake hands for", errUnsupported)
}

// DoExchange is Unimplemented: put and get are separate calls.
func (s *Server) DoExchange(arrowflight.FlightService_DoExchangeServer) error {
	return fmt.Errorf("%w: DoExchange; use DoPut and DoGet", errUnsupported)
}
