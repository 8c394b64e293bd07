package segment

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// The facts of all batches stand in the footer as one value: a version and protobuf fields, in base64, because readers in
// Rust insist on UTF-8. FORMAT.md says the fields.
const (
	factsKey     = "flightcache.segment"
	checksumKey  = "flightcache.crc32c"
	factsVersion = 1

	// maxFacts bounds the facts of one segment, before base64. A batch of 20,000 columns has 4 MiB at most.
	maxFacts = 16 << 20
	// maxUID bounds the identity of a dictionary.
	maxUID = 64
)

// Fields of the whole.
const (
	fieldSchema      = 1 // fixed32: checksum of the encapsulated schema message
	fieldSchemaBytes = 2 // varint: bytes of its flatbuffer, without padding
	fieldDictionary  = 3 // entry
	fieldBatch       = 4 // entry
)

// Fields of an entry. Those that a batch has no use for are left out.
const (
	entryMessage     = 1 // fixed32: checksum of the message's metadata
	entryBody        = 2 // varint
	entryRuns        = 3 // packed fixed32: checksums
	entryRows        = 4 // varint
	entryCompression = 5 // varint: 1 for lz4, 2 for zstd
	entryNodes       = 6 // packed varints: length, nulls
	entryBuffers     = 7 // packed varints: bytes since the end of the one before, length
	entryVariadic    = 8 // packed varints
	entryDecoded     = 9 // packed varints
	entryStatistics  = 10
	entryMetadata    = 11 // varint 1: there is custom metadata in the message
	entryUID         = 12
	entryApart       = 13 // varint 1
	entryLevel       = 14 // varint
	entryWanted      = 15 // varint
)

// errFacts: what stands in a footer cannot be read as facts.
var errFacts = errors.New("malformed facts")

