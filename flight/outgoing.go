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

// schemaMessage is the first message of a stream: the schema's IPC header, no body. Of a large one the bytes are those of the
// owner, which the lease holds until the transport has let go of them.
func schemaMessage(l *lease, header []byte, owner batchstore.Owner) *outgoing {
	if len(header) <= largeHeader {
		b := make([]byte, 0, len(header)+24)
		b = appendHeader(b, header, 0)
		return &outgoing{pieces: mem.BufferSlice{mem.SliceBuffer(b)}, size: len(b)}
	}
	padded := paddedHeader(len(header), 0)
	prefix := appendHeaderTag(nil, padded)
	pieces := l.hold(mem.BufferSlice{mem.SliceBuffer(prefix)}, &batchstore.Message{Body: [][]byte{header}, Owner: owner})
	if padded > len(header) {
		pieces = append(pieces, mem.SliceBuffer(make([]byte, padded-len(header))))
	}
	return &outgoing{pieces: pieces, size: len(prefix) + padded}
}

// batchMessage is a record batch: a new header, and the store's own memory as the body. The lease holds that memory
// until the transport has let go of it. The body field is written even when it is empty: Arrow C++ expects one behind
// the header of every record batch. A large header is copied to memory that lend gives.
func batchMessage(l *lease, out *batchstore.Message, appMetadata []byte, lend func(n int) ([]byte, batchstore.Owner, error)) (*outgoing, error) {
	rest := protowire.SizeTag(fieldBody) + protowire.SizeVarint(uint64(out.BodyLength))
	if len(appMetadata) > 0 {
		rest += protowire.SizeTag(fieldAppMetadata) + protowire.SizeBytes(len(appMetadata))
	}
	var prefix []byte
	var owner batchstore.Owner
	if n := len(out.Header) + rest + 24; n > largeHeader {
		var err error
		if prefix, owner, err = lend(n); err != nil {
			return nil, err
		}
		defer owner.Release()
		prefix = prefix[:0]
	} else {
		prefix = make([]byte, 0, n)
	}
	prefix = appendHeader(prefix, out.Header, rest)
	if len(appMetadata) > 0 {
		prefix = protowire.AppendTag(prefix, fieldAppMetadata, protowire.BytesType)
		prefix = protowire.AppendBytes(prefix, appMetadata)
	}
	prefix = protowire.AppendTag(prefix, fieldBody, protowire.BytesType)
	prefix = protowire.AppendVarint(prefix, uint64(out.BodyLength))

	m := &outgoing{size: len(prefix) + int(out.BodyLength)}
	m.pieces = make(mem.BufferSlice, 0, 1+len(out.Body))
	if owner != nil {
		m.pieces = l.hold(m.pieces, &batchstore.Message{Body: [][]byte{prefix}, Owner: owner})
	} else {
		m.pieces = append(m.pieces, mem.SliceBuffer(prefix))
	}
	m.pieces = l.hold(m.pieces, out)
	return m, nil
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
	padded := paddedHeader(len(header), rest)
	b = appendHeaderTag(b, padded)
	b = append(b, header...)
	return append(b, make([]byte, padded-len(header))...)
}

// paddedHeader is the length of a header of n bytes with the zeros behind it.
func paddedHeader(n, rest int) int {
	for (framing+protowire.SizeTag(fieldHeader)+protowire.SizeBytes(n)+rest)%alignment != 0 {
		n++
	}
	return n
}

// appendHeaderTag appends what comes before a header of so many bytes.
func appendHeaderTag(b []byte, padded int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, fieldHeader, protowire.BytesType), uint64(padded))
}
