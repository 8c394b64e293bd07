package compress

import (
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is the encoder's window, and so most of what a fast encoder's context weighs.
	zstdWindow = 1 << 20
	// zstdMaxWindow is what Zstandard's own command line and library accept by default (ZSTD_WINDOWLOG_LIMIT_DEFAULT),
	// and covers every level without long-distance matching.
	zstdMaxWindow = 128 << 20
	// zstdMaxBlock is the most that one block decodes to (RFC 8878, 3.1.1.2).
	zstdMaxBlock = 128 << 10
	// decoderFootprint is what an idle decoder keeps, at most.
	decoderFootprint = 1 << 20
)

// speed is one of the encoder's real speeds. An encoder cannot change its speed, so each has its own contexts: a
// context can never serve a call with a level that another call left behind.
type speed int

const speeds = 4

// slow is the first speed that is not for data on its way: its encoder does about 20 MB/s, that of the speed below 200.
const slow speed = 3

// speedOf maps a Zstandard level to the speed that serves it.
func speedOf(level int) (speed, error) {
	if level < MinZstdLevel || level > MaxZstdLevel {
		return 0, fmt.Errorf("%w: %d: use %d to %d", ErrLevel, level, MinZstdLevel, MaxZstdLevel)
	}
	return speed(zstd.EncoderLevelFromZstd(level) - zstd.SpeedFastest), nil
}

// newEncoder makes a context for one EncodeAll at a time. EncodeAll resets it at its start.
func (s speed) newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest+zstd.EncoderLevel(s)),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderCRC(false))
}

// footprint is the memory in bytes that an encoder keeps, at most: its tables, which depend on the speed, twice the
// window, and the buffers of one block. It does not grow with what is encoded. A test holds these against the library.
func (s speed) footprint() int {
	return [speeds]int{4 << 20, 5 << 20, 8 << 20, 40 << 20}[s]
}

// newZstdDecoder makes a context for one DecodeAll at a time.
func newZstdDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecodeAllCapLimit(true))
}

// decodeZstd decodes one frame, which must fill dst exactly. It gives the time without the wait for a context.
func (p *Pool) decodeZstd(dst, frame []byte) (time.Duration, error) {
	if err := checkZstdFrame(frame, len(dst)); err != nil {
		return 0, err
	}
	d, err := p.zstdDecoders.get()
	if err != nil {
		return 0, fmt.Errorf("zstd decoder: %w", err)
	}
	defer p.zstdDecoders.put(d)
	began := time.Now()
	err = decodeAll(d, dst, frame)
	return time.Since(began), err
}

func decodeAll(d *zstd.Decoder, dst, frame []byte) error {
	// The decoder's limit is the capacity.
	out, err := d.DecodeAll(frame, dst[:0:len(dst)])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return corrupt(Zstd, "the frame holds more than the declared %d bytes", len(dst))
	case err != nil:
		return corrupt(Zstd, "frame of %d bytes: %w", len(frame), err)
	case len(out) != len(dst):
		return corrupt(Zstd, "the frame holds %d bytes, declared are %d", len(out), len(dst))
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // the library promises the contents, not the place
	}
	return nil
}
