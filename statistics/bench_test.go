package statistics

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// benchmarkRows is the length of a common batch.
const benchmarkRows = 65_536

// int64s is an int64 column whose slot i is null where i%8 is hole.
func int64s(hole int, value func(i int) int64) *Vector {
	var values []byte
	for i := range benchmarkRows {
		values = binary.LittleEndian.AppendUint64(values, uint64(value(i)))
	}
	return &Vector{
		Field: signedField(64), Kind: arrowipc.KindFixed, Width: 8, Length: benchmarkRows, Values: values,
		Validity: bitmap(benchmarkRows, func(i int) bool { return i%8 != hole }),
	}
}

// texts is a utf8 column whose slot i is null where i%8 is hole.
func texts(hole int, value func(i int) string) *Vector {
	v := &Vector{
		Field: textField(), Kind: arrowipc.KindBinary, Length: benchmarkRows,
		Offsets:  make([]byte, 4),
		Validity: bitmap(benchmarkRows, func(i int) bool { return i%8 != hole }),
	}
	for i := range benchmarkRows {
		if i%8 != hole {
			v.Data = append(v.Data, value(i)...)
		}
		v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, uint32(len(v.Data)))
	}
	return v
}

func signedField(width int) *arrowipc.Field {
	return &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: width, Signed: true}}
}

func textField() *arrowipc.Field {
	return &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeUtf8}}
}

// BenchmarkMeasure measures columns of the kinds that tables are made of: bytes/s are of values (and offsets), one op is
// one batch.
func BenchmarkMeasure(b *testing.B) {
	const start = 1_000_000
	words := []string{"AA", "DL", "UA", "WN", "B6", "AS"}
	floats := func(i int) int64 { return int64(0x3FF0_0000_0000_0000 + uint64(i)*7919<<20) }
	float := int64s(8, floats)
	float.Field = &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeFloatingPoint, BitWidth: 64}}
	int32s := *int64s(8, floats)
	int32s.Field, int32s.Width, int32s.Validity, int32s.Values = signedField(32), 4, nil, int32s.Values[:4*benchmarkRows]
	decimal := int64s(8, func(i int) int64 { return int64(i % 1000) })
	decimal.Field = &arrowipc.Field{Type: arrowipc.Type{ID: arrowipc.TypeDecimal, BitWidth: 128, Precision: 38}}
	decimal.Width, decimal.Length = 16, benchmarkRows/2
	dictionary := *int64s(8, func(i int) int64 { return int64(i*7919) & 0x000F_000F_000F_000F })
	dictionary.Field = &arrowipc.Field{Type: textField().Type, Dictionary: &arrowipc.Dictionary{IndexBits: 16, Signed: true}}
	dictionary.Width, dictionary.Validity, dictionary.Dictionary = 2, nil, texts(8, func(i int) string { return fmt.Sprint("value ", i) })
	dictionary.Dictionary.Length = 16
	plain := int64s(8, func(i int) int64 { return int64(i) })
	plain.Validity = nil

	for _, c := range []struct {
		name   string
		vector *Vector
	}{
		{"flat/id", int64s(0, func(i int) int64 { return int64(start + i) })},
		{"flat/k", int64s(1, func(i int) int64 { return int64((start + i) % 1000) })},
		{"flat/v", int64s(2, func(i int) int64 { return int64(start + i + 1) })},
		{"flat/s1", texts(3, func(i int) string { return fmt.Sprint("str_a_", (start+i)%100_000) })},
		{"flat/s2", texts(4, func(i int) string { return fmt.Sprint("str_b_", (start+i)%7919) })},
		{"flat/s3", texts(5, func(i int) string { return fmt.Sprint("str_c_", start+i) })},
		{"int64", plain},
		{"int32", &int32s},
		{"float64", float},
		{"decimal128", decimal},
		{"text/short", texts(8, func(i int) string { return words[i*7919%6] })},
		{"text/url", texts(8, func(i int) string { return fmt.Sprint("https://www.example.com/articles/", i*7919) })},
		{"text/mixed", texts(8, func(i int) string { return fmt.Sprint(words[i*7919%6], i*104729%benchmarkRows) })},
		{"dictionary", &dictionary},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.vector.Values) + len(c.vector.Offsets) + len(c.vector.Data)))
			for b.Loop() {
				Measure(c.vector)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.vector.Length), "ns/row")
		})
	}
}
