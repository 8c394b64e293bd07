package descriptors

import (
	"encoding/base64"
	"math"
)

// Wire is how the buffers of record batches travel in a read.
type Wire string

// The wires that a read command may ask for. The zero value leaves the choice to the server.
const (
	WireNone   Wire = "none"   // plain buffers, which every Arrow client reads
	WireStored Wire = "stored" // as the batches are stored, each in its own codec
	WireZstd   Wire = "zstd"   // zstd, encoded again where another codec is stored
	WireLZ4    Wire = "lz4"    // LZ4 frames, encoded again where another codec is stored
)

// Dictionaries says in which form dictionary-encoded columns are sent, or stored.
type Dictionaries string

// The forms of dictionary-encoded columns. The zero value leaves the choice to the server.
const (
	DictionariesKeep   Dictionaries = "keep"   // indices and dictionaries, as they came
	DictionariesDecode Dictionaries = "decode" // values in place of indices
)

// Bounds of a read command.
const (
	// MinMessageBytes is the smallest max_message_bytes: 64 KiB. Below it the headers of wide schemas alone would not
	// fit, and framing would outweigh the data.
	MinMessageBytes = 64 << 10
	// MaxMessageBytes is the largest max_message_bytes: 2 GiB less one byte, the most that a protobuf message may have.
	MaxMessageBytes = math.MaxInt32
	// MaxGenerationBytes is the longest generation.
	MaxGenerationBytes = 255
	// MaxSubstraitBytes is the longest message that substrait may hold, before base64: 1 MiB. [Limits.CommandBytes] bounds
	// it too.
	MaxSubstraitBytes = 1 << 20
	// MaxPartitions is the largest number of partitions.
	MaxPartitions = 65_536
)

// Count says how a read's rows are counted before they are read.
type Count string

// CountExact asks for the number of rows that a filter keeps, even where they must be read for it. The zero value counts
// from metadata alone.
const CountExact Count = "exact"

// ReadCommand says what a read wants. It holds what was asked, not what it means for a schema.
type ReadCommand struct {
	// Dataset is the dataset to read.
	Dataset Name
	// Generation is the generation to read; "" is the newest.
	Generation string
	// Columns are the columns to send, in the asked order, repetitions included. Nil is all of them; an empty slice that
	// is not nil is none, rows only.
	Columns []Column
	// Wire is how buffers travel; "" leaves it to the server.
	Wire Wire
	// MaxMessageBytes bounds each message of the stream, in bytes; 0 is the server's own bound.
	MaxMessageBytes int
	// BatchMetadata asks for JSON about each batch in its app_metadata.
	BatchMetadata bool
	// Dictionaries is the form of dictionary-encoded columns; "" leaves it to the server.
	Dictionaries Dictionaries
	// Limit is the largest number of rows to send, counted from the first; nil is no limit, and 0 sends the schema only.
	Limit *int64
	// Filter says which rows to send; nil is all, or what Substrait says. An empty one that is not nil is not allowed.
	Filter Filter
	// Substrait says which rows to send: a serialized substrait.ExtendedExpression, at most [MaxSubstraitBytes] bytes, which
	// are not looked into here. Nil is all, or what Filter says; both together are not allowed.
	Substrait []byte
	// PruneOnly asks that a filter leaves out whole batches only, and the rows of the others are all sent.
	PruneOnly bool
	// Count is how rows are counted.
	Count Count
	// Statistics asks for the statistics of the columns.
	Statistics bool
	// Partitions is the number of endpoints to aim at, at most [MaxPartitions]; 0 leaves it to the server, which makes one.
	Partitions int
}

// readKeys is the table of a read command's keys.
var readKeys = []key[ReadCommand]{
	datasetKey(true, func(c *ReadCommand) *Name { return &c.Dataset }),
	{name: "generation", doc: "the generation to read; absent: the newest", parse: parseGeneration},
	{name: "columns", doc: "a list of names, dotted paths or ordinals; absent: all, []: none", parse: parseColumns},
	{name: "wire", doc: "none, stored, zstd or lz4; absent: the server chooses", parse: parseWire},
	{name: "max_message_bytes", doc: "the largest message, 65536 to 2147483647 bytes", parse: parseMaxMessageBytes},
	{name: "batch_metadata", doc: "true: JSON about each batch in its app_metadata", parse: parseBatchMetadata},
	{name: "limit", doc: "the largest number of rows, 0 or more", parse: parseLimit},
	dictionariesKey(func(c *ReadCommand) *Dictionaries { return &c.Dictionaries }),
	{name: "filters", doc: "which rows, as lists of [column, operator, value]", parse: parseFilters},
	{name: "substrait", doc: "which rows, as base64 of a Substrait ExtendedExpression", parse: parseSubstrait},
	{name: "prune_only", doc: "true: leave out whole batches only", parse: parsePruneOnly},
	{name: "count", doc: "exact: count the rows that a filter keeps", parse: parseCount},
	{name: "statistics", doc: "true: statistics of the columns", parse: parseStatistics},
	{name: "partitions", doc: "how many endpoints, 1 to 65536; absent: 1", parse: parsePartitions},
}

// datasetKey returns the row of the key "dataset", which all commands share.
func datasetKey[C any](required bool, field func(*C) *Name) key[C] {
	return key[C]{
		name: "dataset", doc: `the dataset's name, such as "sales/2024"`, required: required,
		parse: func(d *decoder, at string, c *C) (err error) {
			*field(c), err = d.name(at)
			return err
		},
	}
}

