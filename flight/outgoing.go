package flight

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/batchstore"
)

// outgoing is one FlightData to send: the protobuf fields up to the body's length, then the body's pieces, in the
// order of the wire.
type outgoing struct {
	pieces mem.BufferSlice
	size   int // bytes on the wire, gRPC's framing apart
}

// schemaMessage is the first message of a stream: the schema's IPC header, no body.
func schemaMessage(header []byte) *outgoing {
	b := make([]byte, 0, len(header)+16)
	b = protowire.AppendTag(b, fieldHeader, protowire.BytesType)
	b = protowire.AppendBytes(b, header)
	return &outgoing{pieces: mem.BufferSlice{mem.SliceBuffer(b)}, size: len(b)}
}

// batchMessage is a record batch: a new header, and the store's own memory as the body. The lease holds that memory
// until the transport has let go of it. The body field is written even when it is empty: Arrow C++ expects one behind
// the header of every record batch.
func batchMessage(l *lease, out *batchstore.Message, appMetadata []byte) *outgoing {
	prefix := make([]byte, 0, len(out.Header)+len(appMetadata)+32)
	prefix = protowire.AppendTag(prefix, fieldHeader, protowire.BytesType)
	prefix = protowire.AppendBytes(prefix, out.Header)
	if len(appMetadata) > 0 {
		prefix = protowire.AppendTag(prefix, fieldAppMetadata, protowire.BytesType)
		prefix = protowire.AppendBytes(prefix, appMetadata)
	}
	prefix = protowire.AppendTag(prefix, fieldBody, protowire.BytesType)
	prefix = protowire.AppendVarint(prefix, uint64(out.BodyLength))

	m := &outgoing{size: len(prefix) + int(out.BodyLength)}
	m.pieces = make(mem.BufferSlice, 0, 1+len(out.Body))
	m.pieces = append(m.pieces, mem.SliceBuffer(prefix))
	m.pieces = l.hold(m.pieces, out)
	return m
}
