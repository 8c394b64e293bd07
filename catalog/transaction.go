package catalog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
)

// maxStaged is how many puts one transaction holds.
const maxStaged = 100_000

// transactions are those that are open.
type transactions struct {
	mu   sync.Mutex // no other lock is taken under it
	byID map[string]*Transaction
	most int
}

// Transaction gathers puts to one dataset until they are committed as one generation, or discarded. It is safe for
// concurrent use.
type Transaction struct {
	ID      string
	Dataset string
	Mode    Mode
	Expires time.Time // when it is aborted

	c      *Catalog
	end    deadline
	ids    *putIDs
	charge Charge

	mu         sync.Mutex    // before Catalog.mu; not held while a commit is kept
	over       bool          // committed or aborted
	parts      []part        // in order of completion
	committing chan struct{} // closed when the commit that is under way has ended; nil: there is none
	lapsed     bool          // its time came during a commit
}

// part is one completed put of a transaction, which owns a reference to each batch.
type part struct {
	id      string
	schema  *arrowipc.Schema
	batches []Batch
	codec   string
	order   *Order
	ttl     time.Duration
	pin     *bool
	durable *bool
	ordered bool

	held   Holder // as of Put
	share  Share  // as of Put
	charge Charge // of the part itself
}

// release lets go of a part that does not become rows of the dataset.
func (p *part) release() {
	for _, b := range p.batches {
		b.Release()
	}
	p.taken()
}

// taken lets go of what a part has beside its batches, which are the dataset's now.
func (p *part) taken() {
	let(p.held)
	p.charge.Release()
	if p.share != nil {
		p.share.Release()
	}
}

// BeginTransaction opens a transaction that is aborted after so long. ErrExists for Create, which Commit checks again;
// ErrTooMany; those of Options.Charge.
func (c *Catalog) BeginTransaction(dataset string, mode Mode, period time.Duration) (*Transaction, error) {
	probe := &Put{name: dataset, mode: mode}
	if mode == Create {
		c.mu.RLock()
		err := probe.check(c.live(dataset), ErrSchemaMismatch)
		c.mu.RUnlock()
		if err != nil {
			return nil, err
		}
	}
	charge, err := c.charge(transactionBytes + 2*int64(len(dataset)))
	if err != nil {
		return nil, err
	}
	t := &Transaction{
		charge: charge, ID: rand.Text(), Dataset: dataset, Mode: mode, Expires: c.now().Add(period), c: c, ids: newPutIDs(c.now, c.puts.most),
	}
	t.end.lapse = t.lapse
	s := &c.transactions
	s.mu.Lock()
	full := len(s.byID) >= s.most
	if !full {
		s.byID[t.ID] = t
	}
	s.mu.Unlock()
	if full {
		charge.Release()
		return nil, fmt.Errorf("%w: %d transactions are open; commit or abort one", ErrTooMany, s.most)
	}
	c.deadlines.set(&t.end, t.Expires)
	return t, nil
}

// Transaction gives the open transaction of this name, if it was begun for this dataset. An empty dataset is not
// compared. ErrNoTransaction.
func (c *Catalog) Transaction(dataset, id string) (*Transaction, error) {
	c.transactions.mu.Lock()
	t := c.transactions.byID[id]
	c.transactions.mu.Unlock()
	if t == nil || !t.Expires.After(c.now()) || dataset != "" && dataset != t.Dataset {
		return nil, noTransaction(dataset, id)
	}
	return t, nil
}

func noTransaction(dataset, id string) error {
	return fmt.Errorf("%w: %q of dataset %q; it was committed, aborted or took too long: begin another", ErrNoTransaction, id, dataset)
}

// ClaimPut is Catalog.ClaimPut for the puts of the transaction.
func (t *Transaction) ClaimPut(ctx context.Context, id string, sent Sent) (*PutClaim, []byte, error) {
	return t.ids.claim(ctx, id, sent)
}

// Begin is Catalog.Begin for a put of the transaction. Its schema has to be that of the puts that have been completed
// before, too. The put is ended by Stage.
func (t *Transaction) Begin(schema *arrowipc.Schema) (*Put, error) {
	p, err := t.c.Begin(t.Dataset, t.Mode, schema)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p.transaction = t
	if err := t.agree(schema, ErrSchemaMismatch); err != nil {
		return nil, err
	}
	if p.sorted == nil && t.Mode != Append && len(t.parts) > 0 && t.parts[0].order != nil {
		p.sorted = t.parts[0].order.SortedBy
	}
	return p, nil
}

// agree compares a schema with that of the first completed put. The lock is held.
func (t *Transaction) agree(schema *arrowipc.Schema, mismatch error) error {
	if len(t.parts) == 0 {
		return nil
	}
	if d := t.parts[0].schema.Diff(schema); d != "" {
		return fmt.Errorf("%w: put to %q in transaction %s, whose first put has another: %s", mismatch, t.Dataset, t.ID, d)
	}
	return nil
}

