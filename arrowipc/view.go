package arrowipc

import flatbuffers "github.com/google/flatbuffers/go"

// view reads one table of a header that has been verified, by slot number. A slot that is absent gives the default.
type view struct{ t flatbuffers.Table }

func newView(buf []byte, pos int) view {
	return view{flatbuffers.Table{Bytes: buf, Pos: flatbuffers.UOffsetT(pos)}}
}

// at is the position of the slot's value in the buffer, and whether it is there.
func (v view) at(slot int) (flatbuffers.UOffsetT, bool) {
	offset := v.t.Offset(flatbuffers.VOffsetT(4 + 2*slot))
	return v.t.Pos + flatbuffers.UOffsetT(offset), offset != 0
}

func (v view) byte(slot int, absent byte) byte {
	if at, ok := v.at(slot); ok {
		return v.t.GetByte(at)
	}
	return absent
}

func (v view) bool(slot int) bool { return v.byte(slot, 0) != 0 }

func (v view) int16(slot int, absent int16) int16 {
	if at, ok := v.at(slot); ok {
		return v.t.GetInt16(at)
	}
	return absent
}

func (v view) int32(slot int, absent int32) int32 {
	if at, ok := v.at(slot); ok {
		return v.t.GetInt32(at)
	}
	return absent
}

func (v view) int64(slot int) int64 {
	if at, ok := v.at(slot); ok {
		return v.t.GetInt64(at)
	}
	return 0
}

// bytes is the string in a slot, in the header's own memory; nil if it is absent.
func (v view) bytes(slot int) []byte {
	if at, ok := v.at(slot); ok {
		return v.t.ByteVector(at)
	}
	return nil
}

// table is the table in a slot, which may be one of a union.
func (v view) table(slot int) (view, bool) {
	at, ok := v.at(slot)
	if !ok {
		return view{}, false
	}
	return newView(v.t.Bytes, int(v.t.Indirect(at))), true
}

// vector is the vector in a slot: the position of its first element and its length, which is 0 if it is absent.
func (v view) vector(slot int) (start, n int) {
	at, ok := v.at(slot)
	if !ok {
		return 0, 0
	}
	pos := v.t.Indirect(at)
	return int(pos) + 4, int(v.t.GetUOffsetT(pos))
}

// element is the table that the offset at a position, an element of a vector of tables, points to.
func (v view) element(at int) view {
	return newView(v.t.Bytes, int(v.t.Indirect(flatbuffers.UOffsetT(at))))
}

// keyValues appends the custom metadata in a slot to dst.
func (v view) keyValues(dst []KeyValue, slot int) []KeyValue {
	start, n := v.vector(slot)
	for i := range n {
		kv := v.element(start + 4*i)
		dst = append(dst, KeyValue{Key: string(kv.bytes(0)), Value: string(kv.bytes(1))})
	}
	return dst
}

func uoffset(pos int) flatbuffers.UOffsetT { return flatbuffers.UOffsetT(pos) }
