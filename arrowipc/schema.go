package arrowipc

import "encoding/binary"

// Schema is a verified schema message. It is immutable, and so is all that hangs on it: schemas that [Schema.Project]
// makes share fields with the one they come from.
type Schema struct {
	Fields   []*Field
	Metadata []KeyValue // of the schema; that of its message is kept too, but not shown
	Layout   *Layout

	encapsulated []byte // prefix, header, padding
	header       []byte // the header's part of encapsulated
	root         view   // its Message table
	lim          Limits // under which it was accepted; projections are held to them too
}

// prefixBytes are the continuation marker and the length before a header in a stream.
const prefixBytes = 8

// ParseSchema verifies and reads the header of a schema message: the flatbuffer alone, as FlightData.data_header has
// it. (For FlightInfo.schema, [EncapsulatedMessage] first.) It keeps a copy of hdr.
//
// Beyond what [ReadMessage] checks, the types' parameters must be legal, nested types must have the children that they
// need and no more, and the byte order must be little-endian. Names need not be unique; fields may share a dictionary id if
// their values have one type. An error about a field names it by the path of names to it.
//
// A schema of metadata version V4 that has unions or run-end encoded fields is kept as one of V5, all else copied: batches
// are written as V5, see [Layout.Upgrade], and readers go by the version when they look for buffers.
//
// Errors are [ErrMalformed], [ErrLimit] or [ErrUnsupported].
func ParseSchema(hdr []byte, lim Limits) (*Schema, error) {
	lim = lim.WithDefaults()
	if _, err := verify(hdr, lim); err != nil {
		return nil, err
	}
	s := &Schema{lim: lim}
	s.keep(hdr)
	var m Message
	if err := m.readEnvelope(s.root); err != nil {
		return nil, err
	}
	if m.Type != HeaderSchema {
		return nil, malformed("it is a batch, where a schema is needed")
	}
	table, ok := s.root.table(messageHeader)
	if !ok {
		return nil, malformed("it has no header")
	}
	if table.int16(schemaEndianness, 0) != 0 {
		return nil, unsupported("the schema says that its data are big-endian; send them as little-endian")
	}
	var p fieldParser
	var err error
	if s.Fields, err = p.fields(table, schemaFields); err != nil {
		return nil, err
	}
	if err := checkDictionaries(s.Fields); err != nil {
		return nil, err
	}
	s.Metadata = table.keyValues(nil, schemaMetadata)
	s.Layout = NewLayout(s.Fields)
	if m.Version == versionV4 && p.bitmaps {
		if err := s.upgrade(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// upgrade makes the message one of metadata version V5.
func (s *Schema) upgrade() error {
	c := s.newCopier()
	c.version = versionV5
	c.b.Finish(c.table(messageTable, s.root, replacement{}))
	if c.over() {
		return overLimit(s.lim.HeaderBytes, int(c.b.Offset()), "bytes or more in a schema made one of V5")
	}
	s.keep(c.b.FinishedBytes())
	return nil
}

// keep copies a verified header, framed for a stream.
func (s *Schema) keep(hdr []byte) {
	framed := (prefixBytes + len(hdr) + 7) &^ 7
	s.encapsulated = make([]byte, framed)
	binary.LittleEndian.PutUint32(s.encapsulated, 0xFFFFFFFF)
	binary.LittleEndian.PutUint32(s.encapsulated[4:], uint32(framed-prefixBytes))
	copy(s.encapsulated[prefixBytes:], hdr)
	s.header = s.encapsulated[prefixBytes : prefixBytes+len(hdr) : prefixBytes+len(hdr)]
	root := int(binary.LittleEndian.Uint32(s.header))
	s.root = newView(s.header, root)
}

// Message is the header as it came in, or as it was built. The bytes are the schema's own: do not modify them.
func (s *Schema) Message() []byte { return s.header }

// Limits are those under which the schema was accepted.
func (s *Schema) Limits() Limits { return s.lim }

// Encapsulated is the header as a stream has it, and FlightInfo.schema: a continuation marker, the length as int32, the
// header, and zeros up to a multiple of eight. The bytes are the schema's own: do not modify them.
func (s *Schema) Encapsulated() []byte { return s.encapsulated }

// EncapsulatedMessage gives the header within an encapsulated message, with the continuation marker or, as before
// format version 0.15, without. The result is a part of raw. What comes after the header, such as an end-of-stream
// marker, is ignored. Errors are [ErrMalformed] or [ErrLimit].
func EncapsulatedMessage(raw []byte, lim Limits) (hdr []byte, err error) {
	lim = lim.WithDefaults()
	rest := raw
	if len(rest) >= 4 && binary.LittleEndian.Uint32(rest) == 0xFFFFFFFF {
		rest = rest[4:]
	}
	if len(rest) < 4 {
		return nil, malformed("%d bytes are too short for an encapsulated message", len(raw))
	}
	n := int64(int32(binary.LittleEndian.Uint32(rest)))
	rest = rest[4:]
	switch {
	case n <= 0:
		return nil, malformed("an encapsulated message with a header of %d bytes", n)
	case n > int64(lim.HeaderBytes):
		return nil, overLimit(lim.HeaderBytes, int(n), "bytes of header")
	case n > int64(len(rest)):
		return nil, malformed("an encapsulated message with a header of %d bytes, of which %d are there", n, len(rest))
	}
	return rest[:n:n], nil
}
