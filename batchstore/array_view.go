package batchstore

import "encoding/binary"

// A binary view is 16 bytes: the length, then up to 12 bytes of the value itself, or its first four bytes, the data
// buffer that holds it and the offset there.
const (
	viewBytes   = 16
	inlineBytes = 12
)

// parseView reads a view. Buffer and offset mean something only if the length is over inlineBytes.
func parseView(v []byte) (size, buf, offset int64) {
	_ = v[15]
	return int64(int32(binary.LittleEndian.Uint32(v))),
		int64(int32(binary.LittleEndian.Uint32(v[8:]))),
		int64(int32(binary.LittleEndian.Uint32(v[12:])))
}

// moveView changes the place that a view points at.
func moveView(v []byte, buf, offset int64) {
	binary.LittleEndian.PutUint32(v[8:], uint32(buf))
	binary.LittleEndian.PutUint32(v[12:], uint32(offset))
}
