package compress

import (
	"encoding/binary"
	"errors"

	"github.com/pierrec/lz4/v4"
)

const (
	// lz4MaxCode is the biggest block size that is written.
	lz4MaxCode = lz4Code256K
	// lz4Footprint is what an encoder weighs: its hash table.
	lz4Footprint = 256 << 10
)

// appendLZ4Frame appends one frame of independent blocks and without checksums to dst. It stops early, with a result
// longer than limit, once it is clear that the result would be: such a result is no frame and must be thrown away.
//
// The frame is put together here from single blocks because the library's Writer copies every block once more, keeps
// block buffers, and cannot stop early.
func appendLZ4Frame(dst, src []byte, c *lz4.Compressor, limit int) ([]byte, error) {
	// The smallest block size that holds the buffer: readers make their block memory by it.
	code := lz4Code64K
	for code < lz4MaxCode && lz4BlockSize(code) < len(src) {
		code++
	}
	dst = append(dst, lz4Magic[:]...)
	descriptor := [2]byte{lz4Version | lz4Independent, byte(code << 4)}
	dst = append(dst, descriptor[0], descriptor[1], lz4HeaderChecksum(descriptor[:]))
	for len(src) > 0 && len(dst) <= limit {
		block := src[:min(len(src), lz4BlockSize(code))]
		src = src[len(block):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		// One byte less than the block: what would not shrink does not fit, and is stored raw.
		room := dst[len(dst) : len(dst)+len(block)-1]
		n, err := c.CompressBlock(block, room)
		if err != nil && !errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
			return dst, err
		}
		if err != nil || n == 0 {
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(block))|lz4RawBlock)
			dst = append(dst, block...)
			continue
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(n))
		dst = dst[:len(dst)+n]
	}
	return append(dst, 0, 0, 0, 0), nil
}
