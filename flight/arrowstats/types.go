package arrowstats

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// dataType is the Arrow type of a field's values that have an order; nil for others.
func dataType(f *arrowipc.Field) arrow.DataType {
	t := f.Type
	unit := arrow.TimeUnit(t.Unit)
	switch t.ID {
	case arrowipc.TypeBool:
		return arrow.FixedWidthTypes.Boolean
	case arrowipc.TypeInt:
		return integer(t.BitWidth, t.Signed)
	case arrowipc.TypeFloatingPoint:
		return map[int]arrow.DataType{16: arrow.FixedWidthTypes.Float16, 32: arrow.PrimitiveTypes.Float32, 64: arrow.PrimitiveTypes.Float64}[t.BitWidth]
	case arrowipc.TypeDecimal:
		d, err := arrow.NewDecimalType(map[int]arrow.Type{32: arrow.DECIMAL32, 64: arrow.DECIMAL64, 128: arrow.DECIMAL128, 256: arrow.DECIMAL256}[t.BitWidth],
			int32(t.Precision), int32(t.Scale))
		if err != nil {
			return nil
		}
		return d
	case arrowipc.TypeDate:
		return []arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64}[t.Unit]
	case arrowipc.TypeTime:
		if t.BitWidth == 32 {
			return &arrow.Time32Type{Unit: unit}
		}
		return &arrow.Time64Type{Unit: unit}
	case arrowipc.TypeTimestamp:
		return &arrow.TimestampType{Unit: unit, TimeZone: t.Timezone}
	case arrowipc.TypeDuration:
		return &arrow.DurationType{Unit: unit}
	case arrowipc.TypeUtf8, arrowipc.TypeLargeUtf8, arrowipc.TypeUtf8View:
		return arrow.BinaryTypes.String
	case arrowipc.TypeBinary, arrowipc.TypeLargeBinary, arrowipc.TypeBinaryView, arrowipc.TypeFixedSizeBinary:
		return arrow.BinaryTypes.Binary // a bound that was cut has not the width of a fixed-size value
	}
	return nil
}

func integer(bits int, signed bool) arrow.DataType {
	if signed {
		return map[int]arrow.DataType{8: arrow.PrimitiveTypes.Int8, 16: arrow.PrimitiveTypes.Int16, 32: arrow.PrimitiveTypes.Int32, 64: arrow.PrimitiveTypes.Int64}[bits]
	}
	return map[int]arrow.DataType{8: arrow.PrimitiveTypes.Uint8, 16: arrow.PrimitiveTypes.Uint16, 32: arrow.PrimitiveTypes.Uint32, 64: arrow.PrimitiveTypes.Uint64}[bits]
}

// appendValue appends a value to the builder of its type.
func appendValue(b array.Builder, v statistics.Value) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.Boolean())
	case *array.Int8Builder:
		b.Append(int8(v.Int()))
	case *array.Int16Builder:
		b.Append(int16(v.Int()))
	case *array.Int32Builder:
		b.Append(int32(v.Int()))
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Uint8Builder:
		b.Append(uint8(v.Uint()))
	case *array.Uint16Builder:
		b.Append(uint16(v.Uint()))
	case *array.Uint32Builder:
		b.Append(uint32(v.Uint()))
	case *array.Uint64Builder:
		b.Append(v.Uint())
	case *array.Float16Builder:
		b.Append(float16.New(float32(v.Float64())))
	case *array.Float32Builder:
		b.Append(float32(v.Float64()))
	case *array.Float64Builder:
		b.Append(v.Float64())
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(v.Decimal().Int64()))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v.Decimal().Int64()))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.Decimal()))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromBigInt(v.Decimal()))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.Int()))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v.Int()))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v.Int()))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.Int()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.Int()))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v.Int()))
	case *array.StringBuilder:
		b.Append(v.Text())
	case *array.BinaryBuilder:
		b.Append([]byte(v.Text()))
	default:
		panic("arrowstats: a value of a type that dataType does not give")
	}
}
