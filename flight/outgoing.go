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
	b := make([]byte, 0, len(header)+24)
	b = appendHeader(b, header, 0)
	return &outgoing{pieces: mem.BufferSlice{mem.SliceBuffer(b)}, size: len(b)}
}

// batchMessage is a record batch: a new header, and the store's own memory as the body. The lease holds that memory
// until the transport has let go of it. The body field is written even when it is empty: Arrow C++ expects one behind
// the header of every record batch.
func batchMessage(l *lease, out *batchstore.Message, appMetadata []byte) *outgoing {
	rest := protowire.SizeTag(fieldBody) + protowire.SizeVarint(uint64(out.BodyLength))
	if len(appMetadata) > 0 {
		rest += protowire.SizeTag(fieldAppMetadata) + protowire.SizeBytes(len(appMetadata))
	}
	prefix := make([]byte, 0, len(out.Header)+rest+24)
	prefix = appendHeader(prefix, out.Header, rest)
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

// framing is what gRPC puts before a message: a flag and a length.
const framing = 5

// alignment is that of the buffers within a body.
const alignment = 8

// appendHeader appends the field of the IPC header, with zeros behind the header so that, gRPC's framing and the rest of
// the prefix counted, the body begins at a multiple of the alignment. Bodies are multiples of it long (but for those of
// producers that do not pad, kept as they came), so that the next message is aligned too: a client that reads messages
// out of one buffer, as tonic does, finds all bodies aligned. Arrow's Rust library copies those that are not, and cannot
// read dictionaries of dense unions from them.
func appendHeader(b, header []byte, rest int) []byte {
	padded := len(header)
	for (framing+protowire.SizeTag(fieldHeader)+protowire.SizeBytes(padded)+rest)%alignment != 0 {
		padded++
	}
	b = protowire.AppendTag(b, fieldHeader, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(padded))
	b = append(b, header...)
	return append(b, make([]byte, padded-len(header))...)
}
