package batchstore

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/flightcache/flightcache/arrowipc"
)

// flatBatch is a batch of three nullable int64 and three string columns.
func flatBatch(l *arrowipc.Layout, rows int64) *plainBatch {
	r := rand.New(rand.NewPCG(1, 1))
	b := &plainBatch{rows: rows}
	for range 3 {
		bits := make([]byte, bitBytes(rows))
		for i := range bits {
			bits[i] = byte(r.Uint32())
		}
		b.nodes = append(b.nodes, arrowipc.FieldNode{Length: rows, Nulls: rows - countBits(bits, 0, rows)})
		b.bufs = append(b.bufs, bits, make([]byte, rows*8))
	}
	for range 3 {
		offsets := make([]byte, (rows+1)*4)
		at := int64(0)
		for i := range rows {
			at += r.Int64N(16)
			putInt(offsets, 4, i+1, at)
		}
		b.nodes = append(b.nodes, arrowipc.FieldNode{Length: rows})
		b.bufs = append(b.bufs, nil, offsets, make([]byte, at))
	}
	return b
}

func BenchmarkFlat(b *testing.B) {
	l := schemaOf(b, i64, i64, i64, str, str, str).Layout
	const rows = 65_536
	whole := flatBatch(l, rows)
	if err := checkPlain(l, whole); err != nil {
		b.Fatal(err)
	}
	parts := func(n, count int64) (runs []run) {
		for range count {
			runs = append(runs, run{flatBatch(l, n), 0, n})
		}
		return runs
	}
	b.Run("check", func(b *testing.B) {
		b.SetBytes(plainSize(l.Columns, whole))
		for b.Loop() {
			if err := checkPlain(l, whole); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("canonical", func(b *testing.B) {
		plan, err := concatSize(l.Columns, []run{{whole, 0, rows}})
		if err != nil {
			b.Fatal(err)
		}
		x, buffers := plan.write(make([]byte, plan.bodyLen))
		for b.Loop() {
			if !canonical(l, &x, buffers, plan.bodyLen) {
				b.Fatal("not canonical")
			}
		}
	})
	for _, x := range []struct {
		name string
		runs []run
	}{
		{"cut/half", []run{{whole, rows / 2, rows / 2}}},
		{"cut/half at an odd row", []run{{whole, rows/2 - 1, rows / 2}}},
		{"join/6 of 10000", parts(10_000, 6)},
		{"join/6 of 10001", parts(10_001, 6)},
		{"join/1000 of 60", parts(60, 1000)},
	} {
		b.Run(x.name, func(b *testing.B) {
			var body []byte
			for b.Loop() {
				plan, err := concatSize(l.Columns, x.runs)
				if err != nil {
					b.Fatal(err)
				}
				if int64(len(body)) < plan.bodyLen {
					body = make([]byte, plan.bodyLen)
					b.SetBytes(plan.bodyLen)
				}
				plan.write(body)
			}
		})
	}
}

// BenchmarkNested has what takes a look at every row: views, lists by offset and size, unions.
func BenchmarkNested(b *testing.B) {
	const rows = 65_536
	for _, x := range []shape{
		{"string view", vstr}, {"list view", arrow.ListViewOf(i32)}, {"dense union", unionOf(arrow.DenseMode, i64, str)},
		{"list", arrow.ListOf(i32)},
	} {
		l := schemaOf(b, x.dt).Layout
		r := rand.New(rand.NewPCG(3, 3))
		whole := &generator{r: r, plain: true, b: &plainBatch{rows: rows}}
		whole.column(l.Columns[0], rows)
		b.Run(x.name+"/check", func(b *testing.B) {
			for b.Loop() {
				if err := checkPlain(l, whole.b); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(x.name+"/cut half", func(b *testing.B) {
			body := make([]byte, 2*plainSize(l.Columns, whole.b))
			for b.Loop() {
				plan, err := concatSize(l.Columns, []run{{whole.b, rows / 4, rows / 2}})
				if err != nil {
					b.Fatal(err)
				}
				plan.write(body)
			}
		})
	}
}
