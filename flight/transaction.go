package flight

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flightcache/flightcache/descriptors"
)

// beginResult is the result of begin.
type beginResult struct {
	Dataset     string `json:"dataset"`
	Transaction string `json:"transaction"`
	Expires     string `json:"expires"` // RFC 3339, in UTC
}

func (s *Server) begin(c *call, a descriptors.Begin) ([]byte, error) {
	period := s.opts.TransactionTime
	if a.TTL != 0 {
		period = time.Duration(a.TTL) * time.Second
	}
	t, err := s.catalog.BeginTransaction(string(a.Dataset), commitMode(a.Mode), period)
	if err != nil {
		return nil, err
	}
	c.transaction = t.ID
	return json.Marshal(beginResult{t.Dataset, t.ID, t.Expires.UTC().Format(time.RFC3339Nano)})
}

// abortResult is the result of abort.
type abortResult struct {
	Dataset     string `json:"dataset"`
	Transaction string `json:"transaction"`
	Aborted     bool   `json:"aborted"` // false: it ended at the same time in another way
}

func (s *Server) abort(ctx context.Context, a descriptors.Abort) ([]byte, error) {
	t, err := s.catalog.Transaction(string(a.Dataset), a.Transaction)
	if err != nil {
		return nil, err
	}
	open, err := t.Abort(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(abortResult{t.Dataset, t.ID, open})
}

// pinResult is the result of pin and unpin.
type pinResult struct {
	Dataset string `json:"dataset"`
	Pinned  bool   `json:"pinned"`
}

func (s *Server) pin(ctx context.Context, name descriptors.Name, pinned bool) ([]byte, error) {
	if err := s.catalog.SetPinned(ctx, string(name), pinned); err != nil {
		return nil, err
	}
	return json.Marshal(pinResult{string(name), pinned})
}
