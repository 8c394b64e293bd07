package compress

import (
	"fmt"
	"testing"
)

const benchLen = 512 << 10

var benchData = []struct {
	name string
	data []byte
}{{"sequence", sequence(benchLen)}, {"text", text(benchLen)}, {"noise", noise(benchLen)}}

var benchWays = []way{{LZ4, 0}, {Zstd, 1}, {Zstd, 3}, {Zstd, 7}, {Zstd, 12}}

func BenchmarkAppend(b *testing.B) {
	p := newPool(b, Options{RetainBytes: 64 << 20})
	dst := make([]byte, 0, Bound(benchLen))
	for _, d := range benchData {
		for _, w := range benchWays {
			b.Run(fmt.Sprintf("%s/%v-%d", d.name, w.codec, w.level), func(b *testing.B) {
				b.SetBytes(benchLen)
				b.ReportAllocs()
				var stored []byte
				for b.Loop() {
					stored = mustAppend(b, p, dst, d.data, w)
				}
				b.ReportMetric(benchLen/float64(len(stored)), "ratio")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	p := newPool(b, Options{})
	dst := make([]byte, benchLen)
	for _, d := range benchData {
		for _, w := range benchWays[:2] {
			b.Run(fmt.Sprintf("%s/%v-%d", d.name, w.codec, w.level), func(b *testing.B) {
				stored := mustAppend(b, p, nil, d.data, w)
				b.SetBytes(benchLen)
				b.ReportAllocs()
				for b.Loop() {
					if err := p.Decode(dst, stored, w.codec); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
