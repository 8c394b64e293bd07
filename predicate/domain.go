package predicate

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/flightcache/flightcache/arrowipc"
)

// family says what a value is, and so which literals it compares with.
type family uint8

const (
	famOther family = iota // nested, intervals: only null or not
	famNull
	famBool
	famInt
	famFloat
	famDecimal
	famDate
	famTime
	famTimestamp
	famDuration
	famText
	famBinary
)

// form says how the values of a column are ordered here.
type form uint8

const (
	formNone  form = iota
	formKeys       // as int64: integers, decimals of up to 64 bits, temporal values, booleans, and the keys of floats
	formWide       // as 256-bit integers
	formBytes      // byte by byte
)

// domain is the ordered set that a column's values come from. In formKeys and formWide they are steps, consecutive
// integers from min to max: a value is its step times unit, but for floats, whose steps are their keys (see floatKey).
type domain struct {
	form     form
	family   family
	unit     *big.Rat // in the number itself, or in seconds
	min, max *big.Int // steps
	zoned    bool     // famTimestamp
	isFloat  bool     // steps are keys of floats
	biased   bool     // 64-bit unsigned: the int64 is the step less 2**63
}

var (
	one          = big.NewInt(1)
	bias64       = new(big.Int).Lsh(one, 63)
	bias256      = new(big.Int).Lsh(one, 255)
	negInf       = big.NewInt(floatKey(math.Inf(-1)))
	posInf       = big.NewInt(floatKey(math.Inf(1)))
	secondsInDay = big.NewRat(86400, 1)
)

// domainOf gives the domain of a type's values; of dictionary-encoded columns, of what the indices mean.
func domainOf(t arrowipc.Type) domain {
	switch t.ID {
	case arrowipc.TypeNull:
		return domain{family: famNull}
	case arrowipc.TypeBool:
		return domain{form: formKeys, family: famBool, unit: big.NewRat(1, 1), min: new(big.Int), max: one}
	case arrowipc.TypeInt:
		return integers(famInt, t.BitWidth, t.Signed, big.NewRat(1, 1))
	case arrowipc.TypeFloatingPoint:
		return domain{form: formKeys, family: famFloat, min: negInf, max: posInf, isFloat: true}
	case arrowipc.TypeDecimal:
		if t.Scale < -maxScale || t.Scale > maxScale {
			return domain{}
		}
		return integers(famDecimal, t.BitWidth, true, powerOfTen(-t.Scale))
	case arrowipc.TypeDate:
		if t.Unit == 0 {
			return integers(famDate, 32, true, secondsInDay)
		}
		return integers(famDate, 64, true, big.NewRat(1, 1000))
	case arrowipc.TypeTime:
		return integers(famTime, t.BitWidth, true, step(t))
	case arrowipc.TypeTimestamp:
		d := integers(famTimestamp, 64, true, step(t))
		d.zoned = t.Timezone != ""
		return d
	case arrowipc.TypeDuration:
		return integers(famDuration, 64, true, step(t))
	case arrowipc.TypeUtf8, arrowipc.TypeLargeUtf8, arrowipc.TypeUtf8View:
		return domain{form: formBytes, family: famText}
	case arrowipc.TypeBinary, arrowipc.TypeLargeBinary, arrowipc.TypeBinaryView, arrowipc.TypeFixedSizeBinary:
		return domain{form: formBytes, family: famBinary}
	}
	return domain{}
}

func step(t arrowipc.Type) *big.Rat {
	return new(big.Rat).SetFrac(one, perSecond(Unit(t.Unit)))
}

func integers(f family, bits int, signed bool, unit *big.Rat) domain {
	d := domain{form: formKeys, family: f, unit: unit}
	if bits > 64 {
		d.form = formWide
	}
	if signed {
		d.max = new(big.Int).Lsh(one, uint(bits-1))
		d.min = new(big.Int).Neg(d.max)
	} else {
		d.max, d.min = new(big.Int).Lsh(one, uint(bits)), new(big.Int)
		d.biased = bits == 64
	}
	d.max.Sub(d.max, one)
	return d
}

// key gives a step as the int64 that it is evaluated as. It must lie between min and max.
func (d *domain) key(n *big.Int) int64 {
	if d.biased {
		return new(big.Int).Sub(n, bias64).Int64()
	}
	return n.Int64()
}

// real is a literal as a point on the line of real numbers: a number, an infinity, or NaN.
type real struct {
	number *big.Rat
	inf    int
	nan    bool
}

func realOf(f float64) real {
	switch {
	case math.IsNaN(f):
		return real{nan: true}
	case math.IsInf(f, 0):
		return real{inf: int(math.Copysign(1, f))}
	}
	return real{number: new(big.Rat).SetFloat64(f)}
}

// place gives the greatest step whose value is less than y, and the greatest whose value is at most y: they differ where
// a step's value is y. They may lie outside of the domain.
func (d *domain) place(y real) (less, atMost *big.Int) {
	if d.isFloat {
		return placeFloat(y)
	}
	if y.inf != 0 {
		n := new(big.Int).Sub(d.min, one)
		if y.inf > 0 {
			n = d.max
		}
		return n, n
	}
	q := new(big.Rat).Quo(y.number, d.unit)
	floor, rest := new(big.Int).DivMod(q.Num(), q.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		return floor, floor
	}
	return new(big.Int).Sub(floor, one), floor
}

func placeFloat(y real) (less, atMost *big.Int) {
	f, side := math.Inf(y.inf), 0
	if y.inf == 0 {
		f = nearest(y.number)
		switch {
		case math.IsInf(f, 0):
			side = int(math.Copysign(1, f))
		default:
			side = new(big.Rat).SetFloat64(f).Cmp(y.number)
		}
	}
	low, high := floatKey(f), floatKey(f)
	if f == 0 {
		low, high = floatKey(math.Copysign(0, -1)), floatKey(0)
	}
	switch {
	case side > 0: // y lies below f
		return big.NewInt(low - 1), big.NewInt(low - 1)
	case side < 0:
		return big.NewInt(high), big.NewInt(high)
	}
	return big.NewInt(low - 1), big.NewInt(high)
}

// floatKey maps doubles to integers in their order: -0.0 comes right before 0.0, NaNs lie beyond the infinities.
func floatKey(f float64) int64 {
	b := int64(math.Float64bits(f))
	return b ^ int64(uint64(b>>63)>>1)
}

// wide is a signed 256-bit integer plus 2**255, most significant word first: it has the order of its words.
type wide [4]uint64

func (a wide) less(b wide) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// next is a+1, previous a-1, without a thought to overflow.
func (a wide) next() wide {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i]++; a[i] != 0 {
			break
		}
	}
	return a
}

func (a wide) previous() wide {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i]--; a[i] != ^uint64(0) {
			break
		}
	}
	return a
}

func wideOf(n *big.Int) wide {
	var b [32]byte
	new(big.Int).Add(n, bias256).FillBytes(b[:])
	var w wide
	for i := range w {
		w[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return w
}

// wideLE reads a little-endian two's complement integer of 16 or 32 bytes.
func wideLE(b []byte) (w wide) {
	high := int64(binary.LittleEndian.Uint64(b[len(b)-8:]))
	words := len(b) / 8
	for i := range w {
		if at := 3 - i; at < words {
			w[i] = binary.LittleEndian.Uint64(b[8*at:])
		} else {
			w[i] = uint64(high >> 63)
		}
	}
	w[0] ^= 1 << 63
	return w
}
