package batchstore

import (
	"crypto/sha256"
	"sync"

	"github.com/flightcache/flightcache/arrowipc"
)

// Schema is a schema that the store keeps once, whoever has it, and that counts to the budget until its last reference
// goes. Batches hold a reference to theirs.
type Schema struct {
	*arrowipc.Schema
	table *schemas
	key   [sha256.Size]byte
	bytes int64

	refs int // guarded by schemas.mu
}

// schemas are those that live.
type schemas struct {
	budget *budget

	mu       sync.Mutex // no other lock is taken under it
	byKey    map[[sha256.Size]byte]*Schema
	byLayout map[*arrowipc.Layout]*Schema
}

func newSchemas(b *budget) *schemas {
	return &schemas{budget: b, byKey: map[[sha256.Size]byte]*Schema{}, byLayout: map[*arrowipc.Layout]*Schema{}}
}

// Schema reads the header of a schema message, or gives the schema that has come in just this form before. The caller releases
// it. Its memory is the claim's to wait for (nil: nothing waits), and counts to the budget from then on. Errors are those of
// arrowipc.ParseSchema, ErrMemory, and the cause of the claim's context.
func (s *Store) Schema(c *Claim, header []byte) (*Schema, error) {
	key := sha256.Sum256(header)
	if x := s.schemas.known(key); x != nil {
		return x, nil
	}
	parsed, err := arrowipc.ParseSchema(header, s.opts.Limits)
	if err != nil {
		return nil, err
	}
	return s.schemas.keep(s.facts(c), key, parsed)
}

// Hold gives a schema that lives in the store, retained; nil where it does not. The caller releases it, which nil takes too.
func (s *Store) Hold(schema *arrowipc.Schema) *Schema { return s.schemas.hold(schema.Layout) }

// made is Schema of one that was made here.
func (s *Store) made(c *Claim, schema *arrowipc.Schema) (*Schema, error) {
	return s.schemas.keep(s.facts(c), sha256.Sum256(schema.Message()), schema)
}

// facts is where a claim's facts are counted; nil is nobody's.
func (s *Store) facts(c *Claim) lender {
	if c == nil {
		return s.unclaimed()
	}
	return c.memory(c.class, false)
}

// known gives a schema by the content of its message, retained; nil for none.
func (t *schemas) known(key [sha256.Size]byte) *Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byKey[key]
	if x != nil {
		x.refs++
	}
	return x
}

// hold gives the schema of a layout, retained; nil for none.
func (t *schemas) hold(l *arrowipc.Layout) *Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byLayout[l]
	if x != nil {
		x.refs++
	}
	return x
}

// keep counts and keeps a schema. Where one of the same message has come first, it gives that one.
func (t *schemas) keep(m lender, key [sha256.Size]byte, schema *arrowipc.Schema) (*Schema, error) {
	if x := t.known(key); x != nil {
		return x, nil
	}
	n := schema.Bytes() + perSchema
	if err := m.count(n); err != nil {
		return nil, err
	}
	t.mu.Lock()
	x := t.byKey[key]
	if x == nil {
		x = &Schema{Schema: schema, table: t, key: key, bytes: n}
		t.byKey[key], t.byLayout[schema.Layout] = x, x
		n = 0
	}
	x.refs++
	t.mu.Unlock()
	t.budget.uncount(n)
	return x, nil
}

// perSchema is what the store's own records of a schema take.
const perSchema = 256

// Retain adds a reference.
func (x *Schema) Retain() {
	x.table.mu.Lock()
	x.refs++
	x.table.mu.Unlock()
}

// Release drops a reference; the schema's memory does not count any more when the last one is gone. Nil has none.
func (x *Schema) Release() {
	if x == nil {
		return
	}
	t := x.table
	t.mu.Lock()
	x.refs--
	left := x.refs
	if left == 0 {
		delete(t.byKey, x.key)
		delete(t.byLayout, x.Layout)
	}
	t.mu.Unlock()
	switch {
	case left == 0:
		t.budget.uncount(x.bytes)
	case left < 0:
		panic("batchstore: a schema was released more often than it was retained")
	}
}

// uncount gives back n bytes of facts.
func (b *budget) uncount(n int64) {
	if n > 0 {
		b.facts.Add(-n)
		b.freed()
	}
}
