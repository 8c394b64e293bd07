package batchstore

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
)

// seeded gives a generator whose seed is printed if the test fails.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// cuts gives consecutive runs that make up all rows of b, some of them empty.
func cuts(r *rand.Rand, b *plainBatch) []run {
	var runs []run
	for at := int64(0); at < b.rows || len(runs) == 0; {
		n := min(r.Int64N(max(b.rows, 1))/2+r.Int64N(3), b.rows-at)
		runs = append(runs, run{b, at, n})
		at += n
	}
	return runs
}

func requireRows(t *testing.T, l *arrowipc.Layout, got *plainBatch, want []string) {
	t.Helper()
	if have := renderRows(l.Columns, got, 0, got.rows); !slices.Equal(have, want) {
		t.Fatalf("rows differ:\n got %s\nwant %s", have, want)
	}
}

// TestCutAndJoin cuts batches of every shape at random, joins the parts, and finds the same rows, by our own reading
// and by arrow-go's.
func TestCutAndJoin(t *testing.T) {
	for _, x := range someShapes(0) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			schema := schemaOf(t, x.dt, i32, x.dt)
			l := schema.Layout
			for range 25 {
				b := randomPlain(r, l, []int64{0, 1, 7, 64, 65, 150}[r.IntN(6)])
				if err := checkPlain(l, b); err != nil {
					t.Fatalf("a valid batch is refused: %v", err)
				}
				want := renderRows(l.Columns, b, 0, b.rows)
				record := toArrow(t, schema, withTrueNulls(l, b))
				var parts []run
				for _, c := range cuts(r, b) {
					part := concat(t, l, []run{c})
					requireRows(t, l, part, want[c.from:c.from+c.n])
					requireEqual(t, record, c.from, c.n, toArrow(t, schema, part))
					parts = append(parts, run{part, 0, part.rows})
				}
				joined := concat(t, l, parts)
				requireRows(t, l, joined, want)
				requireEqual(t, record, 0, b.rows, toArrow(t, schema, joined))

				// The runs of one source, not materialised between, and of two sources in turn.
				requireRows(t, l, concat(t, l, cuts(r, b)), want)
				other := randomPlain(r, l, 20)
				both := []run{{other, 3, 9}, {b, 0, b.rows}, {other, 12, 8}, {b, b.rows, 0}}
				mixed := append(renderRows(l.Columns, other, 3, 9), want...)
				requireRows(t, l, concat(t, l, both), append(mixed, renderRows(l.Columns, other, 12, 8)...))
			}
		})
	}
}

// TestConcatNothing makes an empty batch of every shape out of no runs.
func TestConcatNothing(t *testing.T) {
	for _, x := range shapes {
		schema := schemaOf(t, x.dt)
		b := concat(t, schema.Layout, nil)
		if rec := toArrow(t, schema, b); rec.NumRows() != 0 {
			t.Errorf("%s: %d rows", x.name, rec.NumRows())
		}
	}
}

// TestListsOfNothing covers what arrow-go cannot read: fixed-size lists of no values.
func TestListsOfNothing(t *testing.T) {
	l := arrowipc.NewLayout([]*arrowipc.Field{{
		Name: "e", Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeFixedSizeList},
		Children: []*arrowipc.Field{{Name: "item", Type: arrowipc.Type{ID: arrowipc.TypeUtf8}}},
	}})
	r := seeded(t)
	for range 100 {
		b := randomPlain(r, l, 20)
		runs := cuts(r, b)
		requireRows(t, l, concat(t, l, runs), renderRows(l.Columns, b, 0, b.rows))
	}
}

// TestConcatProjection cuts some columns, and a struct with some of its children, out of a whole batch.
func TestConcatProjection(t *testing.T) {
	r := seeded(t)
	inner := structOf(vstr, structOf(vstr, i64, str), i32, vstr)
	schema := schemaOf(t, vstr, inner, str, vstr)
	p, err := schema.Project([]arrowipc.Pick{
		{Ordinal: 3},
		{Ordinal: 1, Children: []arrowipc.Pick{{Ordinal: 3}, {Ordinal: 1, Children: []arrowipc.Pick{{Ordinal: 2}}}}},
		{Ordinal: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		b := randomPlain(r, schema.Layout, 40)
		from := r.Int64N(20)
		want := renderRows(p.Tree, b, from, 20)
		plan, err := concatSize(p.Tree, []run{{b, from, 20}})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := plan.write(make([]byte, plan.bodyLen))
		if err := checkPlain(p.Schema.Layout, &got); err != nil {
			t.Fatal(err)
		}
		requireRows(t, p.Schema.Layout, &got, want)
		requireEqual(t, toArrow(t, p.Schema, &got), 0, 20, toArrow(t, p.Schema, concat(t, p.Schema.Layout, []run{{&got, 0, 20}})))
		if size := plainSize(p.Tree, b); size <= 0 || size > 2*plainSize(schema.Layout.Columns, b) {
			t.Fatalf("the chosen columns have %d bytes", size)
		}
	}
}

// TestCutSharesNothing cuts where rows refer to parts of their data in any order: each part holds its own only.
func TestCutSharesNothing(t *testing.T) {
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	schema := schemaOf(t, vstr, arrow.ListViewOf(i8), unionOf(arrow.DenseMode, i8))
	view := func(at int64) []byte {
		v := make([]byte, viewBytes)
		v[0] = 100
		copy(v[4:8], data[at:])
		moveView(v, 0, at)
		return v
	}
	b := &plainBatch{
		rows: 4, variadic: []int64{1},
		nodes: []arrowipc.FieldNode{{Length: 4}, {Length: 4}, {Length: 100_000}, {Length: 4}, {Length: 100_000}},
		bufs: [][]byte{
			nil, slices.Concat(view(90_000), view(10), view(90_000), view(60)), data,
			nil, ints(4, 90_000, 10, 90_050, 60), ints(4, 100, 100, 100, 100), nil, data,
			{1, 1, 1, 1}, ints(4, 10, 11, 90_000, 90_000), nil, data,
		},
	}
	if err := checkPlain(schema.Layout, b); err != nil {
		t.Fatal(err)
	}
	whole := concat(t, schema.Layout, []run{{b, 0, 4}})
	requireRows(t, schema.Layout, whole, renderRows(schema.Layout.Columns, b, 0, 4))
	// Each byte is kept once: 100 at 90,000 and 150 at 10 for the views, 150 and 150 for the lists, three for the union.
	for i, want := range map[int]int{2: 250, 7: 300, 11: 3} {
		if got := len(whole.bufs[i]); got != want {
			t.Errorf("buffer %d has %d bytes, want %d", i, got, want)
		}
	}
	half := concat(t, schema.Layout, []run{{b, 1, 1}})
	for i, want := range map[int]int{2: 100, 7: 100, 11: 1} {
		if got := len(half.bufs[i]); got != want {
			t.Errorf("buffer %d of one row has %d bytes, want %d", i, got, want)
		}
	}
}
