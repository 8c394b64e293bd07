package arrowipc

// TypeID is the tag of the Type union of Schema.fbs.
type TypeID uint8

// The members of the Type union, in the order of Schema.fbs.
const (
	TypeNone            TypeID = 0
	TypeNull            TypeID = 1
	TypeInt             TypeID = 2
	TypeFloatingPoint   TypeID = 3
	TypeBinary          TypeID = 4
	TypeUtf8            TypeID = 5
	TypeBool            TypeID = 6
	TypeDecimal         TypeID = 7
	TypeDate            TypeID = 8
	TypeTime            TypeID = 9
	TypeTimestamp       TypeID = 10
	TypeInterval        TypeID = 11
	TypeList            TypeID = 12
	TypeStruct          TypeID = 13
	TypeUnion           TypeID = 14
	TypeFixedSizeBinary TypeID = 15
	TypeFixedSizeList   TypeID = 16
	TypeMap             TypeID = 17
	TypeDuration        TypeID = 18
	TypeLargeBinary     TypeID = 19
	TypeLargeUtf8       TypeID = 20
	TypeLargeList       TypeID = 21
	TypeRunEndEncoded   TypeID = 22
	TypeBinaryView      TypeID = 23
	TypeUtf8View        TypeID = 24
	TypeListView        TypeID = 25
	TypeLargeListView   TypeID = 26
)

// Type is one Arrow logical type with its parameters. A parameter that the type does not have is zero.
type Type struct {
	ID        TypeID
	BitWidth  int    // Int, FloatingPoint (16, 32, 64), Decimal, Time
	Signed    bool   // Int
	Precision int    // Decimal
	Scale     int    // Decimal, may be negative
	Unit      int    // Date, Time, Timestamp, Duration, Interval: the ordinal of the unit in Schema.fbs
	Timezone  string // Timestamp, verbatim
	ByteWidth int    // FixedSizeBinary
	ListSize  int    // FixedSizeList
	Dense     bool   // Union
	TypeCodes []int8 // Union: the type code of each child, in order
	Sorted    bool   // Map: keysSorted
}

// Dictionary says that a field's values are indices into a dictionary.
type Dictionary struct {
	ID        int64
	IndexBits int // 8, 16, 32 or 64
	Signed    bool
	Ordered   bool
}

// KeyValue is one entry of custom metadata. The bytes are those of the message: they need not be UTF-8.
type KeyValue struct{ Key, Value string }

// Field is one field of a schema.
//
// With Dictionary set, Type and Children describe the dictionary's values; the column itself holds indices.
type Field struct {
	Name       string
	Nullable   bool
	Type       Type
	Children   []*Field
	Dictionary *Dictionary
	Metadata   []KeyValue
}

// FieldNode is the length and the null count of one field of a batch (FieldNode of Message.fbs).
type FieldNode struct{ Length, Nulls int64 }

// Buffer is a range of a message's body, in bytes (Buffer of Message.fbs).
type Buffer struct{ Offset, Length int64 }

// Compression is the codec of a record batch's buffers. Its values are those of CompressionType in Message.fbs, with
// -1 for a batch that has no BodyCompression.
type Compression int8

// The values of Compression.
const (
	Uncompressed Compression = -1
	LZ4Frame     Compression = 0
	Zstd         Compression = 1
)

// HeaderType is the tag of the MessageHeader union of Message.fbs.
type HeaderType uint8

// The members of the MessageHeader union.
const (
	HeaderNone            HeaderType = 0
	HeaderSchema          HeaderType = 1
	HeaderDictionaryBatch HeaderType = 2
	HeaderRecordBatch     HeaderType = 3
	HeaderTensor          HeaderType = 4
	HeaderSparseTensor    HeaderType = 5
)

// RecordBatch is what a record batch header says.
type RecordBatch struct {
	Rows        int64
	Nodes       []FieldNode
	Buffers     []Buffer
	Variadic    []int64 // variadicBufferCounts: one for each view-typed column in preorder
	Compression Compression
}

// Message is one verified IPC message header.
type Message struct {
	Type       HeaderType
	Version    int16 // ordinal of MetadataVersion: 4 is V5
	BodyLength int64
	Metadata   []KeyValue   // custom_metadata of the message
	Batch      *RecordBatch // of a record batch, and of a dictionary batch its data
	Dictionary int64        // id, of a dictionary batch
	Delta      bool         // isDelta, of a dictionary batch
}
