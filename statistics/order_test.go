package statistics

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// TestOrder compares every pair of slots of vectors whose slots are in order, with values that are equal among them.
func TestOrder(t *testing.T) {
	float := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}}
	text := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeUtf8}}
	var floats []byte
	for _, x := range []float64{math.Inf(-1), -1, math.Copysign(0, -1), 0, 2, math.Inf(1), math.NaN(), 7} {
		floats = binary.LittleEndian.AppendUint64(floats, math.Float64bits(x))
	}
	var offsets []byte
	for _, n := range []uint32{0, 0, 1, 3, 3} {
		offsets = binary.LittleEndian.AppendUint32(offsets, n)
	}
	for _, x := range []struct {
		name  string
		v     *Vector
		ranks []int // equal slots have the same
	}{
		{"floats", &Vector{Field: float, Kind: arrowipc.KindFixed, Width: 8, Length: 8, Values: floats, Validity: []byte{0x7F}},
			[]int{0, 1, 2, 2, 3, 4, 5, 6}},
		{"text", &Vector{Field: text, Kind: arrowipc.KindBinary, Length: 4, Offsets: offsets, Data: []byte("aab"), Validity: []byte{0x07}},
			[]int{0, 1, 2, 3}},
	} {
		class := ClassOf(x.v.Field)
		for i, a := range x.ranks {
			for j, b := range x.ranks {
				want := sign(a - b)
				if got := sign(x.v.CompareSlots(int64(i), int64(j), false)); got != want {
					t.Errorf("%s: slots %d and %d compare as %d, want %d", x.name, i, j, got, want)
				}
				p, q := x.v.Place(int64(i)), x.v.Place(int64(j))
				if got := sign(ComparePlaces(class, p, q, false)); got != want {
					t.Errorf("%s: places %d and %d compare as %d, want %d", x.name, i, j, got, want)
				}
				if p.rank == rankValue && q.rank == rankValue {
					want = -want
				}
				if got := sign(x.v.CompareSlots(int64(i), int64(j), true)); got != want {
					t.Errorf("%s: slots %d and %d compare descending as %d, want %d", x.name, i, j, got, want)
				}
			}
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }
