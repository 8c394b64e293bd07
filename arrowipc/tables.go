package arrowipc

// slotKind says what a slot of a flatbuffer table holds.
type slotKind uint8

const (
	slotScalar slotKind = iota // size bytes, in the table itself
	slotString                 // offset of a string
	slotTable                  // offset of a table
	slotUnion                  // offset of the table that the tag in the slot before it selects
	slotVector                 // offset of a vector whose elements, scalars or structs, have size bytes each
	slotTables                 // offset of a vector of offsets of tables
)

// charge is the limit that a string counts against.
type charge uint8

const (
	chargeName charge = iota
	chargeMetadata
)

// slot describes one slot of a table. Which of the fields apply follows from kind.
type slot struct {
	name    string
	kind    slotKind
	size    int      // slotScalar: bytes; slotVector: bytes of an element
	align   int      // slotVector: alignment of an element
	charge  charge   // slotString
	table   *table   // slotTable, slotTables
	members []*table // slotUnion: by tag; nil where the tag's table is not looked into
}

// inline is the number of bytes that the slot takes in its table.
func (s *slot) inline() int {
	if s.kind == slotScalar {
		return s.size
	}
	return 4 // an offset
}

// table describes one table of Message.fbs, Schema.fbs or File.fbs: its slots in the order of their ids. The verifier and the
// copier both follow these descriptions, so what the one has seen the other can copy.
type table struct {
	name  string
	slots []slot
}

func scalar(name string, size int) slot { return slot{name: name, kind: slotScalar, size: size} }

func parameters(name string, slots ...slot) *table { return &table{name: name, slots: slots} }

// Slot numbers that more than one file needs.
const (
	messageVersion    = 0
	messageHeaderType = 1
	messageHeader     = 2
	messageBodyLength = 3
	messageMetadata   = 4

	schemaEndianness = 0
	schemaFields     = 1
	schemaMetadata   = 2

	fieldName       = 0
	fieldNullable   = 1
	fieldTypeTag    = 2
	fieldType       = 3
	fieldDictionary = 4
	fieldChildren   = 5
	fieldMetadata   = 6

	batchLength      = 0
	batchNodes       = 1
	batchBuffers     = 2
	batchCompression = 3
	batchVariadic    = 4

	dictionaryID    = 0
	dictionaryData  = 1
	dictionaryDelta = 2

	footerVersion      = 0
	footerSchema       = 1
	footerDictionaries = 2
	footerBatches      = 3
	footerMetadata     = 4
)

