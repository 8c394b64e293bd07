package compress

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// lz4Header is what a frame's descriptor says.
type lz4Header struct {
	size            int // of the header, in bytes
	block           int // the most that a block decodes to, in bytes
	linked          bool
	blockChecksum   bool
	contentChecksum bool
}

// readLZ4Header checks the header of a frame that is to decode to want bytes.
func readLZ4Header(frame []byte, want int) (lz4Header, error) {
	var h lz4Header
	if len(frame) >= 4 && frame[0]&0xf0 == 0x50 && frame[1] == 0x2a && frame[2] == 0x4d && frame[3] == 0x18 {
		return h, extra(LZ4, "skippable frame", 0)
	}
	if len(frame) >= 4 && [4]byte(frame) != lz4Magic {
		return h, corrupt(LZ4, "the frame starts with % x, not with LZ4's magic number", frame[:4])
	}
	if len(frame) < 7 {
		return h, corrupt(LZ4, "%d bytes are too few for a frame header", len(frame))
	}
	flg, bd := frame[4], frame[5]
	h.size = 6
	switch {
	case flg&lz4VersionMask != lz4Version:
		return h, corrupt(LZ4, "frame version %d, known is 1", flg>>6)
	case flg&lz4FlagReserved != 0 || bd&lz4BDReserved != 0:
		return h, corrupt(LZ4, "reserved bits are set in the frame header (% x)", frame[4:6])
	case flg&lz4DictID != 0:
		return h, corrupt(LZ4, "the frame needs a dictionary; Arrow has none")
	case bd>>4 < lz4Code64K:
		return h, corrupt(LZ4, "block size code %d, known are 4 to 7", bd>>4)
	}
	h.block = lz4BlockSize(int(bd >> 4))
	h.linked = flg&lz4Independent == 0
	h.blockChecksum = flg&lz4BlockChecksum != 0
	h.contentChecksum = flg&lz4ContentChecksum != 0
	if flg&lz4ContentSize != 0 {
		h.size += 8
	}
	if len(frame) <= h.size {
		return h, corrupt(LZ4, "the frame ends within its header, at byte %d", len(frame))
	}
	if got, sum := frame[h.size], lz4HeaderChecksum(frame[4:h.size]); got != sum {
		return h, corrupt(LZ4, "header checksum is %#02x, computed %#02x", got, sum)
	}
	if flg&lz4ContentSize != 0 {
		if n := binary.LittleEndian.Uint64(frame[6:]); n != uint64(want) {
			return h, corrupt(LZ4, "the frame's header says %d bytes, declared are %d", n, want)
		}
	}
	h.size++
	return h, nil
}

// decodeLZ4Frame decodes one frame, which must fill dst exactly, straight into dst.
func decodeLZ4Frame(dst, frame []byte) error {
	h, err := readLZ4Header(frame, len(dst))
	if err != nil {
		return err
	}
	pos, done := h.size, 0
	for {
		if len(frame)-pos < 4 {
			return corrupt(LZ4, "the frame ends without an end mark, at byte %d", pos)
		}
		word := lz4Word(frame[pos:])
		if word == 0 {
			pos += 4
			break
		}
		n, used, err := h.decodeBlock(dst, done, frame[pos:], word)
		if err != nil {
			return corrupt(LZ4, "block at byte %d: %w", pos, err)
		}
		done += n
		pos += used
	}
	if done != len(dst) {
		return corrupt(LZ4, "the frame holds %d bytes, declared are %d", done, len(dst))
	}
	if h.contentChecksum {
		if len(frame)-pos < 4 {
			return corrupt(LZ4, "the frame ends within its checksum, at byte %d", pos)
		}
		if got, sum := lz4Word(frame[pos:]), xxh32(dst); got != sum {
			return corrupt(LZ4, "content checksum is %#08x, computed %#08x", got, sum)
		}
		pos += 4
	}
	if pos != len(frame) {
		return extra(LZ4, trailing(frame[pos:]), pos)
	}
	return nil
}

// decodeBlock decodes the block whose size word starts b to dst[done:]. It returns how many bytes it gave and how many
// of b it took.
func (h lz4Header) decodeBlock(dst []byte, done int, b []byte, word uint32) (n, used int, err error) {
	size := int(word &^ lz4RawBlock)
	used = 4 + size
	if size > h.block {
		return 0, 0, fmt.Errorf("%d bytes, but the frame's blocks have at most %d", size, h.block)
	}
	if h.blockChecksum {
		used += 4
	}
	if len(b) < used {
		return 0, 0, fmt.Errorf("it needs %d bytes, %d are left", used, len(b))
	}
	data := b[4 : 4+size]
	if h.blockChecksum {
		if got, sum := lz4Word(b[4+size:]), xxh32(data); got != sum {
			return 0, 0, fmt.Errorf("checksum is %#08x, computed %#08x", got, sum)
		}
	}
	room := dst[done:]
	if len(room) > h.block {
		room = room[:h.block]
	}
	if word&lz4RawBlock != 0 {
		if size > len(room) {
			return 0, 0, fmt.Errorf("%d raw bytes, but only %d of those declared are left", size, len(room))
		}
		return copy(room, data), used, nil
	}
	var before []byte
	if h.linked {
		before = dst[max(0, done-lz4Window):done]
	}
	if n, err = lz4.UncompressBlockWithDict(data, room, before); err != nil {
		return 0, 0, fmt.Errorf("damaged, or more than the %d bytes that are left for it", len(room))
	}
	return n, used, nil
}
