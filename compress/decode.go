package compress

import (
	"encoding/binary"
	"fmt"
	"time"
)

// DecodedLen returns the length in bytes that a stored buffer says it decodes to, from its prefix alone. Compare it
// with what you allow before you make memory for it.
//
// It refuses, as [ErrCorrupt], a prefix that is cut or below -1, and a length that no frame of this size can decode to
// (255 times its size for LZ4, 128 KiB for every 4 bytes for Zstandard). It is exact for empty and raw buffers and
// under [None]; a frame is held to it by [Pool.Decode]. Another codec is [ErrUnknownCodec].
func DecodedLen(stored []byte, c Codec) (int64, error) {
	switch {
	case !c.Valid():
		return 0, c.unknown()
	case c == None, len(stored) == 0:
		return int64(len(stored)), nil
	case len(stored) < prefixLen:
		return 0, corrupt(c, "%d bytes are too few for the 8-byte length prefix", len(stored))
	}
	n := int64(binary.LittleEndian.Uint64(stored))
	frame := int64(len(stored) - prefixLen)
	most := frame * 255
	if c == Zstd {
		most = frame / 4 * zstdMaxBlock
	}
	switch {
	case n == rawPrefix:
		return frame, nil
	case n < 0:
		return 0, corrupt(c, "declared length %d is negative", n)
	case n > most:
		return 0, corrupt(c, "declared length %d is more than a frame of %d bytes can hold (%d)", n, frame, most)
	}
	return n, nil
}

// Raw returns the contents of a buffer that is stored raw behind a prefix of -1, and whether it is one. The result
// aliases stored, and so keeps alive whatever memory stored is part of, a whole batch perhaps: copy it where a small
// buffer outlives a big batch. It is for [LZ4] and [Zstd]; under [None] there is no prefix to look at.
func Raw(stored []byte) ([]byte, bool) {
	if len(stored) < prefixLen || int64(binary.LittleEndian.Uint64(stored)) != rawPrefix {
		return nil, false
	}
	return stored[prefixLen:len(stored):len(stored)], true
}

// Decode decodes a stored buffer into dst, whose length must be what [DecodedLen] says; the caller has compared that
// with its limits. It never writes outside dst[:len(dst)], whatever dst's capacity. After an error dst's contents are
// undefined. stored and dst must not overlap.
//
// Besides dst it needs a pooled context of under 1 MiB for Zstandard and nothing for LZ4, with one exception: a damaged
// or hostile Zstandard frame that holds more than it declares, in a block that is not itself compressed, makes the
// decoder move its output into memory of at most about 1.25 times len(dst) + 128 KiB, until it sees that and fails.
//
// Errors: [ErrCorrupt] (also when the frame gives more or fewer bytes than len(dst)), [ErrNotOneFrame], [ErrLimit] for
// a Zstandard window above 128 MiB, [ErrUnknownCodec].
func (p *Pool) Decode(dst, stored []byte, c Codec) error {
	n, err := DecodedLen(stored, c)
	if err != nil {
		return err
	}
	if n != int64(len(dst)) {
		return corrupt(c, "declared length %d, but %d bytes are expected", n, len(dst))
	}
	if c == None {
		copy(dst, stored)
		return nil
	}
	if raw, ok := Raw(stored); ok {
		copy(dst, raw)
		return nil
	}
	if len(stored) <= prefixLen { // DecodedLen has made sure of n == 0
		return nil
	}
	done := tally{buffers: 1, plain: int64(len(dst)), stored: int64(len(stored))}
	if c == LZ4 {
		began := time.Now()
		err = decodeLZ4Frame(dst, stored[prefixLen:])
		done.time = time.Since(began)
	} else {
		done.time, err = p.decodeZstd(dst, stored[prefixLen:])
	}
	if err == nil {
		p.used.of(c, false).add(done)
	}
	return err
}

// DecodeLimit decodes a stored buffer into new memory, which the caller owns and which never aliases stored. It fails
// with [ErrLimit], before anything is allocated, if the buffer declares more than limit bytes. Other errors are those
// of [Pool.Decode].
func (p *Pool) DecodeLimit(stored []byte, c Codec, limit int64) ([]byte, error) {
	n, err := DecodedLen(stored, c)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("%w: %s: declared length %d, allowed %d", ErrLimit, c, n, limit)
	}
	dst := make([]byte, n)
	if err := p.Decode(dst, stored, c); err != nil {
		return nil, err
	}
	return dst, nil
}
