package arrowipc

import "encoding/binary"

// Ordinals of MetadataVersion.
const (
	versionV4 = 3
	versionV5 = 4
)

// experimentalCompression is the key of the custom metadata by which Arrow 0.17 said that the buffers of a batch are
// compressed. Read without it, they would be taken for plain.
const experimentalCompression = "ARROW:experimental_compression"

// The values of BodyCompressionMethod.
const methodBuffer = 0

// ReadMessage verifies and reads the header of an IPC message: the flatbuffer alone, without the continuation marker
// and the length that come before it in a stream, and with any padding after it.
//
// It accepts schemas, record batches and dictionary batches of metadata version V5 and V4. (V4 differs in that its
// unions have a validity buffer: see [Layout.Upgrade].) The content of a schema message is checked no further than its
// structure, for which see [ParseSchema]. Of a batch, it holds afterwards that
//
//   - rows and body length are not negative, and every buffer lies inside the body,
//   - each node's null count is between 0 and its length,
//   - the variadic counts are not negative and add up to no more than the number of buffers,
//   - a compression is by buffer, with one of the codecs of [Compression], and not the one that Arrow 0.17 wrote before
//     the format had any, which only custom metadata tells.
//
// That the nodes and buffers are those of a schema is for the caller to check, who knows the schema.
//
// The message refers to no memory of hdr. Errors are [ErrMalformed], [ErrLimit] or [ErrUnsupported].
func ReadMessage(hdr []byte, lim Limits) (*Message, error) {
	m := &Message{}
	if err := m.Read(hdr, lim); err != nil {
		return nil, err
	}
	return m, nil
}

// Read is [ReadMessage] into m, whose slices and RecordBatch it uses again: what m said before is overwritten. A batch
// without custom metadata then allocates nothing in the steady state. After an error, m holds nothing of use but its
// memory.
func (m *Message) Read(hdr []byte, lim Limits) error {
	root, err := verify(hdr, lim)
	if err != nil {
		return err
	}
	if err := m.readEnvelope(root); err != nil {
		return err
	}
	header, ok := root.table(messageHeader)
	if !ok {
		return malformed("it has no header")
	}
	data := header
	m.Dictionary, m.Delta = 0, false
	switch m.Type {
	case HeaderSchema:
		m.Batch = nil
		return nil
	case HeaderDictionaryBatch:
		m.Dictionary, m.Delta = header.int64(dictionaryID), header.bool(dictionaryDelta)
		if data, ok = header.table(dictionaryData); !ok {
			return malformed("dictionary batch %d has no data", m.Dictionary)
		}
	}
	for _, kv := range m.Metadata {
		if kv.Key == experimentalCompression {
			return unsupported("a batch with compression %.20q in its metadata %q, as Arrow 0.17 wrote it; write it with a later version",
				kv.Value, experimentalCompression)
		}
	}
	if m.Batch == nil {
		m.Batch = &RecordBatch{}
	}
	return m.Batch.read(data, m.BodyLength)
}

// readEnvelope reads what a message says about its header.
func (m *Message) readEnvelope(root view) error {
	m.Version = root.int16(messageVersion, 0)
	if m.Version != versionV4 && m.Version != versionV5 {
		return unsupported("metadata version V%d, where V5 (or V4) is needed", int(m.Version)+1)
	}
	m.Type = HeaderType(root.byte(messageHeaderType, 0))
	switch m.Type {
	case HeaderSchema, HeaderDictionaryBatch, HeaderRecordBatch:
	case HeaderNone:
		return malformed("it has no header")
	case HeaderTensor, HeaderSparseTensor:
		return unsupported("a tensor, where a schema or a batch is needed")
	default:
		return unsupported("header type %d, where a schema or a batch is needed", m.Type)
	}
	if m.BodyLength = root.int64(messageBodyLength); m.BodyLength < 0 {
		return malformed("body length %d", m.BodyLength)
	}
	m.Metadata = root.keyValues(m.Metadata[:0], messageMetadata)
	return nil
}

// read reads and checks a RecordBatch table whose message has a body of so many bytes.
func (b *RecordBatch) read(data view, body int64) error {
	if b.Rows = data.int64(batchLength); b.Rows < 0 {
		return malformed("record batch: %d rows", b.Rows)
	}
	buf := data.t.Bytes
	start, n := data.vector(batchNodes)
	b.Nodes = b.Nodes[:0]
	for i := range n {
		length, nulls := pair(buf[start+16*i:])
		if length < 0 || nulls < 0 || nulls > length {
			return malformed("record batch: field node %d has length %d and null count %d", i, length, nulls)
		}
		b.Nodes = append(b.Nodes, FieldNode{Length: length, Nulls: nulls})
	}
	start, n = data.vector(batchBuffers)
	b.Buffers = b.Buffers[:0]
	for i := range n {
		offset, length := pair(buf[start+16*i:])
		if offset < 0 || length < 0 || offset > body || length > body-offset {
			return malformed("record batch: buffer %d has offset %d and length %d, in a body of %d bytes",
				i, offset, length, body)
		}
		b.Buffers = append(b.Buffers, Buffer{Offset: offset, Length: length})
	}
	if err := b.readVariadic(data); err != nil {
		return err
	}
	return b.readCompression(data)
}

func (b *RecordBatch) readVariadic(data view) error {
	start, n := data.vector(batchVariadic)
	b.Variadic = b.Variadic[:0]
	left := int64(len(b.Buffers))
	for i := range n {
		count := int64(binary.LittleEndian.Uint64(data.t.Bytes[start+8*i:]))
		if count < 0 || count > left {
			return malformed("record batch: variadic count %d is %d, with %d of %d buffers left for it",
				i, count, left, len(b.Buffers))
		}
		left -= count
		b.Variadic = append(b.Variadic, count)
	}
	return nil
}

func (b *RecordBatch) readCompression(data view) error {
	b.Compression = Uncompressed
	compression, ok := data.table(batchCompression)
	if !ok {
		return nil
	}
	if method := compression.byte(1, methodBuffer); method != methodBuffer {
		return unsupported("record batch: compression method %d; only buffers one by one are supported", int8(method))
	}
	b.Compression = Compression(compression.byte(0, byte(LZ4Frame)))
	if b.Compression != LZ4Frame && b.Compression != Zstd {
		return unsupported("record batch: compression codec %d; lz4 and zstd are supported", b.Compression)
	}
	return nil
}

// pair is the two int64 of a FieldNode or Buffer.
func pair(b []byte) (int64, int64) {
	_ = b[15]
	return int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
}
