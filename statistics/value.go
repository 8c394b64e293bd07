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

// Value is one value of a class that the context knows. It is small and comparable with ==, except that equal floats of
// different sign bits (-0.0 and 0.0) are different Values; [Compare] knows.
type Value struct {
	bits  uint64 // Bool, Signed, Unsigned, Float: the value's bits
	bytes string // Decimal: 32 bytes, big-endian two's complement; Bytes: the bytes
}

// Column is what is known of one column of one batch, or of a whole dataset.
type Column struct {
	Rows   int64
	Nulls  int64 // logical nulls: of dictionary-encoded columns those of values too, of struct leaves those of parents too
	HasNaN bool
	// Bounded says that Min and Max hold. It is false for classes without order, and where no value is neither null nor
	// NaN.
	Bounded  bool
	Min, Max Value
	// MinExact and MaxExact say that the bound is a value of the column, not one cut to fit.
	MinExact, MaxExact bool
}

// MaxBytes is the most bytes of a bound of class Bytes.
const MaxBytes = 64

// Vector is one column's plain buffers, as in a record batch that has been checked: what offsets, views and indices say
// lies within the buffers. It is a leaf: it has no children. Buffers need not be aligned in memory, and may be longer than
// needed.
type Vector struct {
	Field  *arrowipc.Field
	Kind   arrowipc.Kind // KindNull, KindBool, KindFixed, KindBinary, KindLargeBinary or KindView
	Width  int           // bytes of a value, of KindFixed
	Length int64

	Validity []byte   // nil: every slot is valid
	Masks    [][]byte // validity of the structs around it: a slot is null where any says so
	Values   []byte   // bits, fixed-width values, or views
	Offsets  []byte   // KindBinary and KindLargeBinary
	Data     []byte   // KindBinary and KindLargeBinary
	Buffers  [][]byte // KindView: the data buffers

	// Dictionary is set where Values are indices (Field.Dictionary then tells their type): the values they mean. Its own
	// Field is that of the values.
	Dictionary *Vector
}
