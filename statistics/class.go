package statistics

import "github.com/flightcache/flightcache/arrowipc"

// Class says how the values of a type are compared.
type Class uint8

// The classes. Types of class None have no order here: they are counted, not bounded.
const (
	None     Class = iota
	Bool           // false before true
	Signed         // signed integers, dates, times, timestamps, durations: 64-bit signed
	Unsigned       // unsigned integers: 64-bit unsigned
	Float          // half, single and double precision: as numbers
	Decimal        // decimals of every width: 256-bit signed, of the unscaled values
	Bytes          // utf8 and binary, large, fixed-size and views too: byte by byte
)

// ClassOf is the class of a field's values: of a dictionary-encoded field those of its dictionary.
//
// Intervals have no class, because a month has no fixed number of days. Nested types, unions, run-end encoded columns and
// nulls have none either. An extension type has that of its storage type.
func ClassOf(f *arrowipc.Field) Class {
	switch f.Type.ID {
	case arrowipc.TypeBool:
		return Bool
	case arrowipc.TypeInt:
		if f.Type.Signed {
			return Signed
		}
		return Unsigned
	case arrowipc.TypeDate, arrowipc.TypeTime, arrowipc.TypeTimestamp, arrowipc.TypeDuration:
		return Signed
	case arrowipc.TypeFloatingPoint:
		return Float
	case arrowipc.TypeDecimal:
		return Decimal
	case arrowipc.TypeUtf8, arrowipc.TypeLargeUtf8, arrowipc.TypeUtf8View,
		arrowipc.TypeBinary, arrowipc.TypeLargeBinary, arrowipc.TypeBinaryView, arrowipc.TypeFixedSizeBinary:
		return Bytes
	}
	return None
}

// isText reports whether the values of a field are UTF-8 text.
func isText(f *arrowipc.Field) bool {
	switch f.Type.ID {
	case arrowipc.TypeUtf8, arrowipc.TypeLargeUtf8, arrowipc.TypeUtf8View:
		return true
	}
	return false
}
