package batchstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// schemaMessage is the message of a schema of so many columns, and of so many bytes of metadata.
func schemaMessage(t testing.TB, columns, metadata int) []byte {
	t.Helper()
	var fields []*arrowipc.Field
	for i := range columns {
		fields = append(fields, &arrowipc.Field{Name: fmt.Sprint("c", i), Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}})
	}
	s, err := arrowipc.BuildSchema(fields, []arrowipc.KeyValue{{Key: "k", Value: strings.Repeat("v", metadata)}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Message()
}

// A schema counts from when it was read until its last reference goes, once, however many have it.
func TestSchemasAreKeptOnce(t *testing.T) {
	s := newStore(t, Options{Memory: 64 << 20})
	a, err := s.Schema(nil, schemaMessage(t, 1000, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	one := s.Stats().Charged
	if least := a.Bytes(); one < least || one > least+4096 {
		t.Errorf("%d bytes are charged for a schema of %d", one, least)
	}
	b, err := s.Schema(nil, schemaMessage(t, 1000, 1<<20))
	if err != nil || b != a {
		t.Errorf("the same schema is another: %v", err)
	}
	other, err := s.Schema(nil, schemaMessage(t, 1000, 1<<20-1))
	if err != nil || other == a {
		t.Errorf("another schema is the same: %v", err)
	}
	other.Release()
	a.Retain()
	for range 2 {
		a.Release()
		if n := s.Stats().Charged; n != one {
			t.Errorf("%d bytes are charged", n)
		}
	}
	if held := s.Hold(b.Schema); held != b {
		t.Error("it cannot be held")
	} else {
		held.Release()
	}
	b.Release()
	if n := s.Stats().Charged; n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
	if s.Hold(b.Schema) != nil {
		t.Error("it can be held after its end")
	}
	var none *Schema
	none.Release()
}

// A schema that finds no room is refused, and one that is malformed takes none.
func TestSchemaWithoutRoom(t *testing.T) {
	s := newStore(t, Options{Memory: 8 << 20, PutWait: 10 * time.Millisecond})
	c := s.PutClaim(context.Background())
	defer c.End()
	if _, err := s.Schema(c, schemaMessage(t, 1, 8<<20)); !errors.Is(err, ErrMemory) {
		t.Errorf("%v", err)
	}
	if _, err := s.Schema(c, []byte("no schema")); !errors.Is(err, arrowipc.ErrMalformed) {
		t.Errorf("%v", err)
	}
	var held []*Schema
	for i := range 100 {
		x, err := s.Schema(c, schemaMessage(t, 1, 1<<20+i))
		if err != nil {
			if !errors.Is(err, ErrMemory) || i < 2 {
				t.Errorf("schema %d: %v", i, err)
			}
			break
		}
		held = append(held, x)
	}
	if len(held) == 100 {
		t.Error("the budget has no end")
	}
	for _, x := range held {
		x.Release()
	}
	if n := s.Stats().Charged; n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
}

// Whoever comes and goes at once, the schema is counted once, and at the end not at all.
func TestSchemasAtOnce(t *testing.T) {
	s := newStore(t, Options{Memory: 64 << 20})
	messages := [][]byte{schemaMessage(t, 3, 10), schemaMessage(t, 4, 10), schemaMessage(t, 5, 10)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 200 {
				x, err := s.Schema(nil, messages[(i+k)%3])
				if err != nil {
					t.Error(err)
					return
				}
				if y := s.Hold(x.Schema); y != x {
					t.Error("two of one schema")
				} else {
					y.Release()
				}
				x.Release()
			}
		})
	}
	wg.Wait()
	if n := s.Stats().Charged; n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
}

// Batches hold their schema, and an ingest does until its end.
func TestBatchesHoldTheirSchema(t *testing.T) {
	s := newStore(t, Options{Memory: 64 << 20})
	x, err := s.Schema(nil, schemaMessage(t, 1, 1000))
	if err != nil {
		t.Fatal(err)
	}
	in := begin(t, s, x.Schema, IngestOptions{})
	x.Release()
	if in.Held() != x {
		t.Error("the ingest does not hold it")
	}
	m, bytes := s.message(t, &plainBatch{rows: 2, nodes: []arrowipc.FieldNode{{Length: 2}}, bufs: [][]byte{nil, make([]byte, 16)}}, compress.None)
	if err := in.Add(context.Background(), m, body(t, s, bytes)); err != nil {
		t.Fatal(err)
	}
	batches, err := in.Finish(context.Background())
	if err != nil || len(batches) != 1 {
		t.Fatal(len(batches), err)
	}
	in.Abort()
	in.Abort()
	held := s.Hold(x.Schema)
	if held == nil {
		t.Fatal("the batch does not hold it")
	}
	held.Release()
	batches[0].Release()
	if s.Hold(x.Schema) != nil {
		t.Error("it stays without a batch")
	}
}

// What is made of a schema whose dictionaries are decoded is kept like one that came.
func TestDecodedSchemasAreKept(t *testing.T) {
	s := newStore(t, Options{Memory: 64 << 20})
	built, err := arrowipc.BuildSchema([]*arrowipc.Field{
		{Name: "d", Type: arrowipc.Type{ID: arrowipc.TypeUtf8}, Dictionary: &arrowipc.Dictionary{IndexBits: 32, Signed: true}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Schema(nil, built.Message())
	if err != nil {
		t.Fatal(err)
	}
	one := begin(t, s, x.Schema, IngestOptions{DecodeDictionaries: true})
	two := begin(t, s, x.Schema, IngestOptions{DecodeDictionaries: true})
	if one.Held() == x || one.Held() == nil || one.Held() != two.Held() || one.Schema() != two.Schema() || one.Schema() != one.Held().Schema {
		t.Errorf("%p and %p of %p", one.Held(), two.Held(), x)
	}
	x.Release()
	one.Abort()
	two.Abort()
}

// A charge counts until it is released, once, and is refused where there is no room.
func TestCharges(t *testing.T) {
	s := newStore(t, Options{Memory: 2 << 20, PutWait: 10 * time.Millisecond})
	c := s.PutClaim(context.Background())
	defer c.End()
	a, err := c.Charge(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Charge(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Charge(1 << 20); !errors.Is(err, ErrMemory) {
		t.Errorf("%v", err)
	}
	if _, err := s.Charge(1 << 20); !errors.Is(err, ErrMemory) {
		t.Errorf("%v", err)
	}
	for range 2 {
		a.Release()
		if n := s.Stats().Charged; n != 1<<10 {
			t.Errorf("%d bytes are charged", n)
		}
	}
	b.Release()
	var none *Charge
	none.Release()
	if n := s.Stats().Charged; n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
}