var (
	keyValueTable = &table{"KeyValue", []slot{
		{name: "key", kind: slotString, charge: chargeMetadata},
		{name: "value", kind: slotString, charge: chargeMetadata},
	}}

	intTable = parameters("Int", scalar("bitWidth", 4), scalar("is_signed", 1))

	// typeTables are the members of the Type union by TypeID.
	typeTables = []*table{
		TypeNone:          nil,
		TypeNull:          parameters("Null"),
		TypeInt:           intTable,
		TypeFloatingPoint: parameters("FloatingPoint", scalar("precision", 2)),
		TypeBinary:        parameters("Binary"),
		TypeUtf8:          parameters("Utf8"),
		TypeBool:          parameters("Bool"),
		TypeDecimal:       parameters("Decimal", scalar("precision", 4), scalar("scale", 4), scalar("bitWidth", 4)),
		TypeDate:          parameters("Date", scalar("unit", 2)),
		TypeTime:          parameters("Time", scalar("unit", 2), scalar("bitWidth", 4)),
		TypeTimestamp: parameters("Timestamp", scalar("unit", 2),
			slot{name: "timezone", kind: slotString, charge: chargeName}),
		TypeInterval: parameters("Interval", scalar("unit", 2)),
		TypeList:     parameters("List"),
		TypeStruct:   parameters("Struct_"),
		TypeUnion: parameters("Union", scalar("mode", 2),
			slot{name: "typeIds", kind: slotVector, size: 4, align: 4}),
		TypeFixedSizeBinary: parameters("FixedSizeBinary", scalar("byteWidth", 4)),
		TypeFixedSizeList:   parameters("FixedSizeList", scalar("listSize", 4)),
		TypeMap:             parameters("Map", scalar("keysSorted", 1)),
		TypeDuration:        parameters("Duration", scalar("unit", 2)),
		TypeLargeBinary:     parameters("LargeBinary"),
		TypeLargeUtf8:       parameters("LargeUtf8"),
		TypeLargeList:       parameters("LargeList"),
		TypeRunEndEncoded:   parameters("RunEndEncoded"),
		TypeBinaryView:      parameters("BinaryView"),
		TypeUtf8View:        parameters("Utf8View"),
		TypeListView:        parameters("ListView"),
		TypeLargeListView:   parameters("LargeListView"),
	}

	dictionaryTable = &table{"DictionaryEncoding", []slot{
		scalar("id", 8),
		{name: "indexType", kind: slotTable, table: intTable},
		scalar("isOrdered", 1),
		scalar("dictionaryKind", 2),
	}}

	fieldTable = &table{"Field", []slot{
		fieldName:       {name: "name", kind: slotString, charge: chargeName},
		fieldNullable:   scalar("nullable", 1),
		fieldTypeTag:    scalar("type_type", 1),
		fieldType:       {name: "type", kind: slotUnion, members: typeTables},
		fieldDictionary: {name: "dictionary", kind: slotTable, table: dictionaryTable},
		fieldChildren:   {name: "children", kind: slotTables}, // of fieldTable itself: see init
		fieldMetadata:   {name: "custom_metadata", kind: slotTables, table: keyValueTable},
	}}

	schemaTable = &table{"Schema", []slot{
		schemaEndianness: scalar("endianness", 2),
		schemaFields:     {name: "fields", kind: slotTables, table: fieldTable},
		schemaMetadata:   {name: "custom_metadata", kind: slotTables, table: keyValueTable},
		3:                {name: "features", kind: slotVector, size: 8, align: 8},
	}}

	recordBatchTable = &table{"RecordBatch", []slot{
		batchLength:  scalar("length", 8),
		batchNodes:   {name: "nodes", kind: slotVector, size: 16, align: 8},
		batchBuffers: {name: "buffers", kind: slotVector, size: 16, align: 8},
		batchCompression: {name: "compression", kind: slotTable,
			table: parameters("BodyCompression", scalar("codec", 1), scalar("method", 1))},
		batchVariadic: {name: "variadicBufferCounts", kind: slotVector, size: 8, align: 8},
	}}

	dictionaryBatchTable = &table{"DictionaryBatch", []slot{
		dictionaryID:    scalar("id", 8),
		dictionaryData:  {name: "data", kind: slotTable, table: recordBatchTable},
		dictionaryDelta: scalar("isDelta", 1),
	}}

	messageTable = &table{"Message", []slot{
		messageVersion:    scalar("version", 2),
		messageHeaderType: scalar("header_type", 1),
		messageHeader: {name: "header", kind: slotUnion, members: []*table{
			HeaderSchema:          schemaTable,
			HeaderDictionaryBatch: dictionaryBatchTable,
			HeaderRecordBatch:     recordBatchTable,
		}},
		messageBodyLength: scalar("bodyLength", 8),
		messageMetadata:   {name: "custom_metadata", kind: slotTables, table: keyValueTable},
	}}
)

// footerTable is the Footer of File.fbs.
var footerTable = &table{"Footer", []slot{
	footerVersion:      scalar("version", 2),
	footerSchema:       {name: "schema", kind: slotTable, table: schemaTable},
	footerDictionaries: {name: "dictionaries", kind: slotVector, size: blockBytes, align: 8},
	footerBatches:      {name: "recordBatches", kind: slotVector, size: blockBytes, align: 8},
	footerMetadata:     {name: "custom_metadata", kind: slotTables, table: keyValueTable},
}}

func init() { fieldTable.slots[fieldChildren].table = fieldTable }
