package flight

import (
	"fmt"
	"io"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that all other messages use
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
)

// Field numbers of FlightData in Flight.proto. All four are length-delimited.
const (
	fieldDescriptor  = 1
	fieldHeader      = 2
	fieldAppMetadata = 3
	fieldBody        = 1000
)

// Bounds of the small fields of FlightData, checked before they are copied.
const (
	maxDescriptorBytes = 1 << 20
	maxHeaderBytes     = 64 << 20
)

// largeHeader is the most bytes of a header that are kept outside of the store's memory.
const largeHeader = 64 << 10

// Codec is gRPC's protobuf codec, except that it knows [incoming] and [outgoing]: FlightData read with one copy and
// written with none. It keeps the name "proto", by which clients ask for it.
type Codec struct{ encoding.CodecV2 }

// NewCodec wraps the registered protobuf codec; give it to grpc.ForceServerCodecV2.
func NewCodec() Codec { return Codec{encoding.GetCodecV2("proto")} }

// Marshal hands an outgoing message's pieces to the transport as they are.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*outgoing); ok {
		return m.pieces, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal reads FlightData into an incoming message. What is wrong with it is kept in the message: an error from
// here would reach the client as Internal.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *incoming:
		m.err = m.read(data)
		return nil
	case *discarded:
		m.bytes = data.Len()
		return nil
	case *transported:
		data.Ref()
		m.data = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// discarded is a message whose contents nobody wants: it is counted, not copied.
type discarded struct{ bytes int }

// incoming is one FlightData as received. It is reused from message to message: header and descriptor are valid until
// the next RecvMsg, the body belongs to whoever takes it.
type incoming struct {
	alloc func(header []byte, n int) (arena.Block, error) // where a body goes; n > 0

	descriptor []byte // nil if the message has none
	header     []byte
	large      arena.Block // that the header lies in, if it is a large one
	small      []byte      // used again for headers that are not
	body       arena.Block
	hasBody    bool
	size       int // bytes on the wire, gRPC's framing apart
	err        error
}

// takeBody hands the body to the caller, who frees it; it is the zero Block when the message has none.
func (m *incoming) takeBody() arena.Block {
	b := m.body
	m.body, m.hasBody = arena.Block{}, false
	return b
}

// drop frees a body that nobody took.
func (m *incoming) drop() {
	if m.hasBody {
		b := m.takeBody()
		b.Free()
	}
}

// end frees all that is left of the message.
func (m *incoming) end() {
	m.drop()
	batchstore.Free(&m.large)
	m.header = nil
}

func (m *incoming) read(data mem.BufferSlice) error {
	m.end()
	m.descriptor, m.size = nil, data.Len()
	r := data.Reader()
	defer r.Close()
	for r.Remaining() > 0 {
		tag, err := readVarint(r)
		if err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		if typ != protowire.BytesType {
			if err := skipScalar(r, typ); err != nil {
				return err
			}
			continue
		}
		n, err := readVarint(r)
		if err != nil {
			return err
		}
		if n > uint64(r.Remaining()) {
			return fmt.Errorf("%w: field %d says %d bytes, %d are left", errFlightData, num, n, r.Remaining())
		}
		if err := m.field(r, num, int(n)); err != nil {
			return err
		}
	}
	return nil
}

// field reads one length-delimited field; n bytes are known to be there. As protobuf has it, the last of a repeated
// field counts.
func (m *incoming) field(r *mem.Reader, num protowire.Number, n int) error {
	switch num {
	case fieldDescriptor:
		if n > maxDescriptorBytes {
			return fmt.Errorf("%w: descriptor of %d bytes, at most %d are taken", errFlightData, n, maxDescriptorBytes)
		}
		m.descriptor = make([]byte, n) // non-nil even when empty: present
		return readFull(r, m.descriptor)
	case fieldHeader:
		if n > maxHeaderBytes {
			return fmt.Errorf("%w: message header of %d bytes, at most %d are taken", errFlightData, n, maxHeaderBytes)
		}
		batchstore.Free(&m.large)
		if n > largeHeader { // most are schemas with much metadata: they count as bodies do
			b, err := m.alloc(nil, n)
			if err != nil {
				return err
			}
			m.header, m.large = b.B, b
			return readFull(r, m.header)
		}
		if cap(m.small) < n {
			m.small = make([]byte, n)
		}
		m.header = m.small[:n]
		return readFull(r, m.header)
	case fieldBody:
		m.drop()
		if n == 0 {
			return nil
		}
		b, err := m.alloc(m.header, n)
		if err != nil {
			return err
		}
		m.body, m.hasBody = b, true
		return readFull(r, b.B)
	default: // app_metadata of a put is not kept; unknown fields are not ours
		_, err := r.Discard(n)
		return wireError(err)
	}
}

func skipScalar(r *mem.Reader, typ protowire.Type) error {
	switch typ {
	case protowire.VarintType:
		_, err := readVarint(r)
		return err
	case protowire.Fixed32Type:
		return discard(r, 4)
	case protowire.Fixed64Type:
		return discard(r, 8)
	}
	return fmt.Errorf("%w: wire type %d", errFlightData, typ)
}

func discard(r *mem.Reader, n int) error {
	if r.Remaining() < n {
		return fmt.Errorf("%w: it ends inside a field", errFlightData)
	}
	_, err := r.Discard(n)
	return wireError(err)
}

func readFull(r *mem.Reader, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := io.ReadFull(r, p)
	return wireError(err)
}

func wireError(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errFlightData, err)
	}
	return nil
}

func readVarint(r *mem.Reader) (uint64, error) {
	var x uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, fmt.Errorf("%w: it ends inside a number", errFlightData)
		}
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%w: a number of more than ten bytes", errFlightData)
}
