package statistics

import (
	"fmt"
	"testing"
)

// Measuring a batch costs a few allocations for its bounds, none for its rows.
func TestMeasuringAllocatesTheSameWhateverTheRows(t *testing.T) {
	for name, v := range map[string]*Vector{
		"int64": int64s(0, func(i int) int64 { return int64(i) }),
		"text":  texts(3, func(i int) string { return fmt.Sprint("str_a_", i) }),
	} {
		few := *v
		few.Length = 64
		a := testing.AllocsPerRun(20, func() { Measure(&few) })
		b := testing.AllocsPerRun(20, func() { Measure(v) })
		if b > a {
			t.Errorf("%s: %v allocations for 64 rows, %v for %d", name, a, b, v.Length)
		}
	}
}

// BenchmarkMerge merges the statistics of one batch into those of all.
func BenchmarkMerge(b *testing.B) {
	for name, v := range map[string]*Vector{
		"int64": int64s(0, func(i int) int64 { return int64(i) }),
		"text":  texts(3, func(i int) string { return fmt.Sprint("str_a_", i) }),
	} {
		b.Run(name, func(b *testing.B) {
			one, class := Measure(v), ClassOf(v.Field)
			all := one
			b.ReportAllocs()
			for b.Loop() {
				all.Merge(one, class)
			}
		})
	}
}
