package batchstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// kept is a store with equal batches of one schema, which stay until the test ends.
type kept struct {
	store   *Store
	schema  *arrowipc.Schema
	batches []*Batch
}

// flatKept has so many flat batches of so many rows. They are not joined.
func flatKept(t testing.TB, c compress.Codec, rows int64, batches int) *kept {
	t.Helper()
	s := &kept{store: newStore(t, Options{}), schema: schemaOf(t, i64, i64, i64, str, str, str)}
	s.fill(t, c, batches, flatBatch(s.schema.Layout, rows))
	return s
}

// wideKept has so many batches of so many int64 columns, of 1,000 rows.
func wideKept(t testing.TB, columns, batches int) *kept {
	t.Helper()
	types := make([]arrow.DataType, columns)
	for i := range types {
		types[i] = i64
	}
	s := &kept{store: newStore(t, Options{}), schema: schemaOf(t, types...)}
	b := &plainBatch{rows: 1000}
	for range columns {
		b.nodes = append(b.nodes, arrowipc.FieldNode{Length: b.rows})
		b.bufs = append(b.bufs, nil, make([]byte, 8*b.rows))
	}
	s.fill(t, compress.None, batches, b)
	return s
}

func (s *kept) fill(t testing.TB, c compress.Codec, n int, b *plainBatch) {
	t.Helper()
	list := make([]*plainBatch, n)
	for i := range list {
		list[i] = b
	}
	var err error
	if s.batches, err = put(t, s.store, s.schema, IngestOptions{Codec: c, KeepBatches: true}, plainly, list...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, b := range s.batches {
			b.Release()
		}
	})
}

// reader reads the picked columns; it is closed when the test ends.
func (s *kept) reader(t testing.TB, o ReadOptions, columns ...int) *Reader {
	t.Helper()
	picks := make([]arrowipc.Pick, len(columns))
	for i, c := range columns {
		picks[i].Ordinal = c
	}
	p, err := s.schema.Project(picks)
	if err != nil {
		t.Fatal(err)
	}
	r := s.store.Reader(s.schema.Layout, p, o)
	t.Cleanup(r.Close)
	return r
}

var asStored = ReadOptions{Encode: compress.None}

var everything = []int{0, 1, 2, 3, 4, 5}

func BenchmarkReader(b *testing.B) {
	plain := ReadOptions{Accept: func(c compress.Codec) bool { return c == compress.None }, Encode: compress.None}
	for _, x := range []struct {
		name    string
		kept    *kept
		options ReadOptions
		columns []int
	}{
		{"stored/6 of 6", flatKept(b, compress.Zstd, 65_536, 1), asStored, everything},
		{"stored/1 of 6", flatKept(b, compress.Zstd, 65_536, 1), asStored, []int{3}},
		{"stored/3 apart", flatKept(b, compress.Zstd, 65_536, 1), asStored, []int{0, 2, 4}},
		{"stored/1 of 1500", wideKept(b, 1500, 1), asStored, []int{750}},
		{"decoded zstd/6 of 6", flatKept(b, compress.Zstd, 65_536, 1), plain, everything},
		{"decoded lz4/6 of 6", flatKept(b, compress.LZ4, 65_536, 1), plain, everything},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := x.kept.reader(b, x.options, x.columns...)
			batch := x.kept.batches[0]
			bytes := int64(0)
			send := func(m *Message) error { bytes = m.BodyLength; return nil }
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Read(batch, batch.Rows(), send); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(bytes)
		})
	}
}

// BenchmarkIngest puts eight batches: one op is one put.
func BenchmarkIngest(b *testing.B) {
	const batches = 8
	schema := schemaOf(b, i64, i64, i64, str, str, str)
	for _, x := range []struct {
		codec compress.Codec
		rows  int64
	}{{compress.None, 65_536}, {compress.LZ4, 65_536}, {compress.Zstd, 65_536}, {compress.Zstd, 1000}, {compress.Zstd, 10}} {
		b.Run(fmt.Sprintf("%v/rows=%d", x.codec, x.rows), func(b *testing.B) {
			s := newStore(b, Options{})
			m, raw := s.message(b, flatBatch(schema.Layout, x.rows), compress.None)
			b.SetBytes(batches * int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				in := begin(b, s, schema, IngestOptions{Codec: x.codec})
				for range batches {
					if err := in.Add(context.Background(), m, body(b, s, raw)); err != nil {
						b.Fatal(err)
					}
				}
				out, err := in.Finish(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				for _, b := range out {
					b.Release()
				}
			}
		})
	}
}