// appendEntry appends what a footer says of one batch.
func appendEntry(b []byte, s *shape, f *Facts, message uint32, runs []uint32, uid string) []byte {
	b = protowire.AppendTag(b, entryMessage, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, message)
	b = appendNumber(b, entryBody, uint64(f.Body))
	sums := make([]byte, 0, 4*len(runs))
	for _, sum := range runs {
		sums = protowire.AppendFixed32(sums, sum)
	}
	b = appendBytes(b, entryRuns, sums)
	h := &f.Header
	b = appendNumber(b, entryRows, uint64(h.Rows))
	b = appendNumber(b, entryCompression, uint64(h.Compression-arrowipc.Uncompressed))
	var list []byte
	for _, n := range h.Nodes {
		list = protowire.AppendVarint(protowire.AppendVarint(list, uint64(n.Length)), uint64(n.Nulls))
	}
	b = appendBytes(b, entryNodes, list)
	list = list[:0]
	end := int64(0)
	for _, x := range h.Buffers {
		list = protowire.AppendVarint(protowire.AppendVarint(list, uint64(x.Offset-end)), uint64(x.Length))
		end = x.Offset + x.Length
	}
	b = appendBytes(b, entryBuffers, list)
	b = appendNumbers(b, entryVariadic, h.Variadic)
	b = appendNumbers(b, entryDecoded, f.Decoded)
	list = list[:0]
	for i := range f.Statistics {
		list = statistics.AppendColumn(list, &f.Statistics[i], s.classes[i])
	}
	b = appendBytes(b, entryStatistics, list)
	if len(f.Metadata) > 0 {
		b = appendNumber(b, entryMetadata, 1)
	}
	b = appendBytes(b, entryUID, []byte(uid))
	if f.Apart {
		b = appendNumber(b, entryApart, 1)
	}
	b = appendNumber(b, entryLevel, uint64(f.Level))
	return appendNumber(b, entryWanted, uint64(f.Wanted))
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendNumbers(b []byte, field protowire.Number, numbers []int64) []byte {
	var list []byte
	for _, n := range numbers {
		list = protowire.AppendVarint(list, uint64(n))
	}
	return appendBytes(b, field, list)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

// fields calls f with each field of b: a number, or bytes, which are a part of b.
func fields(b []byte, f func(field protowire.Number, number uint64, value []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errFacts, protowire.ParseError(n))
		}
		b = b[n:]
		var number uint64
		var value []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			number = uint64(x)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("%w: field %d is of wire type %d", errFacts, field, kind)
		}
		if n < 0 {
			return fmt.Errorf("%w: field %d: %w", errFacts, field, protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(field, number, value); err != nil {
			return err
		}
	}
	return nil
}

// blob is the facts of a segment as they stand in its footer, cut into entries but not read any further.
type blob struct {
	schema       uint32
	schemaBytes  uint64
	dictionaries [][]byte
	batches      [][]byte
}

// parseBlob reads the value of factsKey. There are to be as many entries as the footer has blocks.
func parseBlob(value string, dictionaries, batches int) (*blob, error) {
	if len(value) > base64.StdEncoding.EncodedLen(maxFacts) {
		return nil, fmt.Errorf("%w: %d bytes of them", errFacts, len(value))
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFacts, err)
	}
	if len(raw) == 0 || raw[0] != factsVersion {
		return nil, fmt.Errorf("%w: not of version %d; they were written by another version of this program", errFacts, factsVersion)
	}
	x := &blob{}
	err = fields(raw[1:], func(field protowire.Number, number uint64, value []byte) error {
		switch field {
		case fieldSchema:
			x.schema = uint32(number)
		case fieldSchemaBytes:
			x.schemaBytes = number
		case fieldDictionary:
			x.dictionaries = append(x.dictionaries, value)
		case fieldBatch:
			x.batches = append(x.batches, value)
		}
		if len(x.dictionaries) > dictionaries || len(x.batches) > batches {
			return fmt.Errorf("%w: there are more than batches", errFacts)
		}
		return nil
	})
	if err == nil && (len(x.dictionaries) != dictionaries || len(x.batches) != batches) {
		err = fmt.Errorf("%w: %d dictionaries and %d batches have some, where there are %d and %d", errFacts,
			len(x.dictionaries), len(x.batches), dictionaries, batches)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// entry is what a footer says of one batch, its lists not yet read.
type entry struct {
	message  uint32
	runs     []byte
	facts    Facts // without what follows
	metadata bool
	uid      []byte

	nodes, buffers, variadic, decoded, statistics []byte
}

func parseEntry(b []byte) (entry, error) {
	var e entry
	e.facts.Header.Compression = arrowipc.Uncompressed
	err := fields(b, func(field protowire.Number, number uint64, value []byte) error {
		switch field {
		case entryMessage:
			e.message = uint32(number)
		case entryBody:
			e.facts.Body = int64(number)
		case entryRuns:
			e.runs = value
		case entryRows:
			e.facts.Header.Rows = int64(number)
		case entryCompression:
			e.facts.Header.Compression = arrowipc.Uncompressed + arrowipc.Compression(min(number, 100))
		case entryNodes:
			e.nodes = value
		case entryBuffers:
			e.buffers = value
		case entryVariadic:
			e.variadic = value
		case entryDecoded:
			e.decoded = value
		case entryStatistics:
			e.statistics = value
		case entryMetadata:
			e.metadata = true
		case entryUID:
			e.uid = value
		case entryApart:
			e.facts.Apart = true
		case entryLevel:
			e.facts.Level = int(min(number, maxLevel+1))
		case entryWanted:
			e.facts.Wanted = int(min(number, 100))
		}
		return nil
	})
	if err == nil && (e.facts.Body < 0 || len(e.uid) > maxUID) {
		err = fmt.Errorf("%w: a body of %d bytes, an identity of %d", errFacts, e.facts.Body, len(e.uid))
	}
	return e, err
}

// read reads the lists of an entry and checks them against the layout.
func (e *entry) read(s *shape) (*Facts, error) {
	f := &e.facts
	h := &f.Header
	list := func(value []byte, each int) (numbers []int64) {
		// A number takes a byte or more: what is made is no more than there is.
		numbers = make([]int64, 0, min(len(value), each))
		for len(value) > 0 {
			x, n := protowire.ConsumeVarint(value)
			if n < 0 || x > math.MaxInt64 || len(numbers) == each {
				return nil
			}
			numbers, value = append(numbers, int64(x)), value[n:]
		}
		return numbers
	}
	l := s.layout
	nodes, buffers := list(e.nodes, 2*l.Node1), list(e.buffers, len(e.buffers))
	if len(nodes) != 2*l.Node1 || len(buffers)%2 != 0 {
		return nil, fmt.Errorf("%w: its lists are not those of its schema", errFacts)
	}
	h.Nodes = make([]arrowipc.FieldNode, len(nodes)/2)
	for i := range h.Nodes {
		h.Nodes[i] = arrowipc.FieldNode{Length: nodes[2*i], Nulls: nodes[2*i+1]}
	}
	h.Buffers = make([]arrowipc.Buffer, len(buffers)/2)
	end := int64(0)
	for i := range h.Buffers {
		gap, length := buffers[2*i], buffers[2*i+1]
		if gap > f.Body-end || length > f.Body-end-gap {
			return nil, fmt.Errorf("%w: buffer %d lies outside its body", errFacts, i)
		}
		h.Buffers[i] = arrowipc.Buffer{Offset: end + gap, Length: length}
		end += gap + length
	}
	h.Variadic = list(e.variadic, l.View1)
	f.Decoded = list(e.decoded, l.Node1)
	if len(e.statistics) > 0 {
		if len(e.statistics) < 3*len(s.classes) { // the least that one takes
			return nil, fmt.Errorf("%w: its statistics are cut off", errFacts)
		}
		f.Statistics = make([]statistics.Column, len(s.classes))
		var err error
		for i, class := range s.classes {
			if f.Statistics[i], e.statistics, err = statistics.ConsumeColumn(e.statistics, class); err != nil {
				return nil, fmt.Errorf("%w: statistics of column %d: %w", errFacts, i, err)
			}
		}
		if len(e.statistics) > 0 {
			return nil, fmt.Errorf("%w: statistics of more columns than there are", errFacts)
		}
	}
	if err := s.check(f); err != nil {
		return nil, fmt.Errorf("%w: %w", errFacts, err)
	}
	return f, nil
}
