package substrait

import (
	"math/big"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/predicate"
)

// decimalBytes is the length of a decimal: a 128-bit integer in two's complement, the least significant byte first.
const decimalBytes = 16

// milliseconds in a day.
const dayMilliseconds = 24 * 60 * 60 * 1000

// literal reads a constant.
func (p *parser) literal(l *pb.Expression_Literal) (predicate.Expr, error) {
	if n := l.GetTypeVariationReference(); n != 0 {
		return nil, unsupported("literals of a type variation (%d)", n)
	}
	switch v := l.GetLiteralType().(type) {
	case *pb.Expression_Literal_Null:
		return predicate.Null(), nil
	case *pb.Expression_Literal_Boolean:
		return predicate.Bool(v.Boolean), nil
	case *pb.Expression_Literal_I8:
		return predicate.Int(int64(v.I8)), nil
	case *pb.Expression_Literal_I16:
		return predicate.Int(int64(v.I16)), nil
	case *pb.Expression_Literal_I32:
		return predicate.Int(int64(v.I32)), nil
	case *pb.Expression_Literal_I64:
		return predicate.Int(v.I64), nil
	case *pb.Expression_Literal_Fp32:
		return predicate.Float(float64(v.Fp32)), nil
	case *pb.Expression_Literal_Fp64:
		return predicate.Float(v.Fp64), nil
	case *pb.Expression_Literal_Decimal_:
		return decimal(v.Decimal)
	case *pb.Expression_Literal_UserDefined_:
		return p.userDefined(v.UserDefined)
	}
	if e := textLiteral(l); e != nil {
		return e, nil
	}
	return temporalLiteral(l)
}

// textLiteral reads strings and binary; nil is neither.
func textLiteral(l *pb.Expression_Literal) predicate.Expr {
	switch v := l.GetLiteralType().(type) {
	case *pb.Expression_Literal_String_:
		return predicate.String(v.String_)
	case *pb.Expression_Literal_FixedChar:
		return predicate.String(v.FixedChar)
	case *pb.Expression_Literal_VarChar_:
		return predicate.String(v.VarChar.GetValue())
	case *pb.Expression_Literal_Binary:
		return predicate.Bytes(v.Binary)
	case *pb.Expression_Literal_FixedBinary:
		return predicate.Bytes(v.FixedBinary)
	case *pb.Expression_Literal_Uuid:
		return predicate.Bytes(v.Uuid)
	}
	return nil
}

// temporalLiteral reads dates, times and timestamps, and refuses what is nothing else either.
func temporalLiteral(l *pb.Expression_Literal) (predicate.Expr, error) {
	switch v := l.GetLiteralType().(type) {
	case *pb.Expression_Literal_Date:
		return predicate.Date(int64(v.Date)), nil
	case *pb.Expression_Literal_Time:
		return predicate.Time(v.Time, predicate.Microsecond), nil //nolint:staticcheck // deprecated, and what Acero writes
	case *pb.Expression_Literal_Timestamp:
		return predicate.Timestamp(v.Timestamp, predicate.Microsecond, false), nil //nolint:staticcheck // as above
	case *pb.Expression_Literal_TimestampTz:
		return predicate.Timestamp(v.TimestampTz, predicate.Microsecond, true), nil //nolint:staticcheck // as above
	case *pb.Expression_Literal_PrecisionTime_:
		return precise(v.PrecisionTime.GetPrecision(), func(u predicate.Unit) predicate.Literal {
			return predicate.Time(v.PrecisionTime.GetValue(), u)
		})
	case *pb.Expression_Literal_PrecisionTimestamp_:
		return precise(v.PrecisionTimestamp.GetPrecision(), func(u predicate.Unit) predicate.Literal {
			return predicate.Timestamp(v.PrecisionTimestamp.GetValue(), u, false)
		})
	case *pb.Expression_Literal_PrecisionTimestampTz:
		return precise(v.PrecisionTimestampTz.GetPrecision(), func(u predicate.Unit) predicate.Literal {
			return predicate.Timestamp(v.PrecisionTimestampTz.GetValue(), u, true)
		})
	case nil:
		return nil, malformed("a literal without a value")
	}
	return nil, unsupported("literals of the form %s", oneof(l, "literal_type"))
}