// Staged are the facts of one put of a transaction, under the keys of Facts. Nothing of it is visible.
type Staged struct {
	Dataset      string `json:"dataset"`
	Transaction  string `json:"transaction"`
	PutID        string `json:"put_id,omitempty"`
	Rows         int64  `json:"rows"`
	Batches      int    `json:"batches"`
	DecodedBytes int64  `json:"decoded_bytes"`
	StoredBytes  int64  `json:"stored_bytes"`
	Codec        string `json:"codec"`
}

// Stage completes a put that Transaction.Begin began, under its id or "". It gives the put's facts as JSON. On success the
// transaction owns the caller's reference to every batch; on an error the caller keeps them. ErrNoTransaction; ErrConflict
// when the schema is not that of a put which was completed meanwhile; ErrTooMany; those of Put.Charge. The context is for the wait for a commit.
func (p *Put) Stage(ctx context.Context, batches []Batch, codec string, order *Order, id string) ([]byte, error) {
	t := p.transaction
	g := p.c.newGeneration(p.name, p.schema, arrowipc.RowColumns(p.schema.Layout.Columns), codec)
	g.add(addUp(batches, p.schema.Layout, g.RowColumns))
	facts, err := json.Marshal(Staged{
		Dataset: t.Dataset, Transaction: t.ID, PutID: id, Rows: g.Rows, Batches: len(batches), DecodedBytes: g.Decoded,
		StoredBytes: g.Stored, Codec: codec,
	})
	if err != nil {
		return nil, err
	}
	charge, err := p.charge(partBytes + int64(len(facts)+len(id)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if charge != nil {
			charge.Release()
		}
	}()
	if err := t.enter(ctx); err != nil {
		return nil, err
	}
	defer t.mu.Unlock()
	if t.over || !t.Expires.After(p.c.now()) {
		return nil, noTransaction(t.Dataset, t.ID)
	}
	if err := t.agree(p.schema, ErrConflict); err != nil {
		return nil, err
	}
	if len(t.parts) >= maxStaged {
		return nil, fmt.Errorf("%w: the transaction has %d puts; commit it", ErrTooMany, len(t.parts))
	}
	t.parts = append(t.parts, part{id, p.schema, batches, codec, order, p.TTL, p.Pin, p.Durable, p.Ordered, held(p.Held), p.Share, charge})
	charge = nil
	if p.Claim != nil {
		p.Claim.is(sentText(p.mode, g.Rows, p.schema))
	}
	p.Claim.Done(facts, func() []byte { return facts })
	return facts, nil
}

// enter takes the transaction's lock when no commit is under way. The error is the context's; the lock is not held then.
func (t *Transaction) enter(ctx context.Context) error {
	for {
		t.mu.Lock()
		committing := t.committing
		if committing == nil {
			return nil
		}
		t.mu.Unlock()
		select {
		case <-committing:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// close takes the transaction out. The lock is held.
func (t *Transaction) close() {
	t.over, t.parts = true, nil
	t.charge.Release()
	t.c.deadlines.remove(&t.end)
	t.c.transactions.mu.Lock()
	delete(t.c.transactions.byID, t.ID)
	t.c.transactions.mu.Unlock()
}

// Abort discards the transaction and tells whether it was open. It waits for a commit that is under way; the error is the
// context's.
func (t *Transaction) Abort(ctx context.Context) (bool, error) {
	if err := t.enter(ctx); err != nil {
		return false, err
	}
	return t.abort(), nil
}

// abort discards the transaction and tells whether it was open. The lock is held, and given back.
func (t *Transaction) abort() bool {
	open, parts := !t.over, t.parts
	if open {
		t.close()
	}
	t.mu.Unlock()
	for _, p := range parts {
		p.release()
	}
	return open
}

// lapse discards the transaction because its time is over. A commit that began before goes on; if it fails, that is it.
func (t *Transaction) lapse() {
	t.mu.Lock()
	if t.committing != nil {
		t.lapsed = true
		t.mu.Unlock()
		return
	}
	t.abort()
}

func (c *Catalog) abortTransactions() {
	c.transactions.mu.Lock()
	open := make([]*Transaction, 0, len(c.transactions.byID))
	for _, t := range c.transactions.byID {
		open = append(open, t)
	}
	c.transactions.mu.Unlock()
	for _, t := range open {
		_, _ = t.Abort(context.Background()) // a context without an end gives no error
	}
}

// Transactions is the number of open transactions.
func (c *Catalog) Transactions() int {
	c.transactions.mu.Lock()
	defer c.transactions.mu.Unlock()
	return len(c.transactions.byID)
}
