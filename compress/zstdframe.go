package compress

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// checkZstdFrame walks over the header and the block headers of frame (RFC 8878, 3.1.1) without decoding a block. It
// makes sure that this is one frame and nothing else, since the decoder would go on to the next one and skip skippable
// ones; that the frame needs no dictionary and no window above the limit; and that what the headers alone say about the
// length does not contradict want.
func checkZstdFrame(frame []byte, want int) error {
	var h zstd.Header
	err := h.Decode(frame)
	switch {
	case errors.Is(err, zstd.ErrMagicMismatch):
		return corrupt(Zstd, "the frame starts with % x, not with zstd's magic number", frame[:min(4, len(frame))])
	case err != nil:
		return corrupt(Zstd, "header of a frame of %d bytes: %w", len(frame), err)
	case h.Skippable:
		return extra(Zstd, "skippable frame", 0)
	case h.DictionaryID != 0:
		return corrupt(Zstd, "the frame needs dictionary %d; Arrow has none", h.DictionaryID)
	case h.HasFCS && h.FrameContentSize != uint64(want):
		return corrupt(Zstd, "the frame's header says %d bytes, declared are %d", h.FrameContentSize, want)
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	if window > zstdMaxWindow {
		return fmt.Errorf("%w: zstd: window of %d bytes, allowed %d", ErrLimit, window, zstdMaxWindow)
	}

	least, most := 0, 0 // what the blocks decode to
	pos := h.HeaderSize
	for last := false; !last; {
		if len(frame)-pos < 3 {
			return corrupt(Zstd, "the frame ends within a block header, at byte %d", pos)
		}
		bits := int(frame[pos]) | int(frame[pos+1])<<8 | int(frame[pos+2])<<16
		size, length := bits>>3, bits>>3
		last = bits&1 != 0
		switch bits >> 1 & 3 {
		case 0: // raw
			least, most = least+size, most+size
		case 1: // one byte, repeated size times
			least, most = least+size, most+size
			length = 1
		case 2: // compressed
			most += zstdMaxBlock
		default:
			return corrupt(Zstd, "reserved block type at byte %d", pos)
		}
		if size > zstdMaxBlock {
			return corrupt(Zstd, "block of %d bytes at byte %d, allowed %d", size, pos, zstdMaxBlock)
		}
		if least > want {
			return corrupt(Zstd, "the blocks up to byte %d hold more than the declared %d bytes", pos, want)
		}
		pos += 3
		if len(frame)-pos < length {
			return corrupt(Zstd, "the frame ends within the block at byte %d", pos-3)
		}
		pos += length
	}
	if most < want {
		return corrupt(Zstd, "the blocks hold at most %d bytes, declared are %d", most, want)
	}
	if h.HasCheckSum {
		if len(frame)-pos < 4 {
			return corrupt(Zstd, "the frame ends within its checksum, at byte %d", pos)
		}
		pos += 4
	}
	if pos != len(frame) {
		return extra(Zstd, trailing(frame[pos:]), pos)
	}
	return nil
}

// trailing says what follows a frame, for the message.
func trailing(b []byte) string {
	if bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) || bytes.HasPrefix(b, lz4Magic[:]) {
		return "another frame"
	}
	return fmt.Sprintf("%d bytes after the frame", len(b))
}
