package arrowipc

import (
	"encoding/binary"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Block is the place of one message in a file, as File.fbs says it.
type Block struct {
	Offset int64 // of the encapsulated message in the file
	Header int32 // bytes of its metadata: continuation marker, length, flatbuffer and padding; the body comes after them
	Body   int64 // bytes of its body, padding included
}

// blockBytes is the size of the struct Block of File.fbs: int64, int32, four bytes of padding, int64.
const blockBytes = 24

// End is the first byte of the file after the message. [ReadFooter] lets none through that an int64 cannot hold.
func (b Block) End() int64 { return b.Offset + int64(b.Header) + b.Body }

// Footer is what the footer of an Arrow IPC file says.
type Footer struct {
	Dictionaries []Block // dictionary batches, in the order in which they are to be read
	Batches      []Block // record batches
	Metadata     []KeyValue

	root   view
	values []int // positions of the values of Metadata in the footer
	lim    Limits
}

// ReadFooter verifies and reads the footer of an Arrow IPC file: the flatbuffer alone, without the length and the magic
// behind it. It keeps raw, which must not change.
//
// Footers of metadata version V5 and V4 are accepted; what that is for the batches their own headers say. Blocks are checked only so far: offset and lengths are not negative, and
// their sum does not overflow. Whether they lie in the file is for the caller to check, who knows the file.
//
// Errors are [ErrMalformed], [ErrLimit] or [ErrUnsupported].
func ReadFooter(raw []byte, lim Limits) (*Footer, error) {
	root, err := verifyAs(footerTable, raw, lim)
	if err != nil {
		return nil, err
	}
	if v := root.int16(footerVersion, 0); v != versionV5 && v != versionV4 {
		return nil, unsupported("a file of metadata version V%d, where V5 (or V4) is needed", int(v)+1)
	}
	f := &Footer{root: root, lim: lim.WithDefaults()}
	if f.Dictionaries, err = root.blocks(footerDictionaries, "dictionary"); err != nil {
		return nil, err
	}
	if f.Batches, err = root.blocks(footerBatches, "record batch"); err != nil {
		return nil, err
	}
	f.Metadata = root.keyValues(nil, footerMetadata)
	start, n := root.vector(footerMetadata)
	for i := range n {
		at, _ := root.element(start + 4*i).vector(1)
		f.values = append(f.values, at)
	}
	return f, nil
}

// blocks reads the vector of Blocks in a slot.
func (v view) blocks(slot int, what string) ([]Block, error) {
	start, n := v.vector(slot)
	if n == 0 {
		return nil, nil
	}
	blocks := make([]Block, n)
	for i := range blocks {
		raw := v.t.Bytes[start+i*blockBytes:]
		b := Block{
			Offset: int64(binary.LittleEndian.Uint64(raw)),
			Header: int32(binary.LittleEndian.Uint32(raw[8:])),
			Body:   int64(binary.LittleEndian.Uint64(raw[16:])),
		}
		if b.Offset < 0 || b.Header < 0 || b.Body < 0 || b.Body > math.MaxInt64-int64(b.Header)-b.Offset {
			return nil, malformed("footer: the block of %s %d has offset %d, %d bytes of metadata and a body of %d bytes",
				what, i, b.Offset, b.Header, b.Body)
		}
		blocks[i] = b
	}
	return blocks, nil
}

// ValueAt is where the value of Metadata[i] lies in the footer: len(Metadata[i].Value) bytes from there.
func (f *Footer) ValueAt(i int) int { return f.values[i] }

// Schema is the schema in the footer, in a message of V5 made for it: a footer has the Schema table only. Errors are those
// of [ParseSchema].
func (f *Footer) Schema() (*Schema, error) {
	table, ok := f.root.table(footerSchema)
	if !ok {
		return nil, malformed("the footer has no schema")
	}
	c := newCopier(f.lim)
	h := HeaderBuilder{b: c.b}
	message := h.message(HeaderSchema, c.table(schemaTable, table, replacement{}), 0, 0)
	if c.over() {
		return nil, overLimit(f.lim.HeaderBytes, int(c.b.Offset()), "bytes or more in the schema of a footer")
	}
	return ParseSchema(message, f.lim)
}

// BuildFooter writes the footer of a file whose schema is s, with meta as its custom metadata: the flatbuffer alone. Its
// length is a multiple of eight.
//
// The error is [ErrLimit], and only where the schema and meta together come near the size that flatbuffers can have.
func BuildFooter(s *Schema, dictionaries, batches []Block, meta []KeyValue) ([]byte, error) {
	c := newCopier(s.lim)
	for _, kv := range meta {
		c.most += len(kv.Key) + len(kv.Value) + keyValueCost
	}
	c.most += blockBytes * (len(dictionaries) + len(batches))
	if c.most > maxFooterBytes {
		return nil, overLimit(maxFooterBytes, c.most, "bytes of footer or more")
	}
	h := HeaderBuilder{b: c.b}
	table, _ := s.root.table(messageHeader)
	pairs := h.keyValues(meta)
	vectors := [2]flatbuffers.UOffsetT{blockVector(c.b, dictionaries), blockVector(c.b, batches)}
	schema := c.table(schemaTable, table, replacement{})
	c.b.StartObject(5)
	c.b.PrependUOffsetTSlot(footerSchema, schema, 0)
	c.b.PrependUOffsetTSlot(footerDictionaries, vectors[0], 0)
	c.b.PrependUOffsetTSlot(footerBatches, vectors[1], 0)
	c.b.PrependUOffsetTSlot(footerMetadata, pairs, 0)
	c.b.PrependInt16Slot(footerVersion, versionV5, 0)
	c.b.Finish(c.b.EndObject())
	if c.over() {
		return nil, overLimit(s.lim.HeaderBytes, int(c.b.Offset()), "bytes or more in a footer")
	}
	return c.b.FinishedBytes(), nil
}

// maxFooterBytes leaves the builder room: it ends at 1 GiB.
const maxFooterBytes = 1 << 29

func blockVector(b *flatbuffers.Builder, blocks []Block) flatbuffers.UOffsetT {
	b.StartVector(blockBytes, len(blocks), 8)
	for i := len(blocks) - 1; i >= 0; i-- {
		b.PlaceInt64(blocks[i].Body)
		b.PlaceInt32(0) // padding
		b.PlaceInt32(blocks[i].Header)
		b.PlaceInt64(blocks[i].Offset)
	}
	return b.EndVector(len(blocks))
}
