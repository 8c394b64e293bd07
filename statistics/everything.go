package statistics

import (
	"math"
	"math/big"

	"github.com/flightcache/flightcache/arrowipc"
)

// Everything is what can be said of a column whose values were not looked at: its counts, and bounds that hold for every
// value of its type. It prunes nothing and lies about nothing.
func Everything(f *arrowipc.Field, rows, nulls int64) Column {
	c := Column{Rows: rows, Nulls: nulls}
	if nulls == rows {
		return c
	}
	switch ClassOf(f) {
	case None:
		return c
	case Bool:
		c.Min, c.Max = Boolean(false), Boolean(true)
	case Signed:
		c.Min, c.Max = Int(math.MinInt64), Int(math.MaxInt64)
	case Unsigned:
		c.Min, c.Max = Uint(0), Uint(math.MaxUint64)
	case Float:
		c.Min, c.Max, c.HasNaN = Float64Value(math.Inf(-1)), Float64Value(math.Inf(1)), true
	case Decimal:
		least := new(big.Int).Lsh(big.NewInt(-1), 8*decimalBytes-1)
		c.Min, _ = DecimalValue(least)
		c.Max, _ = DecimalValue(new(big.Int).Not(least))
	case Bytes: // the empty string comes first, and there is no last
		c.Min = TextValue("")
		c.HasMin = true
		return c
	}
	c.HasMin, c.HasMax = true, true
	return c
}