// precise is a literal of the unit of so many digits behind the second.
func precise(precision int32, build func(predicate.Unit) predicate.Literal) (predicate.Expr, error) {
	unit, err := unitOf(precision)
	if err != nil {
		return nil, err
	}
	return build(unit), nil
}

// unitOf is the unit of so many digits behind the second.
func unitOf(precision int32) (predicate.Unit, error) {
	switch precision {
	case 0:
		return predicate.Second, nil
	case 3:
		return predicate.Millisecond, nil
	case 6:
		return predicate.Microsecond, nil
	case 9:
		return predicate.Nanosecond, nil
	}
	return 0, unsupported("times of %d digits behind the second; Arrow has 0, 3, 6 and 9", precision)
}

func decimal(d *pb.Expression_Literal_Decimal) (predicate.Expr, error) {
	if len(d.GetValue()) != decimalBytes {
		return nil, malformed("a decimal of %d bytes, where it has %d", len(d.GetValue()), decimalBytes)
	}
	digits := slices.Clone(d.GetValue())
	slices.Reverse(digits)
	n := new(big.Int).SetBytes(digits)
	if digits[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	l, err := predicate.Decimal(n, int(d.GetScale()))
	if err != nil {
		return nil, malformed("%w", err)
	}
	return l, nil
}

// userDefined reads a literal of one of Arrow's extension types, a wrapper of protobuf's own within an Any.
func (p *parser) userDefined(u *pb.Expression_Literal_UserDefined) (predicate.Expr, error) {
	s, err := p.typeOf(u.GetTypeReference(), u.GetTypeAliasReference())
	if err != nil {
		return nil, err
	}
	read, ok := arrowLiterals[s.name]
	if !ok || s.document != docArrowTypes {
		return nil, unsupported("literals of the type %s of %s", quote(s.name), quote(s.document))
	}
	e, err := read(u.GetValue())
	if err != nil {
		return nil, malformed("a literal of the type %s: %s", quote(s.name), err.Error())
	}
	return e, nil
}

// arrowLiterals are the extension types by their names, with what their values are wrapped in.
var arrowLiterals = map[string]func(*anypb.Any) (predicate.Expr, error){
	"u8": unsigned, "u16": unsigned, "u32": unsigned, "u64": unsigned,
	"large_string": func(a *anypb.Any) (predicate.Expr, error) {
		var v wrapperspb.StringValue
		err := unpack(a, &v)
		return predicate.String(v.GetValue()), err
	},
	"large_binary": func(a *anypb.Any) (predicate.Expr, error) {
		var v wrapperspb.BytesValue
		err := unpack(a, &v)
		return predicate.Bytes(v.GetValue()), err
	},
	"date_millis": func(a *anypb.Any) (predicate.Expr, error) {
		var v wrapperspb.Int64Value
		err := unpack(a, &v)
		if v.GetValue()%dayMilliseconds != 0 {
			return nil, malformed("%d ms are no whole days", v.GetValue())
		}
		return predicate.Date(v.GetValue() / dayMilliseconds), err
	},
	"time_nanos": func(a *anypb.Any) (predicate.Expr, error) {
		var v wrapperspb.Int64Value
		err := unpack(a, &v)
		return predicate.Time(v.GetValue(), predicate.Nanosecond), err
	},
	"time_seconds": time32(predicate.Second),
	"time_millis":  time32(predicate.Millisecond),
}

func unsigned(a *anypb.Any) (predicate.Expr, error) {
	var v wrapperspb.UInt64Value
	err := unpack(a, &v)
	return predicate.BigInt(new(big.Int).SetUint64(v.GetValue())), err
}

func time32(unit predicate.Unit) func(a *anypb.Any) (predicate.Expr, error) {
	return func(a *anypb.Any) (predicate.Expr, error) {
		var v wrapperspb.Int32Value
		err := unpack(a, &v)
		return predicate.Time(int64(v.GetValue()), unit), err
	}
}

// unpack reads what an Any holds, which must be of v's type: no other is ever looked up.
func unpack(a *anypb.Any, v proto.Message) error {
	return anypb.UnmarshalTo(a, v, proto.UnmarshalOptions{})
}
