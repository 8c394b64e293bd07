package flight

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// identify finds the transaction that the put belongs to and claims its put_id. It waits for a put of the same id that is
// under way; no memory is held meanwhile. The header is that of the message with the descriptor, mostly the schema's: what
// is sent again is to be the same.
func (p *put) identify(ctx context.Context, header []byte) (err error) {
	dataset, id := string(p.command.Dataset), p.command.PutID
	if p.command.Transaction != "" {
		if p.transaction, err = p.server.catalog.Transaction(dataset, p.command.Transaction); err != nil {
			return err
		}
		if m := p.command.Mode; m != "" && commitMode(m) != p.transaction.Mode {
			return fmt.Errorf("%w: the put says %s; leave the mode out", catalog.ErrMode, m)
		}
	}
	if id == "" {
		return nil
	}
	sent := catalog.Sent{Mode: commitMode(p.command.Mode), Rows: p.command.Rows, Schema: p.storedSchema(header)}
	if p.transaction != nil {
		sent.Mode = p.transaction.Mode
		p.named, p.before, err = p.transaction.ClaimPut(ctx, id, sent)
		return err
	}
	p.named, p.before, err = p.server.catalog.ClaimPut(ctx, dataset, id, sent)
	return err
}

// storedSchema is the schema that the put's batches will have, if this is the header of a schema message that can be read;
// what is wrong with one that cannot is said when the put begins.
func (p *put) storedSchema(header []byte) *arrowipc.Schema {
	if len(header) == 0 {
		return nil
	}
	s, err := arrowipc.ParseSchema(header, p.server.store.Limits())
	if err == nil && p.command.Dictionaries == descriptors.DictionariesDecode {
		s, err = s.WithoutDictionaries(func(int64) bool { return true })
	}
	if err != nil {
		return nil
	}
	return s
}

// skip receives the rest of a put that was committed before, and forgets it.
func (p *put) skip() error {
	var m discarded
	for {
		switch err := p.stream.RecvMsg(&m); {
		case errors.Is(err, io.EOF):
			p.reading = false
			return nil
		case err != nil:
			p.reading = false
			return err
		}
	}
}

// publish commits what was stored, or completes it within its transaction, and gives its facts.
func (p *put) publish(ctx context.Context, stored []catalog.Batch) ([]byte, error) {
	p.commit.Claim = p.named
	if p.transaction != nil {
		facts, err := p.commit.Stage(ctx, stored, p.codec(), p.order(), p.command.PutID)
		if err == nil {
			p.share = nil // it counts until the transaction ends
		}
		return facts, err
	}
	g, err := p.commit.Commit(ctx, stored, p.codec(), p.order())
	if err != nil {
		return nil, err
	}
	defer g.Release()
	p.server.grown(g.Dataset)
	return g.FactsJSON(), nil
}
