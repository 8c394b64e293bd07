package descriptors

import "math"

// Mode says what a put does to the rows that its dataset has.
type Mode string

// The modes of a put.
const (
	ModeReplace Mode = "replace" // the put's rows take the place of all others; the default
	ModeAppend  Mode = "append"  // the put's rows follow the others; an absent dataset is created
	ModeCreate  Mode = "create"  // the dataset must be absent
)

// Codec is how the buffers of a put's batches are stored.
type Codec string

// The codecs of a put. The zero value leaves the choice to the server.
const (
	CodecNone Codec = "none"
	CodecLZ4  Codec = "lz4"
	CodecZstd Codec = "zstd"
)

// Batching says what a put does with batch boundaries.
type Batching string

// The ways of batching.
const (
	BatchingAuto Batching = "auto" // small batches are joined, large ones cut; the default
	BatchingKeep Batching = "keep" // batches are cut where they must be, never joined or compacted
)

// Encode says when a put's batches are encoded.
type Encode string

// The times of encoding. The zero value leaves the choice to the server.
const (
	EncodeNow      Encode = "now"      // before the put is answered
	EncodeDeferred Encode = "deferred" // after that, when there is nothing else to do
)

// Bounds of a put command's level, which are zstd's own.
const (
	MinLevel = 1
	MaxLevel = 22
)

// Bounds of what a put command says of time and identity.
const (
	MaxTTL     = 10 * 365 * 24 * 60 * 60 // seconds; more is no expiry that anybody waits for
	MaxIDBytes = 255                     // of a put_id and of a transaction's name
)

// PutCommand says what a put does. A parsed one has no zero Batching, and no zero Mode outside a transaction: the
// defaults are filled in.
type PutCommand struct {
	// Dataset is the dataset to write.
	Dataset Name
	// Mode is what happens to the rows that are there. Within a transaction "" is the transaction's mode, and no other
	// than that one may be given.
	Mode Mode
	// Codec is how buffers are stored; "" is the server's default.
	Codec Codec
	// Level is the zstd level, MinLevel to MaxLevel; 0 is the server's default. It goes with CodecZstd only.
	Level int
	// Encode is when buffers are encoded under the codec; "" is the server's default.
	Encode Encode
	// Batching is what happens to batch boundaries.
	Batching Batching
	// Dictionaries is the form in which dictionary-encoded columns are stored; "" is the server's default.
	Dictionaries Dictionaries
	// Rows is the number of rows that the put must have in total to become visible; nil is any number.
	Rows *int64
	// SortedBy is the order that the put's rows are said to have, the most significant key first, no column twice. Nil is no
	// known order; an empty list that is not nil is not allowed.
	SortedBy []SortKey
	// TTL is how many seconds after the commit the dataset is dropped, 1 to MaxTTL; 0 is not given.
	TTL int64
	// Pin sets whether eviction leaves the dataset alone; nil leaves that as it is.
	Pin *bool
	// Durable sets whether the dataset outlives the server; nil leaves the choice to the server. What is appended to a durable
	// dataset is durable.
	Durable *bool
	// PutID names the put within its dataset or transaction, so that it may be sent again; "" is no name.
	PutID string
	// Transaction is the transaction that the put belongs to; "" is none.
	Transaction string
}

// putKeys is the table of a put command's keys.
var putKeys = []key[PutCommand]{
	newDatasetKey(func(c *PutCommand) *Name { return &c.Dataset }),
	{name: "mode", doc: "replace (the default), append or create", parse: parseMode},
	{name: "codec", doc: "none, lz4 or zstd; absent: the server's default", parse: parseCodec},
	{name: "level", doc: "1 to 22, with the codec zstd only", parse: parseLevel},
	{name: "encode", doc: "now, or deferred: after the put is answered; absent: the server's default", parse: parseEncode},
	{name: "batching", doc: "auto (the default) or keep", parse: parseBatching},
	{name: "rows", doc: "how many rows the put must have, 0 or more", parse: parseRows},
	dictionariesKey(func(c *PutCommand) *Dictionaries { return &c.Dictionaries }),
	{name: "ttl", doc: "seconds from the commit until the dataset is dropped, 1 or more", parse: parseTTL},
	{name: "pin", doc: "true: eviction leaves the dataset alone; false: it need not; absent: as before", parse: parsePin},
	{name: "sorted_by", doc: `the order of the rows, such as ["x", "-y"]`, parse: parseSortedBy},
	{name: "durable", doc: "true: the dataset outlives the server; false: it need not; absent: the server's default", parse: parseDurable},
	{name: "put_id", doc: "a name that makes a repeated put harmless, 1 to 255 bytes", parse: parsePutID},
	{name: "transaction", doc: "the transaction that the put belongs to", parse: parsePutTransaction},
}

