package flight

import (
	"context"
	"encoding/json"
	"errors"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/permissions"
	"github.com/flightcache/flightcache/flight/plan"
	"github.com/flightcache/flightcache/predicate"
)

// DoGet sends what a ticket names: the schema, then a message for each stored batch, or more where they have to be cut.
func (s *Server) DoGet(t *arrowflight.Ticket, stream arrowflight.FlightService_DoGetServer) error {
	ctx := stream.Context()
	ticket, err := descriptors.ParseTicket(t.GetTicket(), s.sealer)
	if err != nil {
		return err
	}
	c := callOf(ctx)
	c.dataset = string(ticket.Command.Dataset)
	if err := s.may(c, permissions.Read, c.dataset); err != nil {
		return err
	}
	g, err := s.generationOf(ticket)
	if err != nil {
		return err
	}
	defer g.Release()
	s.catalog.Use(c.dataset)
	o := s.readOptions(ctx, &ticket.Command)
	read, err := plan.New(g, &ticket.Command, client(ctx, o))
	if err != nil {
		return err
	}
	c.columns = len(read.Schema.Layout.Columns)
	batches, err := read.Batches(ticket.FirstBatch, ticket.LastBatch)
	if err != nil {
		return err
	}
	o.Claim = s.store.ReadClaim(ctx)
	defer o.Claim.End()
	c.read.Store(o.Claim)
	lease := connectionOf(ctx).newLease()
	defer func() {
		if lease.end() && ctx.Err() != nil {
			s.reclaimer.watch(lease)
			if errors.Is(context.Cause(ctx), errIdle) {
				s.linger(lease)
			}
		}
	}()
	if read.Schema != g.Schema {
		// What is left of a large schema is as large, and lives as long as the read.
		charge, err := o.Claim.Charge(read.Schema.Bytes())
		if err != nil {
			return inDataset(ticket.Command.Dataset, err)
		}
		defer charge.Release()
	}
	get := &get{stream: stream, lease: lease, claim: o.Claim, call: c, metadata: ticket.Command.BatchMetadata}
	defer func() { s.stats.both(c.dataset, get.count) }()
	if ticket.Command.Statistics {
		return get.sendStatistics(read, ticket.Command.BatchMetadata)
	}
	if err := get.schema(read, s.store); err != nil {
		return err
	}
	if read.Decode {
		o.Decode = func(int64) bool { return true }
	}
	reader := s.store.Reader(g.Schema.Layout, read.Projection, o)
	defer reader.Close()
	if read.Filter != nil {
		get.filter = s.store.Selector(g.Schema.Layout, read.Filter.Selection(), o.Claim)
		defer get.filter.Close()
	}
	return inDataset(ticket.Command.Dataset, get.batches(reader, read, batches, ticket.FirstBatch))
}

// batches sends a run of stored batches, of which first is the ordinal of the first.
func (g *get) batches(reader *batchstore.Reader, read *plan.Read, batches []catalog.Batch, first int) error {
	left := read.MaxRows
	for i, b := range batches {
		g.batch = first + i
		if read.Filter != nil {
			g.judged++
		}
		verdict := read.Verdict(g.batch)
		if verdict == predicate.None {
			g.pruned++ // also behind the last row: how many are told of does not depend on the order of the batches
			continue
		}
		if left <= 0 {
			continue
		}
		stored, err := wholeBatch(b)
		if err != nil {
			return err
		}
		switch verdict {
		case predicate.Some:
			rows, err := reader.ReadFiltered(stored, g.filter, left, g.send)
			if err != nil {
				return err
			}
			left -= rows
		case predicate.All:
			if err := reader.Read(stored, left, g.send); err != nil {
				return err
			}
			left -= b.Rows()
		}
	}
	return nil
}

// generation acquires one generation of a dataset, or the newest where none is named.
func (s *Server) generation(dataset, id string) (*catalog.Generation, error) {
	if id == "" {
		return s.catalog.Current(dataset)
	}
	return s.catalog.At(dataset, id)
}

// get is one DoGet under way.
type get struct {
	stream   arrowflight.FlightService_DoGetServer
	lease    *lease
	claim    *batchstore.Claim
	call     *call
	metadata bool // the client asked for JSON about each batch
	batch    int  // ordinal of the stored batch that is being sent

	filter *batchstore.Selector // nil without a filter

	messages, judged, pruned, decoded, encoded int64
}

// schema sends the schema. A large one is the store's own if nothing of it is left out, else it is copied to memory that counts.
func (g *get) schema(r *plan.Read, s *batchstore.Store) error {
	header := r.Schema.Message()
	var owner batchstore.Owner
	if held := s.Hold(r.Schema); held != nil {
		defer held.Release()
		owner = held
	} else if len(header) > largeHeader {
		lent, scratch, err := g.claim.Lend(len(header))
		if err != nil {
			return err
		}
		defer scratch.Release()
		copy(lent, header)
		header, owner = lent, scratch
	}
	m := schemaMessage(g.lease, header, owner)
	g.call.bytes += int64(m.size)
	return g.stream.SendMsg(m)
}

// batchFacts are the JSON that a client gets with each message when it asks for batch_metadata.
type batchFacts struct {
	Batch int   `json:"batch"` // ordinal of the stored batch
	Rows  int64 `json:"rows"`  // of this message
}

// send sends one message. A call that has ended sends no more, though gRPC would still take what its windows let through.
func (g *get) send(out *batchstore.Message) error {
	if err := context.Cause(g.stream.Context()); err != nil {
		return err
	}
	var app []byte
	if g.metadata && !out.Dictionary {
		var err error
		if app, err = json.Marshal(batchFacts{Batch: g.batch, Rows: out.Rows}); err != nil {
			return err
		}
	}
	m, err := batchMessage(g.lease, out, app, g.claim.Lend)
	if err != nil {
		return err
	}
	g.decoded += out.Decoded
	g.encoded += out.Encoded
	if err := g.stream.SendMsg(m); err != nil {
		return err
	}
	if !out.Dictionary {
		g.messages++
	}
	g.call.rows += out.Rows
	g.call.bytes += int64(m.size)
	return nil
}

func (g *get) count(c *counts) {
	c.gets.Add(1)
	c.rowsOut.Add(g.call.rows)
	c.bytesOut.Add(g.call.bytes)
	c.batchesSent.Add(g.messages)
	c.batchesConsidered.Add(g.judged)
	c.batchesPruned.Add(g.pruned)
	c.bytesDecoded.Add(g.decoded)
	if g.filter != nil {
		c.bytesDecoded.Add(g.filter.Wasted())
	}
	c.bytesEncoded.Add(g.encoded)
}
