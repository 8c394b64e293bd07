package main

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// fieldBody is the number of the body in FlightData. Every server that is known writes it last.
const fieldBody = 1000

// dropped receives the sizes of a message in place of the message.
type dropped struct{ size, body int }

// dropCodec is gRPC's codec, except that it measures a dropped message and keeps nothing of it.
type dropCodec struct{ encoding.CodecV2 }

func (c dropCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(*dropped); ok {
		m.size = data.Len()
		return m.measure(data)
	}
	return c.CodecV2.Unmarshal(data, v)
}

// measure looks for the body. Its bytes are not touched.
func (m *dropped) measure(data mem.BufferSlice) error {
	r := data.Reader()
	defer r.Close()
	for r.Remaining() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		n, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType || n > uint64(r.Remaining()) {
			return fmt.Errorf("field %d of a FlightData is not what it should be", number)
		}
		if number == fieldBody {
			m.body = int(n)
			return nil
		}
		if _, err := r.Discard(int(n)); err != nil {
			return err
		}
	}
	return nil
}
