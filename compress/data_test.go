package compress

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// The sample buffers that tests and benchmarks share.

// sequence is a buffer of n bytes with rising int64 values; every seventh is null, and a null's slot is 0.
func sequence(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		v := uint64(i)
		if i%7 == 0 {
			v = 0
		}
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b[:n]
}

// text is the data buffer of a string column, n bytes of "str_c_0", "str_c_1", ...
func text(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "str_c_%d", i%50000)
	}
	return b[:n]
}

// noise is n bytes that no codec shrinks.
func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	r.Read(b)
	return b
}

// samples are buffers of many kinds and lengths.
func samples() map[string][]byte {
	m := map[string][]byte{
		"empty": {}, "one byte": {7}, "eight bytes": sequence(8), "zeros 19": make([]byte, 19),
		"zeros 1 MiB": make([]byte, 1<<20),
		"mixed":       append(append(noise(70_000), text(300_000)...), noise(100_000)...),
		"noise first": append(noise(256<<10), make([]byte, 600<<10)...),
	}
	lengths := []int{100, 4096, 65535, 65536, 65537, 262144, 262145, 1<<20 + 13}
	if underRace {
		lengths = []int{100, 65537}
	}
	for _, n := range lengths {
		m[fmt.Sprint("sequence ", n)] = sequence(n)
		m[fmt.Sprint("text ", n)] = text(n)
		m[fmt.Sprint("noise ", n)] = noise(n)
	}
	return m
}
