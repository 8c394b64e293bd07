package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/statistics"
)

// countedBatch is a batch of which nothing may be asked once its generation is committed: planning is done from the
// generation's totals.
type countedBatch struct {
	rows      int64
	nodes     []catalog.NodeFacts
	committed bool

	dictionaries []fakeDictionary
	statistics   []statistics.Column
}

func (b *countedBatch) ask() {
	if b.committed {
		panic("a plan asked a batch")
	}
}

func (b *countedBatch) Rows() int64                     { b.ask(); return b.rows }
func (b *countedBatch) StoredBytes() int64              { b.ask(); return 8 }
func (b *countedBatch) Node(i int) catalog.NodeFacts    { b.ask(); return b.nodes[i] }
func (b *countedBatch) Small() bool                     { b.ask(); return true }
func (b *countedBatch) Retain()                         { b.ask() }
func (b *countedBatch) Statistics() []statistics.Column { b.ask(); return b.statistics }

func (b *countedBatch) Release() { b.ask() }

func (b *countedBatch) EachDictionary(f func(key any, id, decoded, stored int64)) {
	b.ask()
	for _, d := range b.dictionaries {
		f(d.Key, d.Ordinal, d.Decoded, d.Stored)
	}
}

// generation commits batches; it stays held for as long as the test runs.
func generation(t rapid.TB, schema *arrowipc.Schema, batches ...*countedBatch) *catalog.Generation {
	t.Helper()
	p, err := catalog.New(catalog.Options{}).Begin("travel/flights", catalog.Replace, schema)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]catalog.Batch, len(batches))
	for i, b := range batches {
		list[i] = b
	}
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		b.committed = true
	}
	return g
}

// evenBatches are n batches of so many rows whose node i has i+1 plain bytes a row.
func evenBatches(schema *arrowipc.Schema, n int, rows int64) []*countedBatch {
	out := make([]*countedBatch, n)
	for i := range out {
		out[i] = &countedBatch{rows: rows}
		for node := range int64(schema.Layout.Node1) {
			out[i].nodes = append(out[i].nodes, catalog.NodeFacts{Decoded: rows * (node + 1), Stored: 8})
		}
	}
	return out
}

func schemaOf(t testing.TB, fields ...*arrowipc.Field) *arrowipc.Schema {
	t.Helper()
	s, err := arrowipc.BuildSchema(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func number(name string) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}}
}

func structOf(name string, children ...*arrowipc.Field) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeStruct}, Children: children}
}

func listOf(name string, item *arrowipc.Field) *arrowipc.Field {
	return &arrowipc.Field{Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeList}, Children: []*arrowipc.Field{item}}
}

// columnsOf makes columns of names and of ints, which are ordinals.
func columnsOf(asked ...any) []descriptors.Column {
	columns := []descriptors.Column{}
	for _, a := range asked {
		switch a := a.(type) {
		case string:
			columns = append(columns, descriptors.Column{Name: a})
		case int:
			columns = append(columns, descriptors.Column{Ordinal: a, IsOrdinal: true})
		}
	}
	return columns
}

// show writes picks as ordinals, chosen children in brackets: "0 3[1 0[2]]".
func show(picks []arrowipc.Pick) string {
	parts := make([]string, len(picks))
	for i, p := range picks {
		parts[i] = fmt.Sprint(p.Ordinal)
		if len(p.Children) > 0 {
			parts[i] += "[" + show(p.Children) + "]"
		}
	}
	return strings.Join(parts, " ")
}

// fakeDictionary is one dictionary of a counted batch.
type fakeDictionary struct {
	Key             any
	Ordinal         int64
	Decoded, Stored int64
}
