package statistics

import (
	"math"
	"math/big"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// TestEverything holds the extremes of each class within the bounds, and claims no bound to be a value.
func TestEverything(t *testing.T) {
	most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(1))
	least, _ := DecimalValue(new(big.Int).Not(most))
	greatest, _ := DecimalValue(most)
	for _, c := range []struct {
		typ    arrowipc.Type
		values []Value
	}{
		{arrowipc.Type{ID: arrowipc.TypeBool}, []Value{Boolean(false), Boolean(true)}},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}, []Value{Int(math.MinInt64), Int(math.MaxInt64)}},
		{arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64}, []Value{Uint(0), Uint(math.MaxUint64)}},
		{arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}, []Value{Float64Value(math.Inf(-1)), Float64Value(math.Inf(1))}},
		{arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 256, Precision: 76}, []Value{least, greatest}},
		{arrowipc.Type{ID: arrowipc.TypeUtf8}, []Value{TextValue(""), TextValue("\U0010FFFF\U0010FFFF")}},
	} {
		f := &arrowipc.Field{Type: c.typ}
		got := Everything(f, 3, 1)
		if got.Rows != 3 || got.Nulls != 1 || !got.HasMin || got.MinExact || got.MaxExact {
			t.Errorf("%v: %+v", c.typ, got)
		}
		for _, v := range c.values {
			if Compare(ClassOf(f), got.Min, v) > 0 || got.HasMax && Compare(ClassOf(f), got.Max, v) < 0 {
				t.Errorf("%v: %v lies outside", c.typ, v)
			}
		}
		if all := Everything(f, 3, 3); all.HasMin || all.HasMax || all.HasNaN {
			t.Errorf("%v: bounds of nulls: %+v", c.typ, all)
		}
	}
}
