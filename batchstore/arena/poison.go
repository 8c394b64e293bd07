package arena

import "fmt"

// poisonByte fills freed memory under [Options] Poison: as an Arrow offset or length it is negative, as text no UTF-8.
const poisonByte = 0xDB

func poison(b []byte) {
	for i := range b {
		b[i] = poisonByte
	}
}

// checkPoison panics when memory that was free until now holds anything but poison, or the zeros of pages that the
// system gave.
func checkPoison(b []byte, offset int) {
	for i, c := range b {
		if c != poisonByte && c != 0 {
			panic(fmt.Sprintf("arena: the byte at offset %d was written while it was free: it is %#x", offset+i, c))
		}
	}
}
