package arrowipc

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// zoo is a schema with every type that arrow-go writes, nested and dictionary-encoded ones, and metadata everywhere.
func zoo() *arrow.Schema {
	var fields []arrow.Field
	add := func(name string, t arrow.DataType) {
		fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: true})
	}
	for _, t := range []arrow.DataType{
		arrow.Null, arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal32Type{Precision: 9, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: -3},
		&arrow.Decimal128Type{Precision: 38, Scale: 10}, &arrow.Decimal256Type{Precision: 76, Scale: 0},
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
		arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
		&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "+02:00"},
		&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, arrow.FixedWidthTypes.Timestamp_ns,
		arrow.FixedWidthTypes.Duration_s, arrow.FixedWidthTypes.Duration_ms, arrow.FixedWidthTypes.Duration_us, arrow.FixedWidthTypes.Duration_ns,
		arrow.FixedWidthTypes.MonthInterval, arrow.FixedWidthTypes.DayTimeInterval, arrow.FixedWidthTypes.MonthDayNanoInterval,
		&arrow.FixedSizeBinaryType{ByteWidth: 16}, arrow.BinaryTypes.Binary, arrow.BinaryTypes.String,
		arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.BinaryView, arrow.BinaryTypes.StringView,
		arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.LargeListOfNonNullable(arrow.BinaryTypes.String),
		arrow.ListViewOf(arrow.BinaryTypes.StringView), arrow.LargeListViewOf(arrow.PrimitiveTypes.Int8),
		arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
		arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String),
		arrow.SparseUnionOf([]arrow.Field{
			{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String},
		}, []arrow.UnionTypeCode{5, 7}),
		arrow.DenseUnionOf([]arrow.Field{
			{Name: "v", Type: arrow.BinaryTypes.StringView, Nullable: true}, {Name: "n", Type: arrow.Null, Nullable: true},
		}, []arrow.UnionTypeCode{0, 1}),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.PrimitiveTypes.Int64, Ordered: true},
		arrow.ListOf(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}),
		extensions.NewUUIDType(),
	} {
		add(t.Name(), t)
	}
	sorted := arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.BinaryView)
	sorted.KeysSorted = true
	add("sorted map", sorted)
	add("deep", arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.MetadataFrom(map[string]string{"unit": "m"})},
		arrow.Field{Name: "n", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "u", Type: arrow.BinaryTypes.StringView, Nullable: true},
			arrow.Field{Name: "v", Type: arrow.BinaryTypes.StringView, Nullable: true},
			arrow.Field{Name: "w", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		), Metadata: arrow.MetadataFrom(map[string]string{"level": "two"})},
		arrow.Field{Name: "z", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "q", Type: arrow.Null, Nullable: true})), Nullable: true},
	))
	fields[3].Nullable = false
	fields[4].Metadata = arrow.NewMetadata([]string{"k", "k", "", "raw"}, []string{"1", "2", "empty key", "\xff\xfe\x00 not UTF-8"})
	add("", arrow.PrimitiveTypes.Int8)
	add("twice", arrow.PrimitiveTypes.Int8)
	add("twice", arrow.BinaryTypes.String)
	meta := arrow.NewMetadata([]string{"pandas", "bytes"}, []string{`{"columns": []}`, "\x80\x00\xff"})
	return arrow.NewSchema(fields, &meta)
}

// arrowHeader is the schema message that arrow-go writes, without prefix.
func arrowHeader(tb testing.TB, schema *arrow.Schema) []byte {
	tb.Helper()
	payload := ipc.GetSchemaPayload(schema, memory.DefaultAllocator)
	defer payload.Release()
	meta := payload.Meta()
	defer meta.Release()
	return bytes.Clone(meta.Bytes())
}

// arrowBatch is the record batch header that arrow-go writes for a batch of some values of schema.
func arrowBatch(tb testing.TB, schema *arrow.Schema, rows int, opts ...ipc.Option) []byte {
	tb.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, field := range b.Fields() {
		for i := range rows {
			if i%3 == 2 {
				field.AppendNull()
			} else {
				field.AppendEmptyValue()
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	payload, err := ipc.GetRecordBatchPayload(rec, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	defer payload.Release()
	meta := payload.Meta()
	defer meta.Release()
	return bytes.Clone(meta.Bytes())
}

// arrowRead is the schema that arrow-go reads from a schema of ours.
func arrowRead(tb testing.TB, s *Schema) *arrow.Schema {
	tb.Helper()
	r, err := ipc.NewReader(bytes.NewReader(s.Encapsulated()), ipc.WithAllocator(memory.DefaultAllocator))
	if err != nil {
		tb.Fatalf("arrow-go cannot read the schema: %v", err)
	}
	defer r.Release()
	return r.Schema()
}

func mustParse(tb testing.TB, hdr []byte) *Schema {
	tb.Helper()
	s, err := ParseSchema(hdr, Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