// newDatasetKey is datasetKey of a command that may make the dataset.
func newDatasetKey[C any](field func(*C) *Name) key[C] {
	k := datasetKey(true, field)
	parse := k.parse
	k.parse = func(d *decoder, at string, c *C) error {
		err := parse(d, at, c)
		if err == nil {
			if err = field(c).CheckNew(); err != nil {
				err = d.bad("%s: %w", at, err)
			}
		}
		return err
	}
	return k
}

// dictionariesKey returns the row of the key "dictionaries", which reads and puts share.
func dictionariesKey[C any](field func(*C) *Dictionaries) key[C] {
	return key[C]{
		name: "dictionaries", doc: "keep or decode; absent: the server chooses",
		parse: func(d *decoder, at string, c *C) error {
			s, err := d.choice(at, string(DictionariesKeep), string(DictionariesDecode))
			*field(c) = Dictionaries(s)
			return err
		},
	}
}

func parseGeneration(d *decoder, at string, c *ReadCommand) error {
	s, err := d.text(at)
	if err != nil {
		return err
	}
	if s == "" {
		return d.bad("%s: it is empty; leave the key out for the newest", at)
	}
	if len(s) > MaxGenerationBytes {
		return d.bad("%s: %s has %d bytes; at most %d are allowed", at, quote(s), len(s), MaxGenerationBytes)
	}
	c.Generation = s
	return nil
}

func parseColumns(d *decoder, at string, c *ReadCommand) (err error) {
	c.Columns, err = d.columns(at)
	return err
}

func parseWire(d *decoder, at string, c *ReadCommand) error {
	s, err := d.choice(at, string(WireNone), string(WireStored), string(WireZstd), string(WireLZ4))
	c.Wire = Wire(s)
	return err
}

func parseMaxMessageBytes(d *decoder, at string, c *ReadCommand) error {
	n, err := d.integer(at, MinMessageBytes, MaxMessageBytes)
	c.MaxMessageBytes = int(n)
	return err
}

func parseBatchMetadata(d *decoder, at string, c *ReadCommand) (err error) {
	c.BatchMetadata, err = d.boolean(at)
	return err
}

func parseLimit(d *decoder, at string, c *ReadCommand) error {
	n, err := d.integer(at, 0, math.MaxInt64)
	c.Limit = &n
	return err
}

func parseSubstrait(d *decoder, at string, c *ReadCommand) error {
	s, err := d.text(at)
	if err != nil {
		return err
	}
	if s == "" {
		return d.bad("%s: it is empty; leave the key out for all rows", at)
	}
	if longest := base64.StdEncoding.EncodedLen(MaxSubstraitBytes); len(s) > longest {
		return d.bad("%s: it has %d characters; at most %d are allowed, which hold %d bytes", at, len(s), longest, MaxSubstraitBytes)
	}
	// Strict and without line ends, so that a message has one spelling only.
	c.Substrait, err = base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || base64.StdEncoding.EncodedLen(len(c.Substrait)) != len(s) {
		return d.bad("%s: it is not base64 of the standard alphabet, padded, in one line: %s", at, quote(s))
	}
	if len(c.Substrait) > MaxSubstraitBytes {
		return d.bad("%s: it holds %d bytes; at most %d are allowed", at, len(c.Substrait), MaxSubstraitBytes)
	}
	return nil
}

func parsePruneOnly(d *decoder, at string, c *ReadCommand) (err error) {
	c.PruneOnly, err = d.boolean(at)
	return err
}

func parseCount(d *decoder, at string, c *ReadCommand) error {
	s, err := d.choice(at, string(CountExact))
	c.Count = Count(s)
	return err
}

func parseStatistics(d *decoder, at string, c *ReadCommand) (err error) {
	c.Statistics, err = d.boolean(at)
	return err
}

func parsePartitions(d *decoder, at string, c *ReadCommand) error {
	n, err := d.integer(at, 1, MaxPartitions)
	c.Partitions = int(n)
	return err
}

// ReadKeys returns the keys of a read command. The slice is the caller's.
func ReadKeys() []Key { return describeKeys(readKeys) }

// Marshal returns the command as canonical JSON: equal commands give equal bytes, and the bytes parse back to an equal
// command if c is valid. It is never longer than the text that c was parsed from.
func (c *ReadCommand) Marshal() []byte {
	var e encoder
	e.text("dataset", string(c.Dataset))
	if c.Generation != "" {
		e.text("generation", c.Generation)
	}
	if c.Columns != nil {
		list(&e, "columns", c.Columns, Column.append)
	}
	if c.Wire != "" {
		e.text("wire", string(c.Wire))
	}
	if c.MaxMessageBytes != 0 {
		e.integer("max_message_bytes", int64(c.MaxMessageBytes))
	}
	if c.BatchMetadata {
		e.boolean("batch_metadata", true)
	}
	if c.Limit != nil {
		e.integer("limit", *c.Limit)
	}
	if c.Dictionaries != "" {
		e.text("dictionaries", string(c.Dictionaries))
	}
	if c.Filter != nil {
		e.key("filters")
		e.buf = c.Filter.append(e.buf)
	}
	if c.Substrait != nil {
		e.text("substrait", base64.StdEncoding.EncodeToString(c.Substrait))
	}
	if c.PruneOnly {
		e.boolean("prune_only", true)
	}
	if c.Count != "" {
		e.text("count", string(c.Count))
	}
	if c.Statistics {
		e.boolean("statistics", true)
	}
	if c.Partitions != 0 {
		e.integer("partitions", int64(c.Partitions))
	}
	return e.finish()
}

// Validate reports the first rule that a command built in code breaks, by the parser's own rules and [DefaultLimits],
// or nil.
func (c *ReadCommand) Validate() error {
	_, err := ReadFromCommand(c.Marshal())
	return err
}
