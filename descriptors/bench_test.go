package descriptors

import "testing"

func BenchmarkReadCommand(b *testing.B) {
	for name, raw := range map[string]string{
		"name":    `{"dataset": "sales/2024"}`,
		"columns": `{"dataset": "sales/2024", "columns": ["a", "b.c", 3], "limit": 10, "wire": "stored"}`,
		"filters": `{"dataset": "sales/2024", "filters": [["k", ">=", 5], ["s", "in", ["a", "b"]], ["t", "is not null"]]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadFromCommand([]byte(raw)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
