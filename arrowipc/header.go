package arrowipc

import flatbuffers "github.com/google/flatbuffers/go"

// HeaderBuilder writes the headers of batches. It uses its memory again: in the steady state, building a header without
// custom metadata allocates nothing. The zero value is ready. It belongs to one goroutine.
//
// The headers are of metadata version V5. Their length is a multiple of eight and every value is aligned in relation to
// their start, as the strict verifier of Arrow C++ demands.
type HeaderBuilder struct {
	b     *flatbuffers.Builder
	pairs []flatbuffers.UOffsetT
}

// RecordBatch builds the header of a record batch message with a body of so many bytes and with meta, which may be nil,
// as its custom metadata. It writes what b says and does not check it. The result is valid until the next call.
func (h *HeaderBuilder) RecordBatch(b *RecordBatch, bodyLength int64, meta []KeyValue) []byte {
	h.reset()
	pairs := h.keyValues(meta)
	return h.message(HeaderRecordBatch, h.batch(b), bodyLength, pairs)
}

// DictionaryBatch builds the header of a dictionary batch message for the dictionary id, which b replaces or, with
// delta, extends. It writes what b says and does not check it. The result is valid until the next call.
func (h *HeaderBuilder) DictionaryBatch(id int64, delta bool, b *RecordBatch, bodyLength int64) []byte {
	h.reset()
	data := h.batch(b)
	h.b.StartObject(3)
	h.b.PrependInt64(id)
	h.b.Slot(dictionaryID)
	h.b.PrependUOffsetTSlot(dictionaryData, data, 0)
	h.b.PrependBoolSlot(dictionaryDelta, delta, false)
	return h.message(HeaderDictionaryBatch, h.b.EndObject(), bodyLength, 0)
}

func (h *HeaderBuilder) reset() {
	if h.b == nil {
		h.b = flatbuffers.NewBuilder(1024)
	}
	h.b.Reset()
}

// message builds the Message table around a header and ends the buffer. The body length is always written: it makes the
// buffer's alignment eight.
func (h *HeaderBuilder) message(t HeaderType, header flatbuffers.UOffsetT, bodyLength int64, pairs flatbuffers.UOffsetT) []byte {
	h.b.StartObject(5)
	h.b.PrependInt64(bodyLength)
	h.b.Slot(messageBodyLength)
	h.b.PrependUOffsetTSlot(messageHeader, header, 0)
	h.b.PrependUOffsetTSlot(messageMetadata, pairs, 0)
	h.b.PrependInt16Slot(messageVersion, versionV5, 0)
	h.b.PrependByteSlot(messageHeaderType, byte(t), 0)
	h.b.Finish(h.b.EndObject())
	return h.b.FinishedBytes()
}

// batch builds a RecordBatch table. Flatbuffers are written back to front.
func (h *HeaderBuilder) batch(b *RecordBatch) flatbuffers.UOffsetT {
	var variadic, compression flatbuffers.UOffsetT
	if n := len(b.Variadic); n > 0 {
		h.b.StartVector(8, n, 8)
		for i := n - 1; i >= 0; i-- {
			h.b.PlaceInt64(b.Variadic[i])
		}
		variadic = h.b.EndVector(n)
	}
	h.b.StartVector(16, len(b.Buffers), 8)
	for i := len(b.Buffers) - 1; i >= 0; i-- {
		h.b.PlaceInt64(b.Buffers[i].Length)
		h.b.PlaceInt64(b.Buffers[i].Offset)
	}
	buffers := h.b.EndVector(len(b.Buffers))
	h.b.StartVector(16, len(b.Nodes), 8)
	for i := len(b.Nodes) - 1; i >= 0; i-- {
		h.b.PlaceInt64(b.Nodes[i].Nulls)
		h.b.PlaceInt64(b.Nodes[i].Length)
	}
	nodes := h.b.EndVector(len(b.Nodes))
	if b.Compression != Uncompressed {
		h.b.StartObject(2)
		h.b.PrependInt8Slot(0, int8(b.Compression), int8(LZ4Frame))
		compression = h.b.EndObject()
	}
	h.b.StartObject(5)
	h.b.PrependInt64(b.Rows)
	h.b.Slot(batchLength)
	h.b.PrependUOffsetTSlot(batchNodes, nodes, 0)
	h.b.PrependUOffsetTSlot(batchBuffers, buffers, 0)
	h.b.PrependUOffsetTSlot(batchCompression, compression, 0)
	h.b.PrependUOffsetTSlot(batchVariadic, variadic, 0)
	return h.b.EndObject()
}

// keyValues builds a vector of KeyValue tables; 0 if there are none.
func (h *HeaderBuilder) keyValues(meta []KeyValue) flatbuffers.UOffsetT {
	if len(meta) == 0 {
		return 0
	}
	h.pairs = h.pairs[:0]
	for _, kv := range meta {
		key, value := h.b.CreateString(kv.Key), h.b.CreateString(kv.Value)
		h.b.StartObject(2)
		h.b.PrependUOffsetT(key)
		h.b.Slot(0)
		h.b.PrependUOffsetT(value)
		h.b.Slot(1)
		h.pairs = append(h.pairs, h.b.EndObject())
	}
	return h.b.CreateVectorOfTables(h.pairs)
}
