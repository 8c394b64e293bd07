package catalog

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// How long the ids of committed puts are kept, and how much of their facts.
const (
	keptPuts     = 10_000
	keptPutTime  = 24 * time.Hour
	keptPutBytes = 64 << 20 // the default of Options.MaxPutBytes
)

// putIDs knows which puts have been committed or are under way, by their ids.
type putIDs struct {
	now  func() time.Time
	most int64 // of bytes

	mu    sync.Mutex // no other lock is taken under it
	byID  map[string]*namedPut
	done  list.List // of *namedPut, those that are committed, in order of their commits
	bytes int64
}

type namedPut struct {
	id    string
	over  chan struct{} // closed when it is committed or aborted
	at    time.Time     // of the commit
	facts []byte        // nil while it is under way
	what  string        // it was, as sentText and commitText say; "" where that is not known
}

func newPutIDs(now func() time.Time, most int64) *putIDs {
	return &putIDs{now: now, most: most, byID: map[string]*namedPut{}}
}

// PutClaim is the right to be the one put of an id. Its owner ends it by Done or Abort; what comes second does nothing.
type PutClaim struct {
	ids *putIDs
	put *namedPut
}

// claim gives a claim on an id or, where a put of that id has been committed, its facts. It waits for one that is under
// way. The error is the context's, or ErrResent.
func (s *putIDs) claim(ctx context.Context, id string, sent Sent) (*PutClaim, []byte, error) {
	for {
		s.mu.Lock()
		s.forget()
		p := s.byID[id]
		if p == nil {
			p = &namedPut{id: id, over: make(chan struct{})}
			s.byID[id] = p
			s.mu.Unlock()
			return &PutClaim{s, p}, nil, nil
		}
		facts, what := p.facts, p.what
		s.mu.Unlock()
		if facts != nil {
			if err := sent.again(what); err != nil {
				return nil, nil, err
			}
			return nil, facts, nil
		}
		select {
		case <-p.over:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// known gives the facts of a committed put, and what it was.
func (s *putIDs) known(id string) (facts []byte, what string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	p := s.byID[id]
	if p == nil || p.facts == nil {
		return nil, "", false
	}
	return p.facts, p.what, true
}

// forget drops what is too old or too much. The lock is held.
func (s *putIDs) forget() {
	for e := s.done.Front(); e != nil; e = s.done.Front() {
		p := e.Value.(*namedPut)
		if s.done.Len() <= keptPuts && s.now().Sub(p.at) < keptPutTime {
			return
		}
		s.done.Remove(e)
		delete(s.byID, p.id)
		s.bytes -= int64(len(p.facts))
	}
}

// is notes what the put was, before it is done.
func (c *PutClaim) is(what string) {
	if c != nil {
		c.ids.mu.Lock()
		c.put.what = what
		c.ids.mu.Unlock()
	}
}

// Done tells that the put has been committed. Whoever sends it again is answered with its facts; short ones are kept in
// their place while there are very many. A nil claim is that of a put without an id: there is nothing to do.
func (c *PutClaim) Done(facts []byte, short func() []byte) {
	if c == nil {
		return
	}
	s := c.ids
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.ended() {
		c.put.facts = facts
		if s.bytes+int64(len(facts)) > s.most {
			c.put.facts = short()
		}
		s.bytes += int64(len(c.put.facts))
		c.put.at = s.now()
		s.done.PushBack(c.put)
		close(c.put.over)
		s.forget()
	}
}

// kept is the put as it is to be kept with the generation that it made; nil for a nil claim.
func (c *PutClaim) kept(g *Generation, now func() time.Time) *KeptPut {
	if c == nil {
		return nil
	}
	c.ids.mu.Lock()
	bytes, what := c.ids.bytes, c.put.what
	c.ids.mu.Unlock()
	p := &KeptPut{Name: c.put.id, At: now(), Facts: g.FactsJSON(), What: what}
	if bytes+int64(len(p.Facts)) > c.ids.most {
		p.Facts = g.BriefJSON()
	}
	return p
}

// Abort tells that the put has failed: its id is free again. After Done it does nothing.
func (c *PutClaim) Abort() {
	if c == nil {
		return
	}
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	if !c.ended() {
		delete(c.ids.byID, c.put.id)
		close(c.put.over)
	}
}

func (c *PutClaim) ended() bool {
	select {
	case <-c.put.over:
		return true
	default:
		return false
	}
}

// ClaimPut claims an id for a put to a dataset. It waits while another put of that id is under way; if that one is
// committed, now or in the last while, there is no claim, and its facts are what the new one is to be answered with, unless
// the new one is another: ErrResent. Otherwise the caller ends the claim. Other errors are the context's.
func (c *Catalog) ClaimPut(ctx context.Context, dataset, id string, sent Sent) (*PutClaim, []byte, error) {
	return c.puts.claim(ctx, putName(dataset, id), sent)
}

// putName is what an id is known by: names of datasets have no control characters.
func putName(dataset, id string) string { return dataset + "\x00" + id }
