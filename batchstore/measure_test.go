package batchstore

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/statistics"
)

// TestMeasureDictionaries measures columns whose dictionaries are in one part, in several, in more than are worth putting
// together, and of values without order: nulls are always those that a reader sees, and no bound lies.
func TestMeasureDictionaries(t *testing.T) {
	schema := schemaOf(t, &arrow.DictionaryType{IndexType: i8, ValueType: str}, &arrow.DictionaryType{IndexType: i8, ValueType: structOf(i32)})
	text, nested := schema.Layout.Dictionaries[0], schema.Layout.Dictionaries[1]
	// Values a, null, b: in one part and in three.
	one := &plainBatch{rows: 3, nodes: nodes(3), bufs: [][]byte{{0b101}, ints(4, 0, 1, 1, 2), []byte("ab")}}
	one.nodes[0].Nulls = 1
	whole := newDictionaryValues(text.Values).with(one)
	parts := newDictionaryValues(text.Values)
	for i := range int64(3) {
		part := concat(t, text.Values, []run{{one, i, 1}})
		parts = parts.with(part)
	}
	structs := &plainBatch{rows: 3, nodes: nodes(3, 3), bufs: [][]byte{{0b110}, nil, ints(4, 7, 8, 9)}}
	structs.nodes[0].Nulls = 1
	records := newDictionaryValues(nested.Values).with(structs)
	// Rows: a, null value, null index, b; and of the structs: null value, x, null index, x.
	rows := &plainBatch{rows: 4, nodes: nodes(4, 4), bufs: [][]byte{{0b1011}, {0, 1, 9, 2}, {0b1011}, {0, 1, 9, 2}}}
	rows.nodes[0].Nulls, rows.nodes[1].Nulls = 1, 1
	for name, c := range map[string]struct {
		values *dictionaryValues
		joined int64
		exact  bool
	}{
		"one part":          {whole, 0, true},
		"three parts":       {parts, 0, true},
		"not worth joining": {parts, maxJoined, false},
	} {
		m := newMeasurer(schema.Layout)
		m.joined = c.joined
		got, err := m.measure(rows, map[int64]*dictionaryValues{text.ID: c.values, nested.ID: records})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Rows != 4 || got[0].Nulls != 2 || got[1].Rows != 4 || got[1].Nulls != 2 || got[1].HasMin {
			t.Errorf("%s: %+v", name, got)
		}
		a, b := statistics.TextValue("a"), statistics.TextValue("b")
		if c.exact != (got[0].HasMin && got[0].Min == a && got[0].HasMax && got[0].Max == b && got[0].MinExact) {
			t.Errorf("%s: bounds %+v", name, got[0])
		}
		if !got[0].HasMin || statistics.Compare(statistics.Bytes, got[0].Min, a) > 0 ||
			got[0].HasMax && statistics.Compare(statistics.Bytes, got[0].Max, b) < 0 {
			t.Errorf("%s: bounds lie: %+v", name, got[0])
		}
	}
}