func parseMode(d *decoder, at string, c *PutCommand) error {
	s, err := d.choice(at, string(ModeReplace), string(ModeAppend), string(ModeCreate))
	c.Mode = Mode(s)
	return err
}

func parseCodec(d *decoder, at string, c *PutCommand) error {
	s, err := d.choice(at, string(CodecNone), string(CodecLZ4), string(CodecZstd))
	c.Codec = Codec(s)
	return err
}

func parseLevel(d *decoder, at string, c *PutCommand) error {
	n, err := d.integer(at, MinLevel, MaxLevel)
	c.Level = int(n)
	return err
}

func parseEncode(d *decoder, at string, c *PutCommand) error {
	s, err := d.choice(at, string(EncodeNow), string(EncodeDeferred))
	c.Encode = Encode(s)
	return err
}

func parseBatching(d *decoder, at string, c *PutCommand) error {
	s, err := d.choice(at, string(BatchingAuto), string(BatchingKeep))
	c.Batching = Batching(s)
	return err
}

func parseRows(d *decoder, at string, c *PutCommand) error {
	n, err := d.integer(at, 0, math.MaxInt64)
	c.Rows = &n
	return err
}

func parseTTL(d *decoder, at string, c *PutCommand) (err error) {
	c.TTL, err = d.integer(at, 1, MaxTTL)
	return err
}

func parsePin(d *decoder, at string, c *PutCommand) error {
	b, err := d.boolean(at)
	c.Pin = &b
	return err
}

func parseDurable(d *decoder, at string, c *PutCommand) error {
	b, err := d.boolean(at)
	c.Durable = &b
	return err
}

func parsePutID(d *decoder, at string, c *PutCommand) (err error) {
	c.PutID, err = d.id(at)
	return err
}

func parsePutTransaction(d *decoder, at string, c *PutCommand) (err error) {
	c.Transaction, err = d.id(at)
	return err
}

// id takes a put_id or the name of a transaction.
func (d *decoder) id(at string) (string, error) {
	s, err := d.text(at)
	if err == nil && (s == "" || len(s) > MaxIDBytes) {
		err = d.bad("%s: want 1 to %d bytes, got %d", at, MaxIDBytes, len(s))
	}
	return s, err
}

// PutKeys returns the keys of a put command. The slice is the caller's.
func PutKeys() []Key { return describeKeys(putKeys) }

// Marshal returns the command as canonical JSON: equal commands give equal bytes, and the bytes parse back to an equal
// command if c is valid. Defaults are left out; a zero Mode or Batching is one.
func (c *PutCommand) Marshal() []byte {
	var e encoder
	e.text("dataset", string(c.Dataset))
	if c.Mode != "" && (c.Mode != ModeReplace || c.Transaction != "") {
		e.text("mode", string(c.Mode))
	}
	if c.Codec != "" {
		e.text("codec", string(c.Codec))
	}
	if c.Level != 0 {
		e.integer("level", int64(c.Level))
	}
	if c.Encode != "" {
		e.text("encode", string(c.Encode))
	}
	if c.Batching != "" && c.Batching != BatchingAuto {
		e.text("batching", string(c.Batching))
	}
	if c.Rows != nil {
		e.integer("rows", *c.Rows)
	}
	if c.Dictionaries != "" {
		e.text("dictionaries", string(c.Dictionaries))
	}
	if c.SortedBy != nil {
		list(&e, "sorted_by", c.SortedBy, SortKey.append)
	}
	if c.TTL != 0 {
		e.integer("ttl", c.TTL)
	}
	if c.Pin != nil {
		e.boolean("pin", *c.Pin)
	}
	if c.Durable != nil {
		e.boolean("durable", *c.Durable)
	}
	if c.PutID != "" {
		e.text("put_id", c.PutID)
	}
	if c.Transaction != "" {
		e.text("transaction", c.Transaction)
	}
	return e.finish()
}

// Validate reports the first rule that a command built in code breaks, by the parser's own rules and [DefaultLimits],
// or nil.
func (c *PutCommand) Validate() error {
	_, err := PutFromCommand(c.Marshal())
	return err
}
