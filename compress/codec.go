package compress

import (
	"fmt"
	"strconv"
)

// Codec says how the buffers of one record batch are stored. Its values from 0 on are those of CompressionType in
// Arrow's format/Message.fbs, so a header's codec byte converts directly; check it with [Codec.Valid].
//
// The zero value is [LZ4], as it is in the format; "no compression" is absence there and -1 here.
type Codec int8

const (
	// None stores buffers as they are, without a length prefix.
	None Codec = -1
	// LZ4 is the format's LZ4_FRAME: one LZ4 frame a buffer, never a bare block.
	LZ4 Codec = 0
	// Zstd is one Zstandard frame a buffer.
	Zstd Codec = 1
)

// ParseCodec reads a codec's name: "none", "lz4" or "zstd", in lower case. Another name gives [ErrUnknownCodec], with
// the name in its message.
func ParseCodec(name string) (Codec, error) {
	for _, c := range []Codec{None, LZ4, Zstd} {
		if name == c.String() {
			return c, nil
		}
	}
	return None, fmt.Errorf("%w %q: use none, lz4 or zstd", ErrUnknownCodec, name)
}

// String returns the name that [ParseCodec] reads, and "codec(7)" for a value that is none of the constants.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "codec(" + strconv.Itoa(int(c)) + ")"
}

// Valid reports whether c is one of the constants.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }

func (c Codec) unknown() error {
	return fmt.Errorf("%w %d: -1 (none), 0 (lz4) and 1 (zstd) are known", ErrUnknownCodec, int(c))
}
