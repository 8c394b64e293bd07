package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

func TestTotals(t *testing.T) {
	schema := schemaOf(t, deep()...) // nodes: k 0; deep 1, a 2, n 3, v 4, w 5, x 6, y 7, b 8; t 9; l 10, item 11, v 12
	g := generation(t, schema, evenBatches(schema, 3, 10)...)
	for _, tc := range []struct {
		asked []any
		nodes []int64
	}{
		{[]any{"k"}, []int64{0}},
		{[]any{"t", "k", "t"}, []int64{9, 0, 9}},
		{[]any{"deep"}, []int64{1, 2, 3, 4, 5, 6, 7, 8}},
		{[]any{"deep.n.v"}, []int64{1, 3, 4}}, // the structs above have validity of their own
		{[]any{"deep.n.w", "deep.n.v", "deep.b"}, []int64{1, 3, 4, 5, 8}},
		{[]any{"deep.n"}, []int64{1, 3, 4, 5, 6, 7}},
		{[]any{"l"}, []int64{10, 11, 12}},
		{[]any{}, nil},
	} {
		r, err := New(g, &descriptors.ReadCommand{Columns: columnsOf(tc.asked...)}, Client{})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for _, n := range tc.nodes {
			want += 30 * (n + 1)
		}
		if r.Rows != 30 || r.Decoded != want || r.Generation != g {
			t.Errorf("columns %v: %d rows and %d bytes, want 30 and %d", tc.asked, r.Rows, r.Decoded, want)
		}
	}
	all, err := New(g, &descriptors.ReadCommand{}, Client{})
	if err != nil {
		t.Fatal(err)
	}
	if !all.Projection.Whole || all.Projection.Schema != schema || all.Decoded != g.Decoded {
		t.Errorf("all columns: whole %v, %d bytes of %d", all.Projection.Whole, all.Decoded, g.Decoded)
	}
}

func TestLimit(t *testing.T) {
	schema := schemaOf(t, number("k"), number("t"))
	g := generation(t, schema, evenBatches(schema, 3, 10)...) // 30 rows of 1 + 2 bytes
	for _, tc := range []struct{ limit, rows, bytes int64 }{
		{0, 0, 0}, {1, 1, 3}, {29, 29, 87}, {30, 30, 90}, {31, 30, 90}, {math.MaxInt64, 30, 90},
		{-1, 0, 0}, // no command that was parsed has it
	} {
		r, err := New(g, &descriptors.ReadCommand{Limit: &tc.limit}, Client{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows != tc.rows || r.Decoded != tc.bytes {
			t.Errorf("limit %d: %d rows and %d bytes, want %d and %d", tc.limit, r.Rows, r.Decoded, tc.rows, tc.bytes)
		}
	}
	limit := int64(5)
	empty, err := New(generation(t, schema), &descriptors.ReadCommand{Limit: &limit}, Client{})
	if err != nil || empty.Rows != 0 || empty.Decoded != 0 {
		t.Errorf("a limit on nothing: %+v, %v", empty, err)
	}
}

// Shares of sizes past 2^53 bytes are exact, and their products may pass 64 bits.
func TestLimitOfLargeTotals(t *testing.T) {
	schema := schemaOf(t, number("k"))
	const rows = 1 << 40
	g := generation(t, schema, &countedBatch{rows: rows, nodes: []catalog.NodeFacts{{Decoded: rows << 20}}},
		&countedBatch{rows: 1, nodes: []catalog.NodeFacts{{Decoded: 1 << 20}}})
	limit := int64(rows)
	r, err := New(g, &descriptors.ReadCommand{Limit: &limit}, Client{})
	if err != nil || r.Decoded != rows<<20 {
		t.Errorf("%d bytes, want %d (%v)", r.Decoded, int64(rows<<20), err)
	}
}

func TestErrorsNameTheDataset(t *testing.T) {
	schema := schemaOf(t, number("k"))
	_, err := New(generation(t, schema), &descriptors.ReadCommand{Columns: columnsOf("x")}, Client{})
	if !errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), `"travel/flights"`) {
		t.Errorf("unknown column: %v", err)
	}
}

// Repeated columns are held to the limits that schemas have.
func TestTooManyRepeats(t *testing.T) {
	schema := schemaOf(t, number("k"))
	asked := make([]descriptors.Column, arrowipc.DefaultFields+1)
	for i := range asked {
		asked[i] = descriptors.Column{Name: "k"}
	}
	_, err := New(generation(t, schema), &descriptors.ReadCommand{Columns: asked}, Client{})
	if !errors.Is(err, ErrColumn) || !errors.Is(err, arrowipc.ErrLimit) {
		t.Errorf("%d times one column: %v", len(asked), err)
	}
	if _, err := New(generation(t, schema), &descriptors.ReadCommand{Columns: asked[1:]}, Client{}); err != nil {
		t.Errorf("%d times one column: %v", len(asked)-1, err)
	}
}

func TestBatches(t *testing.T) {
	schema := schemaOf(t, number("k"))
	const end = descriptors.ToEnd
	for _, n := range []int{0, 1, 5} {
		r, err := New(generation(t, schema, evenBatches(schema, n, 1)...), &descriptors.ReadCommand{}, Client{})
		if err != nil {
			t.Fatal(err)
		}
		for first := -2; first <= n+2; first++ {
			for last := -2; last <= n+2; last++ {
				stop := last
				if last == end {
					stop = n
				}
				got, err := r.Batches(first, last)
				if legal := 0 <= first && first <= stop && stop <= n; legal != (err == nil) {
					t.Errorf("batches %d to %d of %d: %v", first, last, n, err)
				}
				if err != nil {
					if !errors.Is(err, ErrBatchRange) || !strings.Contains(err.Error(), fmt.Sprintf("which has %d", n)) {
						t.Errorf("batches %d to %d of %d: %v", first, last, n, err)
					}
					continue
				}
				if len(got) != stop-first || len(got) > 0 && got[0] != r.Generation.Batches[first] {
					t.Errorf("batches %d to %d of %d: %d of them", first, last, n, len(got))
				}
			}
		}
		if _, err := r.Batches(0, math.MaxInt); !errors.Is(err, ErrBatchRange) {
			t.Errorf("an end of MaxInt: %v", err)
		}
		if _, err := r.Batches(math.MinInt, end); !errors.Is(err, ErrBatchRange) {
			t.Errorf("a beginning of MinInt: %v", err)
		}
	}
}

// A plan costs the same for one batch and for ten thousand. (That it asks none of them, their panics show.)
func TestPlanIsConstantInBatches(t *testing.T) {
	schema := schemaOf(t, deep()...)
	limit := int64(7)
	command := &descriptors.ReadCommand{Columns: columnsOf("deep.n.v", "t"), Limit: &limit}
	allocs := func(batches int) float64 {
		g := generation(t, schema, evenBatches(schema, batches, 10)...)
		return testing.AllocsPerRun(50, func() {
			r, err := New(g, command, Client{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Batches(0, descriptors.ToEnd); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, many := allocs(1), allocs(10_000); one != many {
		t.Errorf("%v allocations for 1 batch, %v for 10,000", one, many)
	}
}

func BenchmarkPlan(b *testing.B) {
	schema := schemaOf(b, deep()...)
	command := &descriptors.ReadCommand{Columns: columnsOf("deep.n.v", "t")}
	for _, n := range []int{1, 10_000} {
		g := generation(b, schema, evenBatches(schema, n, 10)...)
		b.Run(fmt.Sprintf("batches=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(g, command, Client{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
