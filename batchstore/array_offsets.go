package batchstore

import (
	"encoding/binary"

	"github.com/flightcache/flightcache/arrowipc"
)

// offsetWidth is the bytes of one offset of a column with offsets, sizes or views into a child.
func offsetWidth(k arrowipc.Kind) int64 {
	switch k {
	case arrowipc.KindLargeBinary, arrowipc.KindLargeList, arrowipc.KindLargeListView:
		return 8
	}
	return 4
}

// intAt is the i-th signed integer of 2, 4 or 8 bytes. Buffers are not necessarily aligned in memory, so all
// integers are read as little-endian bytes, which compiles to one load.
func intAt(b []byte, width, i int64) int64 {
	switch width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b[i*2:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b[i*4:])))
	}
	return int64(binary.LittleEndian.Uint64(b[i*8:]))
}

// putInt writes the i-th integer of 2, 4 or 8 bytes.
func putInt(b []byte, width, i, v int64) {
	switch width {
	case 2:
		binary.LittleEndian.PutUint16(b[i*2:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b[i*4:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(b[i*8:], uint64(v))
	}
}

// offsetRange is where the items of rows [from, from+n) begin and end.
func offsetRange(offsets []byte, width, from, n int64) (lo, hi int64) {
	if n == 0 {
		return 0, 0 // an empty column may come without any offset
	}
	return intAt(offsets, width, from), intAt(offsets, width, from+n)
}

// ascending reports whether all integers are at least zero and none is below the one before it.
//
// It is on the path of every put, so it collects sign bits instead of branching: while no value is negative the
// difference of two cannot overflow, and one negative value settles the matter anyhow.
func ascending(b []byte, width int64) bool {
	if len(b) == 0 {
		return true
	}
	if width == 4 {
		prev := int32(binary.LittleEndian.Uint32(b))
		acc := prev
		for ; len(b) >= 16; b = b[16:] {
			v0 := int32(binary.LittleEndian.Uint32(b))
			v1 := int32(binary.LittleEndian.Uint32(b[4:]))
			v2 := int32(binary.LittleEndian.Uint32(b[8:]))
			v3 := int32(binary.LittleEndian.Uint32(b[12:]))
			acc |= v0 | v1 | v2 | v3 | (v0 - prev) | (v1 - v0) | (v2 - v1) | (v3 - v2)
			prev = v3
		}
		for ; len(b) >= 4; b = b[4:] {
			v := int32(binary.LittleEndian.Uint32(b))
			acc |= v | (v - prev)
			prev = v
		}
		return acc >= 0
	}
	prev := int64(binary.LittleEndian.Uint64(b))
	acc := prev
	for ; len(b) >= 8; b = b[8:] {
		v := int64(binary.LittleEndian.Uint64(b))
		acc |= v | (v - prev)
		prev = v
	}
	return acc >= 0
}

// rebase appends the offsets of rows [from, from+n), without the first, to dst at row at, moved by delta.
func rebase(dst []byte, at int64, src []byte, width, from, n, delta int64) {
	dst = dst[(at+1)*width : (at+1+n)*width]
	src = src[(from+1)*width : (from+1+n)*width]
	switch {
	case delta == 0:
		copy(dst, src)
	case width == 4:
		d := uint32(delta)
		for ; len(src) >= 8 && len(dst) >= 8; src, dst = src[8:], dst[8:] {
			v := binary.LittleEndian.Uint64(src)
			binary.LittleEndian.PutUint64(dst, uint64(uint32(v>>32)+d)<<32|uint64(uint32(v)+d))
		}
		if len(src) >= 4 {
			binary.LittleEndian.PutUint32(dst, binary.LittleEndian.Uint32(src)+d)
		}
	default:
		for ; len(src) >= 8 && len(dst) >= 8; src, dst = src[8:], dst[8:] {
			binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)+uint64(delta))
		}
	}
}
