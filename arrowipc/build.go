package arrowipc

import (
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
)

// BuildSchema makes a schema from fields, with meta, which may be nil, as its custom metadata. The fields are read and
// not kept; they are held to the rules of [ParseSchema], under the default limits, and its errors say what is wrong.
//
// To change a schema that was parsed, project it instead: what its message says beyond its fields would be lost here.
func BuildSchema(fields []*Field, meta []KeyValue) (*Schema, error) {
	if err := checkSize(fields, 1, new(int)); err != nil {
		return nil, err
	}
	s := schemaBuilder{HeaderBuilder{b: flatbuffers.NewBuilder(1024)}}
	vector := s.fields(fields)
	pairs := s.keyValues(meta)
	s.b.StartObject(4)
	s.b.PrependUOffsetTSlot(schemaFields, vector, 0)
	s.b.PrependUOffsetTSlot(schemaMetadata, pairs, 0)
	s.b.PrependInt16(0) // little-endian
	s.b.Slot(schemaEndianness)
	return ParseSchema(s.message(HeaderSchema, s.b.EndObject(), 0, 0), Limits{})
}

// checkSize refuses a tree of fields that is larger than the default limits before it is built.
func checkSize(fields []*Field, depth int, seen *int) error {
	if *seen += len(fields); *seen > DefaultFields {
		return overLimit(DefaultFields, *seen, "fields or more")
	}
	if len(fields) > 0 && depth > DefaultDepth {
		return overLimit(DefaultDepth, depth, "levels of nested fields or more")
	}
	for _, f := range fields {
		if err := checkSize(f.Children, depth+1, seen); err != nil {
			return err
		}
	}
	return nil
}

// schemaBuilder writes the tables of Schema.fbs.
type schemaBuilder struct{ HeaderBuilder }

func (s *schemaBuilder) fields(fields []*Field) flatbuffers.UOffsetT {
	offsets := make([]flatbuffers.UOffsetT, 0, len(fields))
	for _, f := range fields {
		offsets = append(offsets, s.field(f))
	}
	return s.b.CreateVectorOfTables(offsets)
}

func (s *schemaBuilder) field(f *Field) flatbuffers.UOffsetT {
	name := s.b.CreateString(f.Name)
	children := s.fields(f.Children)
	pairs := s.keyValues(f.Metadata)
	parameters := s.parameters(f.Type)
	dictionary := s.dictionary(f.Dictionary)
	s.b.StartObject(7)
	s.b.PrependUOffsetTSlot(fieldName, name, 0)
	s.b.PrependUOffsetTSlot(fieldType, parameters, 0)
	s.b.PrependUOffsetTSlot(fieldDictionary, dictionary, 0)
	s.b.PrependUOffsetTSlot(fieldChildren, children, 0)
	s.b.PrependUOffsetTSlot(fieldMetadata, pairs, 0)
	s.b.PrependBoolSlot(fieldNullable, f.Nullable, false)
	s.b.PrependByteSlot(fieldTypeTag, byte(f.Type.ID), 0)
	return s.b.EndObject()
}

func (s *schemaBuilder) dictionary(d *Dictionary) flatbuffers.UOffsetT {
	if d == nil {
		return 0
	}
	index := s.parameters(Type{ID: TypeInt, BitWidth: d.IndexBits, Signed: d.Signed})
	s.b.StartObject(4)
	s.b.PrependInt64(d.ID)
	s.b.Slot(0)
	s.b.PrependUOffsetTSlot(1, index, 0)
	s.b.PrependBoolSlot(2, d.Ordered, false)
	return s.b.EndObject()
}

// parameters builds the table of a type. Every parameter is written, whatever the format's default is.
func (s *schemaBuilder) parameters(t Type) flatbuffers.UOffsetT {
	var inner flatbuffers.UOffsetT // the one offset that some types have in slot 1
	switch {
	case t.ID == TypeUnion && t.TypeCodes != nil:
		n := len(t.TypeCodes)
		s.b.StartVector(4, n, 4)
		for i := n - 1; i >= 0; i-- {
			s.b.PlaceInt32(int32(t.TypeCodes[i]))
		}
		inner = s.b.EndVector(n)
	case t.ID == TypeTimestamp && t.Timezone != "":
		inner = s.b.CreateString(t.Timezone)
	}
	s.b.StartObject(3)
	s.b.PrependUOffsetTSlot(1, inner, 0)
	switch t.ID {
	case TypeInt:
		s.int32(0, t.BitWidth)
		s.bool(1, t.Signed)
	case TypeFloatingPoint:
		s.int16(0, slices.Index([]int{16, 32, 64}, t.BitWidth)) // half, single, double; -1 is refused
	case TypeDecimal:
		s.int32(0, t.Precision)
		s.int32(1, t.Scale)
		s.int32(2, t.BitWidth)
	case TypeTime:
		s.int32(1, t.BitWidth)
		s.int16(0, t.Unit)
	case TypeDate, TypeTimestamp, TypeDuration, TypeInterval:
		s.int16(0, t.Unit)
	case TypeFixedSizeBinary:
		s.int32(0, t.ByteWidth)
	case TypeFixedSizeList:
		s.int32(0, t.ListSize)
	case TypeMap:
		s.bool(0, t.Sorted)
	case TypeUnion:
		mode := 0
		if t.Dense {
			mode = 1
		}
		s.int16(0, mode)
	}
	return s.b.EndObject()
}

func (s *schemaBuilder) int32(slot, v int) {
	s.b.PrependInt32(int32(v))
	s.b.Slot(slot)
}

func (s *schemaBuilder) int16(slot, v int) {
	s.b.PrependInt16(int16(v))
	s.b.Slot(slot)
}

func (s *schemaBuilder) bool(slot int, v bool) {
	s.b.PrependBool(v)
	s.b.Slot(slot)
}
