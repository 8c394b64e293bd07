package statistics

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/flightcache/flightcache/arrowipc"
)

func addressParity(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 1 }

// random is a generator with a seed that is printed where the test fails.
func random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// lengths are around the ends of blocks.
var lengths = []int{0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 640, 1000}

func TestMeasure(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for _, n := range lengths {
			for range 30 {
				check(t, makeVector(r, s, n))
			}
		}
	}
}

func TestMeasureDictionary(t *testing.T) {
	r := random(t)
	for _, s := range shapes() {
		for _, n := range lengths {
			for range 15 {
				check(t, makeIndexed(r, s, n))
			}
		}
	}
}

// slow is what is so of a vector, found value by value with Null, Value and Compare alone.
type slow struct {
	nulls           int64
	nan, values     bool
	least, greatest Value
}

func measureSlowly(v *Vector) (s slow) {
	class := ClassOf(v.Field)
	for i := range v.Length {
		if v.Null(i) {
			s.nulls++
			continue
		}
		if class == None {
			continue
		}
		x := v.Value(i)
		if class == Float && x.Float64() != x.Float64() {
			s.nan = true
			continue
		}
		if !s.values || before(class, x, s.least) {
			s.least = x
		}
		if !s.values || before(class, s.greatest, x) {
			s.greatest = x
		}
		s.values = true
	}
	return s
}

// before has -0.0 before 0.0.
func before(class Class, a, b Value) bool {
	if order := Compare(class, a, b); order != 0 || class != Float {
		return order < 0
	}
	return a.bits>>63 > b.bits>>63
}

// check compares what Measure says of v with what its values say.
func check(t *testing.T, v *Vector) {
	t.Helper()
	got, want := Measure(v), measureSlowly(v)
	name := v.Field.TypeString()
	if got.Rows != v.Length || got.Nulls != want.nulls || got.HasNaN != want.nan {
		t.Fatalf("%s: rows %d, nulls %d, NaN %v; want %d, %d, %v",
			name, got.Rows, got.Nulls, got.HasNaN, v.Length, want.nulls, want.nan)
	}
	if !want.values {
		if (got != Column{Rows: got.Rows, Nulls: got.Nulls, HasNaN: got.HasNaN}) {
			t.Fatalf("%s: bounds of no values: %+v", name, got)
		}
		return
	}
	exact := Column{Rows: got.Rows, Nulls: got.Nulls, HasNaN: got.HasNaN, HasMin: true, HasMax: true,
		Min: want.least, Max: want.greatest, MinExact: true, MaxExact: true}
	if got == exact {
		return
	}
	if ClassOf(v.Field) != Bytes {
		t.Fatalf("%s: %+v, want %+v", name, got, exact)
	}
	checkMin(t, v, got, want.least.bytes)
	checkMax(t, v, got, want.greatest.bytes)
}

// checkMin asks that the bound is the value where that fits, and else its beginning.
func checkMin(t *testing.T, v *Vector, got Column, least string) {
	t.Helper()
	bound, text := got.Min.bytes, isText(v.Field)
	if len(least) <= MaxBytes {
		if !got.HasMin || !got.MinExact || bound != least {
			t.Fatalf("%s: min %q (%+v), want %q", v.Field.TypeString(), bound, got, least)
		}
		return
	}
	shortest := MaxBytes
	if text {
		shortest -= utf8.UTFMax - 1
	}
	if !got.HasMin || got.MinExact || len(bound) > MaxBytes || len(bound) < shortest || bound != least[:len(bound)] ||
		text && utf8.ValidString(least) && !utf8.ValidString(bound) {
		t.Fatalf("%s: min %q (%+v) of %q", v.Field.TypeString(), bound, got, least)
	}
}

