package compress

import "encoding/binary"

// The LZ4 frame format, as its specification (lz4_Frame_format.md, version 1.6.x) has it: magic number, FLG and BD
// byte, optional content size and dictionary id, header checksum; blocks, each behind a 4-byte size; an end mark; an
// optional checksum of the contents.

var lz4Magic = [4]byte{0x04, 0x22, 0x4d, 0x18}

const (
	// Bits of the FLG byte. Bits 7 and 6 are the version, which is 01.
	lz4Version         = 1 << 6
	lz4VersionMask     = 3 << 6
	lz4Independent     = 1 << 5
	lz4BlockChecksum   = 1 << 4
	lz4ContentSize     = 1 << 3
	lz4ContentChecksum = 1 << 2
	lz4FlagReserved    = 1 << 1
	lz4DictID          = 1 << 0

	// lz4BDReserved are the bits of the BD byte beside the block size code in bits 6 to 4.
	lz4BDReserved = 0x8f

	// lz4RawBlock in a block's size says that the block is stored as it is.
	lz4RawBlock = 1 << 31

	// lz4Window is how far back a match may reach, also into the blocks before where blocks are linked.
	lz4Window = 64 << 10
)

// lz4Code64K is the lowest block size code of the BD byte; the highest is 7.
const lz4Code64K = 4

// lz4BlockSize returns the block size in bytes of a code from 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
func lz4BlockSize(code int) int { return 1 << (8 + 2*code) }

// lz4HeaderChecksum returns the byte that follows a descriptor (FLG up to and without the checksum).
func lz4HeaderChecksum(descriptor []byte) byte { return byte(xxh32(descriptor) >> 8) }

// lz4Word reads a little-endian uint32.
func lz4Word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
