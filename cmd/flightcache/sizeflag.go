package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeFlag is a flag of bytes: a number, with KiB, MiB, GiB or TiB behind it where wanted.
type sizeFlag int64

// UnmarshalText reads a size such as 256MiB.
func (b *sizeFlag) UnmarshalText(text []byte) error {
	s := string(text)
	number, shift := s, 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is no size; want a number of bytes, or one with KiB, MiB, GiB or TiB, as 256MiB", s)
	}
	*b = sizeFlag(n << shift)
	return nil
}