// checkMax asks that the bound is the value where that fits, and else a short one after all that begins like it.
func checkMax(t *testing.T, v *Vector, got Column, greatest string) {
	t.Helper()
	bound, text := got.Max.bytes, isText(v.Field)
	switch {
	case len(greatest) <= MaxBytes:
		if got.HasMax && got.MaxExact && bound == greatest {
			return
		}
	case !got.HasMax: // there is nothing that could be raised
		unraisable := "\xFF"
		if text {
			unraisable = string(utf8.MaxRune)
		}
		if bound == "" && !got.MaxExact && greatest[:len(unraisable)] == unraisable {
			return
		}
	case !got.MaxExact && len(bound) <= MaxBytes && bound > greatest && (!text || !utf8.ValidString(greatest) || utf8.ValidString(bound)):
		return
	}
	t.Fatalf("%s: max %q (%+v) of %q", v.Field.TypeString(), bound, got, greatest)
}

// bitmap packs bits.
func bitmap(n int, set func(i int) bool) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		if set(i) {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// A column of indices whose dictionary is not there is counted, and so is one of a kind that has no values here.
func TestMeasureOnlyCounts(t *testing.T) {
	f := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeUtf8}, Dictionary: &arrowipc.Dictionary{IndexBits: 8}}
	v := &Vector{Field: f, Kind: arrowipc.KindFixed, Width: 1, Length: 9, Validity: []byte{0xF0, 1}, Values: make([]byte, 9)}
	if got, want := Measure(v), (Column{Rows: 9, Nulls: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	list := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeList}}
	v = &Vector{Field: list, Kind: arrowipc.KindList, Length: 9, Validity: []byte{0xF0, 1}, Masks: [][]byte{nil, {0xC0, 1}}}
	if got, want := Measure(v), (Column{Rows: 9, Nulls: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Offsets that fall are refused before a batch is measured; even so, nothing outside the data is read.
func TestMeasureFallingOffsets(t *testing.T) {
	v := texts(8, func(int) string { return "value" })
	for i := range 4 {
		v.Offsets[4*30+i] = 0x7F
	}
	defer func() {
		if recover() == nil {
			t.Error("offsets beyond the data were believed")
		}
	}()
	Measure(v)
}

// Values whose keys are the same, in different blocks: what comes after the key decides.
func TestMeasureTies(t *testing.T) {
	for _, c := range []struct {
		name                 string
		first, second        string
		leastWant, greatWant string
	}{
		{"least", "aaaaaaaa-m", "aaaaaaaa-b", "aaaaaaaa-b", "n"},
		{"greatest", "zzzzzzzz-b", "zzzzzzzz-m", "m", "zzzzzzzz-m"},
		{"shorter", "aaaaaaaa", "aaaaaaa", "aaaaaaa", "n"},
		{"zero bytes", "z\x00", "z\x00\x00", "m", "z\x00\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Measure(texts(8, func(i int) string {
				switch i {
				case 5:
					return c.first
				case 700:
					return c.second
				}
				return []string{"m", "n"}[i>>10&1] // no two of the samples that are next to each other begin alike
			}))
			if got.Min.bytes != c.leastWant || got.Max.bytes != c.greatWant {
				t.Errorf("%q to %q, want %q to %q", got.Min.bytes, got.Max.bytes, c.leastWant, c.greatWant)
			}
		})
	}
}

// Each word of a wide decimal decides where those above it are the same.
func TestMeasureWideDecimals(t *testing.T) {
	f := &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 256, Precision: 76}}
	for word := range 4 {
		for _, above := range []byte{0, 0xFF} {
			// Where the word is 1, those below it are 0; where it is 2, they are all ones: and the other way round.
			for _, below := range []byte{0, 0xFF} {
				var values []byte
				for _, x := range []struct{ word, below byte }{{2, below}, {1, ^below}, {2, below}} {
					b := bytes.Repeat([]byte{above}, 32)
					copy(b, bytes.Repeat([]byte{x.below}, 8*word))
					b[8*word] = x.word
					values = append(values, b...)
				}
				check(t, &Vector{Field: f, Kind: arrowipc.KindFixed, Width: 32, Length: 2, Values: values})
				check(t, &Vector{Field: f, Kind: arrowipc.KindFixed, Width: 32, Length: 2, Values: values[32:]})
			}
		}
	}
}
