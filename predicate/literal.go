package predicate

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Unit is the unit of a time, a timestamp or a duration. Its values are those of TimeUnit in Schema.fbs.
type Unit uint8

// The units.
const (
	Second Unit = iota
	Millisecond
	Microsecond
	Nanosecond
)

// literalKind says what a literal is.
type literalKind uint8

const (
	litNull      literalKind = iota
	litBool                  // bit
	litNumber                // number
	litFloat                 // float: NaN and infinities, and numbers that were floats
	litText                  // text: read as the column's type reads it
	litString                // text
	litBytes                 // text
	litDate                  // number: days since the epoch
	litTime                  // number: seconds since midnight
	litTimestamp             // number: seconds since the epoch
	litDuration              // number: seconds
)

// Literal is a constant. The zero Literal is null. It is immutable.
type Literal struct {
	kind   literalKind
	bit    bool
	zoned  bool // litTimestamp: an instant, not a time on some wall
	whole  bool // litNumber: written without fraction and exponent
	float  float64
	text   string
	number *big.Rat
}

// Limits of numbers, which keep comparing them cheap.
const (
	maxDigits = 2000 // bytes of a number's text
	// maxExponent is beyond what any column holds, either way: doubles lie between 1e-324 and 1e309, decimals between
	// 10**-maxScale and 10**(77+maxScale). What is larger, or nearer to 0, is taken for 10**maxExponent, or its inverse.
	maxExponent = 400
)

// Null is the null of every type.
func Null() Literal { return Literal{} }

// Bool is a boolean.
func Bool(b bool) Literal { return Literal{kind: litBool, bit: b} }

// Int is an integer.
func Int(n int64) Literal { return BigInt(big.NewInt(n)) }

// BigInt is an integer of any size. It copies n.
func BigInt(n *big.Int) Literal {
	return Literal{kind: litNumber, whole: true, number: new(big.Rat).SetInt(n)}
}

// Decimal is unscaled / 10**scale. Its errors are [ErrLiteral]: the scale must lie within ±128.
func Decimal(unscaled *big.Int, scale int) (Literal, error) {
	if scale < -maxScale || scale > maxScale {
		return Literal{}, fmt.Errorf("%w: a decimal of scale %d, where scales from %d to %d are known", ErrLiteral, scale, -maxScale, maxScale)
	}
	r := new(big.Rat).SetInt(unscaled)
	return Literal{kind: litNumber, number: r.Quo(r, powerOfTen(scale)), whole: scale <= 0}, nil
}

// Float is a floating point number, compared as exactly the number that it is.
func Float(f float64) Literal { return Literal{kind: litFloat, float: f} }

// Number reads a number as JSON writes it, in full precision: against integers and decimals it compares as exactly what
// is written; against floats, a number that is written with a fraction or an exponent is the nearest double. Its errors
// are [ErrLiteral].
func Number(text string) (Literal, error) {
	n, whole, ok := parseNumber(text)
	if !ok {
		return Literal{}, fmt.Errorf("%w: %q is not a number, or has more than %d digits", ErrLiteral, clip(text), maxDigits)
	}
	return Literal{kind: litNumber, number: n, whole: whole}, nil
}

// Text is a text that means what the type of the column that it is compared with reads in it: the text itself; base64
// for binary; an ISO 8601 date, time, timestamp or duration; a decimal number; "NaN", "Infinity" or "-Infinity" for
// floats. Integers and booleans are not read from text.
func Text(s string) Literal { return Literal{kind: litText, text: s} }

// String is a UTF-8 string, and nothing else.
func String(s string) Literal { return Literal{kind: litString, text: s} }

// Bytes is a binary value. It copies b.
func Bytes(b []byte) Literal { return Literal{kind: litBytes, text: string(b)} }

// Date is a day, counted from 1970-01-01.
func Date(days int64) Literal { return Literal{kind: litDate, number: big.NewRat(days, 1)} }

// Time is a time of day, counted from midnight.
func Time(n int64, unit Unit) Literal { return Literal{kind: litTime, number: seconds(n, unit)} }

// Timestamp counts from 1970-01-01T00:00:00: an instant in UTC if zoned is set, else a date and time of no zone. The two
// do not compare.
func Timestamp(n int64, unit Unit, zoned bool) Literal {
	return Literal{kind: litTimestamp, number: seconds(n, unit), zoned: zoned}
}

// Duration is a length of time.
func Duration(n int64, unit Unit) Literal {
	return Literal{kind: litDuration, number: seconds(n, unit)}
}

// IsNull reports whether the literal is null.
func (l Literal) IsNull() bool { return l.kind == litNull }

// seconds is n units as seconds.
func seconds(n int64, unit Unit) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(n), perSecond(unit))
}

// perSecond is how many of a unit a second has.
func perSecond(unit Unit) *big.Int {
	return new(big.Int).Exp(big.NewInt(1000), big.NewInt(int64(unit)), nil)
}

// powerOfTen is 10**n, also for n below 0.
func powerOfTen(n int) *big.Rat {
	abs := n
	if n < 0 {
		abs = -n
	}
	r := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs)), nil))
	if n < 0 {
		r.Inv(r)
	}
	return r
}

// parseNumber reads JSON's grammar of numbers; whole says that there is neither a fraction nor an exponent.
func parseNumber(text string) (n *big.Rat, whole, ok bool) {
	if len(text) > maxDigits {
		return nil, false, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	before, rest := digits(rest)
	if before == "" || len(before) > 1 && before[0] == '0' {
		return nil, false, false
	}
	whole = rest == ""
	fraction := ""
	if after, dot := strings.CutPrefix(rest, "."); dot {
		if fraction, rest = digits(after); fraction == "" {
			return nil, false, false
		}
	}
	exponent := 0
	if rest != "" {
		if exponent, ok = parseExponent(rest); !ok {
			return nil, false, false
		}
	}
	n = scaled(before+fraction, exponent-len(fraction))
	if negative {
		n.Neg(n)
	}
	return n, whole, true
}

// scaled is a number of decimal digits times 10**exponent, brought into the range of maxExponent.
func scaled(mantissa string, exponent int) *big.Rat {
	mantissa = strings.TrimLeft(mantissa, "0")
	if mantissa == "" {
		return new(big.Rat)
	}
	switch magnitude := len(mantissa) + exponent; {
	case magnitude > maxExponent:
		return powerOfTen(maxExponent)
	case magnitude < -maxExponent:
		return powerOfTen(-maxExponent)
	}
	m, _ := new(big.Int).SetString(mantissa, 10)
	n := new(big.Rat).SetInt(m)
	return n.Mul(n, powerOfTen(exponent))
}

// parseExponent reads e, a sign, and digits. What no mantissa brings back into range is cut.
func parseExponent(s string) (int, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s, sign := s[1:], 1
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	d, rest := digits(s)
	if d == "" || rest != "" {
		return 0, false
	}
	const most = maxExponent + maxDigits
	e := 0
	for i := 0; i < len(d) && e <= most; i++ {
		e = e*10 + int(d[i]-'0')
	}
	return sign * min(e, most), true
}

// digits cuts the digits that s begins with.
func digits(s string) (d, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// nearest is the double nearest to a number; an infinity beyond their range.
func nearest(n *big.Rat) float64 {
	f, _ := n.Float64()
	return f
}

// finite reports whether f is a number.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
