package arrowipc

import (
	"bytes"
	"fmt"
	"testing"
)

// wide is a schema of so many int64 columns, and a batch of it.
func wide(tb testing.TB, columns int) (*Schema, *RecordBatch) {
	tb.Helper()
	batch := &RecordBatch{Rows: 65536, Compression: Zstd}
	fields := make([]*Field, 0, columns)
	for i := range columns {
		fields = append(fields, &Field{Name: fmt.Sprintf("column_%d", i), Nullable: true, Type: Type{ID: TypeInt, BitWidth: 64, Signed: true}})
		batch.Nodes = append(batch.Nodes, FieldNode{65536, 0})
		batch.Buffers = append(batch.Buffers, Buffer{int64(i) * 4096, 0}, Buffer{int64(i) * 4096, 4096})
	}
	s, err := BuildSchema(fields, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s, batch
}

func BenchmarkRead(b *testing.B) {
	for _, columns := range []int{12, 1500} {
		b.Run(fmt.Sprintf("%d columns", columns), func(b *testing.B) {
			_, batch := wide(b, columns)
			var h HeaderBuilder
			hdr := bytes.Clone(h.RecordBatch(batch, int64(columns)*4096, nil))
			var m Message
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Read(hdr, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecordBatchHeader(b *testing.B) {
	for _, columns := range []int{1, 12, 1500} {
		b.Run(fmt.Sprintf("%d columns", columns), func(b *testing.B) {
			_, batch := wide(b, columns)
			var h HeaderBuilder
			b.ReportAllocs()
			for b.Loop() {
				h.RecordBatch(batch, int64(columns)*4096, nil)
			}
		})
	}
}

func BenchmarkParseSchema(b *testing.B) {
	for _, columns := range []int{12, 1500} {
		b.Run(fmt.Sprintf("%d columns", columns), func(b *testing.B) {
			s, _ := wide(b, columns)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseSchema(s.Message(), Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkProject(b *testing.B) {
	s, _ := wide(b, 5000)
	for _, chosen := range []int{1, 100, 4999} {
		b.Run(fmt.Sprintf("%d of 5000 columns", chosen), func(b *testing.B) {
			picks := make([]Pick, chosen)
			for i := range picks {
				picks[i].Ordinal = i
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Project(picks); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
