package substrait

import (
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/predicate"
)

// Units of times, as [arrowipc.Type] has them.
const (
	unitSecond      = int(predicate.Second)
	unitMillisecond = int(predicate.Millisecond)
	unitMicrosecond = int(predicate.Microsecond)
	unitNanosecond  = int(predicate.Nanosecond)
)

// dateMillisecond is the unit of a date64; that of a date32 is 0.
const dateMillisecond = 1

// arrowTypes are Arrow's extension types by their names.
var arrowTypes = map[string]arrowipc.Type{
	"u8":           {ID: arrowipc.TypeInt, BitWidth: 8},
	"u16":          {ID: arrowipc.TypeInt, BitWidth: 16},
	"u32":          {ID: arrowipc.TypeInt, BitWidth: 32},
	"u64":          {ID: arrowipc.TypeInt, BitWidth: 64},
	"large_string": {ID: arrowipc.TypeLargeUtf8},
	"large_binary": {ID: arrowipc.TypeLargeBinary},
	"date_millis":  {ID: arrowipc.TypeDate, Unit: dateMillisecond},
	"time_seconds": {ID: arrowipc.TypeTime, BitWidth: 32, Unit: unitSecond},
	"time_millis":  {ID: arrowipc.TypeTime, BitWidth: 32, Unit: unitMillisecond},
	"time_nanos":   {ID: arrowipc.TypeTime, BitWidth: 64, Unit: unitNanosecond},
}

// cast reads a cast. What happens to values that the type does not hold does not matter: only casts that keep every value
// are bound.
func (p *parser) cast(c *pb.Expression_Cast, depth int) (predicate.Expr, error) {
	of, err := p.expression(c.GetInput(), depth)
	if err != nil {
		return nil, err
	}
	to, err := p.castType(c.GetType())
	if err != nil {
		return nil, err
	}
	return predicate.Cast{Of: of, To: to}, nil
}

// castType reads the type that something is cast to.
func (p *parser) castType(t *pb.Type) (arrowipc.Type, error) {
	switch k := t.GetKind().(type) {
	case nil:
		return arrowipc.Type{}, malformed("a cast without a type")
	case *pb.Type_UserDefined_:
		s, err := p.typeOf(k.UserDefined.GetTypeReference(), 0)
		if err != nil {
			return arrowipc.Type{}, err
		}
		if to, ok := arrowTypes[s.name]; ok && s.document == docArrowTypes {
			return to, nil
		}
		return arrowipc.Type{}, unsupported("casts to the type %s of %s", quote(s.name), quote(s.document))
	case *pb.Type_Decimal_:
		return decimalType(k.Decimal)
	case *pb.Type_FixedBinary_:
		if k.FixedBinary.GetLength() < 0 {
			return arrowipc.Type{}, malformed("a cast to binary of %d bytes", k.FixedBinary.GetLength())
		}
		return arrowipc.Type{ID: arrowipc.TypeFixedSizeBinary, ByteWidth: int(k.FixedBinary.GetLength())}, nil
	}
	if to, ok := plainType(t); ok {
		return to, nil
	}
	return temporalType(t)
}

// plainType reads the types that have no parameters.
func plainType(t *pb.Type) (arrowipc.Type, bool) {
	signed := func(bits int) (arrowipc.Type, bool) {
		return arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: bits, Signed: true}, true
	}
	switch t.GetKind().(type) {
	case *pb.Type_Bool:
		return arrowipc.Type{ID: arrowipc.TypeBool}, true
	case *pb.Type_I8_:
		return signed(8)
	case *pb.Type_I16_:
		return signed(16)
	case *pb.Type_I32_:
		return signed(32)
	case *pb.Type_I64_:
		return signed(64)
	case *pb.Type_Fp32:
		return arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 32}, true
	case *pb.Type_Fp64:
		return arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}, true
	case *pb.Type_String_:
		return arrowipc.Type{ID: arrowipc.TypeUtf8}, true
	case *pb.Type_Binary_:
		return arrowipc.Type{ID: arrowipc.TypeBinary}, true
	}
	return arrowipc.Type{}, false
}

// temporalType reads dates, times and timestamps, and refuses what is nothing else either.
func temporalType(t *pb.Type) (arrowipc.Type, error) {
	timestamp := func(unit int, zone string) arrowipc.Type {
		return arrowipc.Type{ID: arrowipc.TypeTimestamp, Unit: unit, Timezone: zone}
	}
	switch k := t.GetKind().(type) {
	case *pb.Type_Date_:
		return arrowipc.Type{ID: arrowipc.TypeDate}, nil
	case *pb.Type_Time_:
		return arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: 64, Unit: unitMicrosecond}, nil
	case *pb.Type_Timestamp_:
		return timestamp(unitMicrosecond, ""), nil
	case *pb.Type_TimestampTz:
		return timestamp(unitMicrosecond, "UTC"), nil
	case *pb.Type_PrecisionTime_:
		unit, err := unitOf(k.PrecisionTime.GetPrecision())
		bits := 32
		if unit >= predicate.Microsecond {
			bits = 64
		}
		return arrowipc.Type{ID: arrowipc.TypeTime, BitWidth: bits, Unit: int(unit)}, err
	case *pb.Type_PrecisionTimestamp_:
		unit, err := unitOf(k.PrecisionTimestamp.GetPrecision())
		return timestamp(int(unit), ""), err
	case *pb.Type_PrecisionTimestampTz:
		unit, err := unitOf(k.PrecisionTimestampTz.GetPrecision())
		return timestamp(int(unit), "UTC"), err
	}
	return arrowipc.Type{}, unsupported("casts to the type %s", oneof(t, "kind"))
}

func decimalType(d *pb.Type_Decimal) (arrowipc.Type, error) {
	const most = 38 // digits of a decimal128, the only one that Substrait has
	if d.GetPrecision() < 1 || d.GetPrecision() > most || d.GetScale() < 0 || d.GetScale() > d.GetPrecision() {
		return arrowipc.Type{}, malformed("a cast to decimal(%d, %d)", d.GetPrecision(), d.GetScale())
	}
	return arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: int(d.GetPrecision()), Scale: int(d.GetScale())}, nil
}

// typeOf looks up an extension type.
func (p *parser) typeOf(reference, alias uint32) (symbol, error) {
	if alias != 0 {
		return symbol{}, unsupported("type aliases (%d)", alias)
	}
	s, ok := p.types[reference]
	if !ok {
		return symbol{}, malformed("a reference to the extension type %d, which is not declared", reference)
	}
	return s, nil
}
