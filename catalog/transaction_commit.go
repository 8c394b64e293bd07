package catalog

import (
	"context"
	"fmt"
)

// CommitTransaction makes the puts of a transaction visible as one new generation and gives its facts as JSON, not to be
// modified. The puts named are kept, in their order, and all others discarded; nil keeps all, in order of their
// completion. Of a TTL and a pin, the last that is given counts; one durable put makes all durable. A commit that is sent
// again is answered as the first one was, if it lists the same puts. ErrNoTransaction; ErrResent; ErrIncomplete when a named put has not been completed, or none is
// left; the errors of Put.Commit: the transaction then stays open.
func (c *Catalog) CommitTransaction(ctx context.Context, dataset, id string, puts []string) ([]byte, error) {
	t, err := c.Transaction(dataset, id)
	if err != nil {
		return c.committed(dataset, id, puts, err)
	}
	g, discarded, err := t.commit(ctx, puts)
	for _, p := range discarded {
		p.release()
	}
	if err != nil {
		return c.committed(dataset, id, puts, err)
	}
	defer g.Release()
	return g.FactsJSON(), nil
}

// committed answers a commit that failed as the same one was answered that succeeded before; the error is of the failure
// if there was none.
func (c *Catalog) committed(dataset, id string, puts []string, err error) ([]byte, error) {
	facts, what, again := c.puts.known(commitName(dataset, id))
	if !again {
		return nil, err
	}
	if err := sameCommit(what, puts); err != nil {
		return nil, err
	}
	return facts, nil
}

// commitName is what a commit is known by among the puts: as a dataset's name is never empty, no put has such a one.
func commitName(dataset, id string) string { return "\x00" + dataset + "\x00" + id }

// commit publishes, and gives the parts that are to be released. The generation is acquired.
func (t *Transaction) commit(ctx context.Context, puts []string) (g *Generation, discarded []part, err error) {
	if err := t.enter(ctx); err != nil {
		return nil, nil, err
	}
	if t.over {
		t.mu.Unlock()
		return nil, nil, noTransaction(t.Dataset, t.ID)
	}
	kept, others, err := t.choose(puts)
	if err != nil {
		t.mu.Unlock()
		return nil, nil, err
	}
	t.committing = make(chan struct{})
	t.mu.Unlock()
	defer func() { // also if the commit panics
		t.mu.Lock()
		defer t.mu.Unlock()
		close(t.committing)
		t.committing = nil
		switch {
		case g != nil:
			for _, p := range kept {
				p.taken()
			}
			discarded = others
			t.close()
		case t.lapsed:
			discarded = t.parts
			t.close()
		}
	}()
	g, err = t.publish(ctx, kept, commitText(puts))
	return g, nil, err
}

// publish commits puts as one. What is how the commit is known.
func (t *Transaction) publish(ctx context.Context, puts []part, what string) (*Generation, error) {
	p := &Put{c: t.c, name: t.Dataset, mode: t.Mode, schema: puts[0].schema, Held: puts[0].held, what: what}
	var batches []Batch
	order := puts[0].order
	for i, k := range puts {
		batches = append(batches, k.batches...)
		if i > 0 {
			order = order.then(k.order)
		}
		p.declared = p.declared || k.ordered
		if k.share != nil {
			p.shares = append(p.shares, k.share)
		}
		if k.ttl != 0 {
			p.TTL = k.ttl
		}
		if k.pin != nil {
			p.Pin = k.pin
		}
		if k.durable != nil && (p.Durable == nil || *k.durable) {
			p.Durable = k.durable
		}
	}
	claim, _, err := t.c.puts.claim(ctx, commitName(t.Dataset, t.ID), Sent{Mode: t.Mode})
	if err != nil {
		return nil, err
	}
	defer claim.Abort() // after the commit it does nothing
	p.Claim = claim
	return p.Commit(ctx, batches, puts[len(puts)-1].codec, order)
}

// choose parts the puts into those to keep, in order, and those to discard. The lock is held.
func (t *Transaction) choose(puts []string) (kept, discarded []part, err error) {
	if puts == nil {
		kept = t.parts
	} else {
		places := make(map[string]int, len(t.parts))
		for i, p := range t.parts {
			if p.id != "" {
				places[p.id] = i
			}
		}
		chosen := make([]bool, len(t.parts))
		for _, id := range puts {
			i, there := places[id]
			if !there || chosen[i] {
				return nil, nil, fmt.Errorf("%w: it has no completed put %q, or one named twice; put it first, or leave it out", ErrIncomplete, id)
			}
			chosen[i] = true
			kept = append(kept, t.parts[i])
		}
		for i, p := range t.parts {
			if !chosen[i] {
				discarded = append(discarded, p)
			}
		}
	}
	if len(kept) == 0 {
		return nil, nil, fmt.Errorf("%w: no put of transaction %s of %q is to be kept; abort it, or put first", ErrIncomplete, t.ID, t.Dataset)
	}
	return kept, discarded, nil
}
