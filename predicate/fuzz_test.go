package predicate

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// FuzzBindEval compares a column of any values with literals that a text makes, and random trees with the naive evaluator.
func FuzzBindEval(f *testing.F) {
	for i, text := range []string{"5", "4.5", "-1e400", "NaN", "2024-02-29T13:45:00.5+01:00", "PT1.5S", "12:30", "YQ==", "9007199254740993", "é"} {
		f.Add(uint8(i), int64(i), text, []byte("\x00\x00\x00\x00\x00\x00\xf0\x7f\x01\x02\x03\x04\x05\x06\x07\x08abcdefgh"))
	}
	types := testTypes()
	f.Fuzz(func(t *testing.T, of uint8, seed int64, text string, raw []byte) {
		typ := types[int(of)%len(types)]
		s := schemaOf([]arrowipc.Type{typ}, of >= 128 && typ.ID != arrowipc.TypeNull)
		values := valuesFrom(typ, raw)
		tb := table{s, []*statistics.Vector{vectorOf(s.Fields[0], values)}, len(values)}
		k := col("a")
		literals := []Literal{String(text), Bytes([]byte(text)), Float(float64(seed)), Float(math.Float64frombits(uint64(seed))), Int(seed)}
		if l, err := Number(text); err == nil {
			literals = append(literals, l)
		}
		for _, l := range append(literals, Text(text), Timestamp(seed, Nanosecond, seed%2 == 0), Date(seed), Time(seed, Second), Duration(seed, Millisecond)) {
			tests := []Expr{In{k, []Literal{l, Int(seed), Null()}}, Member{k, []Literal{l}}, StartsWith{k, l}}
			for op := Equal; op <= GreaterEqual; op++ {
				tests = append(tests, Compare{op, k, l})
			}
			for _, e := range tests {
				// What a Text is depends on the column; the tables tell of that.
				if _, err := tb.outcomes(e); err == nil && l.kind != litText {
					checkAgainstNaive(t, s, tb.vectors, tb.rows, e)
				}
			}
		}
		g := grower{rand.New(rand.NewSource(seed)), tb.vectors}
		checkAgainstNaive(t, s, tb.vectors, tb.rows, g.tree(4))
	})
}

// valuesFrom cuts bytes into values of a type; every fifth is null.
func valuesFrom(t arrowipc.Type, raw []byte) []any {
	d := domainOf(t)
	out := make([]any, 0, len(raw)/8)
	for ; len(raw) >= 8 && len(out) < 200; raw = raw[8:] {
		u := binary.LittleEndian.Uint64(raw)
		var x any
		switch {
		case len(out)%5 == 4 || t.ID == arrowipc.TypeNull:
		case t.ID == arrowipc.TypeBool:
			x = u%2 == 1
		case t.ID == arrowipc.TypeFixedSizeBinary:
			x = string(raw[:t.ByteWidth])
		case d.form == formBytes:
			x = string(raw[:u%8])
		case d.isFloat:
			switch t.BitWidth {
			case 16:
				x = half(uint16(u))
			case 32:
				x = float64(math.Float32frombits(uint32(u)))
			default:
				x = math.Float64frombits(u)
			}
		default:
			n := new(big.Int).SetUint64(u)
			size := new(big.Int).Add(new(big.Int).Sub(d.max, d.min), one)
			x = n.Mod(n, size).Add(n, d.min)
		}
		out = append(out, x)
	}
	return out
}
