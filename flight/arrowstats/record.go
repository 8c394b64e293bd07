package arrowstats

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// The names of statistics. Those that begin with ARROW: are the specification's.
const (
	rowCount         = "ARROW:row_count:exact"
	nullCount        = "ARROW:null_count:exact"
	minExact         = "ARROW:min_value:exact"
	minApproximate   = "ARROW:min_value:approximate"
	maxExact         = "ARROW:max_value:exact"
	maxApproximate   = "ARROW:max_value:approximate"
	averageByteWidth = "ARROW:average_byte_width:exact"
	hasNaN           = "flightcache:has_nan:exact"
	decodedBytes     = "flightcache:decoded_bytes:exact"
	storedBytes      = "flightcache:stored_bytes:exact"
)

// Column is what is told of one column.
type Column struct {
	Index           int32 // depth first, in the schema of the read
	Field           *arrowipc.Field
	Measured        statistics.Column
	Unmeasured      bool  // nothing but sizes is known
	Decoded, Stored int64 // bytes of the column's own buffers
}

// maxTypes is the most members of a union: its type codes are those of int8.
const maxTypes = 127

// Schema is the Arrow schema of the statistics of some columns. Which types its values have depends on the columns.
type Schema struct {
	arrow *arrow.Schema
	codes map[string]arrow.UnionTypeCode // by the type's text
}

// NewSchema makes the schema for columns of these fields.
func NewSchema(fields []*arrowipc.Field) *Schema {
	s := &Schema{codes: map[string]arrow.UnionTypeCode{}}
	var members []arrow.Field
	var codes []arrow.UnionTypeCode
	add := func(t arrow.DataType) {
		name := t.String()
		if _, ok := s.codes[name]; ok || len(members) == maxTypes {
			return // bounds of a type too many are left out
		}
		code := arrow.UnionTypeCode(len(members))
		s.codes[name] = code
		members = append(members, arrow.Field{Name: name, Type: t, Nullable: true})
		codes = append(codes, code)
	}
	add(arrow.PrimitiveTypes.Int64)
	add(arrow.PrimitiveTypes.Float64)
	add(arrow.FixedWidthTypes.Boolean)
	for _, f := range fields {
		if t := dataType(f); t != nil {
			add(t)
		}
	}
	key := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	values := arrow.MapOf(key, arrow.DenseUnionOf(members, codes))
	values.SetItemNullable(false)
	s.arrow = arrow.NewSchema([]arrow.Field{
		{Name: "column", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "statistics", Type: values},
	}, nil)
	return s
}

// Arrow is the schema itself.
func (s *Schema) Arrow() *arrow.Schema { return s.arrow }

// Record makes one batch: a row about the whole, of so many rows, and one for each column. The caller releases it.
func (s *Schema) Record(rows int64, columns []Column) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.arrow)
	defer b.Release()
	w := writer{schema: s, column: b.Field(0).(*array.Int32Builder), values: b.Field(1).(*array.MapBuilder)}
	w.column.AppendNull()
	w.values.Append(true)
	w.int64(rowCount, rows)
	for _, c := range columns {
		w.column.Append(c.Index)
		w.values.Append(true)
		w.describe(c)
	}
	return b.NewRecordBatch()
}

// writer appends rows.
type writer struct {
	schema *Schema
	column *array.Int32Builder
	values *array.MapBuilder
}

func (w *writer) describe(c Column) {
	m := c.Measured
	if !c.Unmeasured {
		w.int64(nullCount, m.Nulls)
	}
	w.int64(decodedBytes, c.Decoded)
	w.int64(storedBytes, c.Stored)
	if m.Rows > 0 {
		w.value(averageByteWidth, arrow.PrimitiveTypes.Float64, statistics.Float64Value(float64(c.Decoded)/float64(m.Rows)))
	}
	if c.Unmeasured {
		return
	}
	if statistics.ClassOf(c.Field) == statistics.Float {
		w.value(hasNaN, arrow.FixedWidthTypes.Boolean, statistics.Boolean(m.HasNaN))
	}
	t := dataType(c.Field)
	if t == nil {
		return
	}
	if m.HasMin {
		w.value(pick(m.MinExact, minExact, minApproximate), t, m.Min)
	}
	if m.HasMax {
		w.value(pick(m.MaxExact, maxExact, maxApproximate), t, m.Max)
	}
}

func pick(exact bool, a, b string) string {
	if exact {
		return a
	}
	return b
}

func (w *writer) int64(key string, n int64) {
	w.value(key, arrow.PrimitiveTypes.Int64, statistics.Int(n))
}

// value appends one entry to the map of the row under construction.
func (w *writer) value(key string, t arrow.DataType, v statistics.Value) {
	code, ok := w.schema.codes[t.String()]
	if !ok {
		return
	}
	// The only error is of a dictionary with more keys than its indices can number.
	if err := w.values.KeyBuilder().(*array.BinaryDictionaryBuilder).AppendString(key); err != nil {
		panic(err)
	}
	union := w.values.ItemBuilder().(*array.DenseUnionBuilder)
	union.Append(code)
	appendValue(union.Child(int(code)), v)
}
