package arrowipc

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// heap is how much what f makes takes, of which the test keeps so many.
func heap(t *testing.T, copies int, f func() any) int64 {
	t.Helper()
	used := func() int64 {
		var m runtime.MemStats
		for range 2 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	kept := make([]any, copies)
	before := used()
	for i := range kept {
		kept[i] = f()
	}
	after := used()
	runtime.KeepAlive(kept)
	return (after - before) / int64(copies)
}

// What a schema is said to take is what it takes.
func TestBytesOfSchemas(t *testing.T) {
	plain := func(name string) *Field {
		return &Field{Name: name, Nullable: true, Type: Type{ID: TypeInt, BitWidth: 64, Signed: true}}
	}
	many := func(n int, make func(i int) *Field) (out []*Field) {
		for i := range n {
			out = append(out, make(i))
		}
		return out
	}
	for name, s := range map[string]struct {
		fields   []*Field
		metadata []KeyValue
	}{
		"1,000 columns":      {many(1000, func(i int) *Field { return plain(fmt.Sprint("c", i)) }), nil},
		"20,000 columns":     {many(20_000, func(i int) *Field { return plain(fmt.Sprint("column_", i)) }), nil},
		"one column":         {[]*Field{plain("x")}, nil},
		"long names":         {many(100, func(i int) *Field { return plain(fmt.Sprint(i, strings.Repeat("n", 10_000))) }), nil},
		"long metadata":      {[]*Field{plain("x")}, []KeyValue{{"key", strings.Repeat("v", 4<<20)}}},
		"much metadata":      {[]*Field{plain("x")}, repeatedly(50_000, KeyValue{"k", "value"})},
		"metadata of fields": {many(1000, func(i int) *Field { f := plain("c"); f.Metadata = repeatedly(20, KeyValue{"key", "value"}); return f }), nil},
		"nested": {many(1000, func(i int) *Field {
			return &Field{Name: "s", Type: Type{ID: TypeStruct}, Children: many(5, func(i int) *Field { return plain("c") })}
		}), nil},
		"dictionaries": {many(2000, func(i int) *Field {
			return &Field{Name: "d", Type: Type{ID: TypeUtf8}, Dictionary: &Dictionary{ID: int64(i), IndexBits: 32, Signed: true}}
		}), nil},
		"timestamps": {many(1000, func(i int) *Field {
			return &Field{Name: "t", Type: Type{ID: TypeTimestamp, Timezone: "Europe/Amsterdam"}}
		}), nil},
	} {
		built, err := BuildSchema(s.fields, s.metadata)
		if err != nil {
			t.Fatal(err)
		}
		message := built.Message()
		var parsed *Schema
		took := heap(t, max(3, min(1000, 4<<20/len(message))), func() any {
			if parsed, err = ParseSchema(message, Limits{}); err != nil {
				t.Fatal(err)
			}
			return parsed
		})
		most := 1.25
		if underRace {
			most = 1.6
		}
		if ratio := float64(parsed.Bytes()) / float64(took); ratio < 1/most || ratio > 1.25 {
			t.Errorf("%s: it is said to take %d bytes, and takes %d", name, parsed.Bytes(), took)
		}
	}
}

func repeatedly(n int, kv KeyValue) (out []KeyValue) {
	for range n {
		out = append(out, kv)
	}
	return out
}
