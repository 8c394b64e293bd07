package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// Dataset is the record of a durable dataset.
type Dataset struct {
	Name       string
	Generation string
	Schema     []byte // as its owner writes it
	Codec      string
	Created    time.Time
	Expires    time.Time // zero: never
	Pinned     bool

	SortedBy     []string // nil: no known order
	OrderDropped bool     // there was one
	First, Last  []byte   // the order's edges as their owner writes them; nil: none

	Runs []Run // the batches, in row order
}

// Run is batches that follow each other in one segment.
type Run struct {
	Segment      string
	First, Count int   // of the batches in the segment; Count is 1 or more
	Rows         int64 // of them all
}

// Put is the id of a durable put, and the answer that it was given.
type Put struct {
	Name  string // of the put, among all
	At    time.Time
	Facts []byte
	What  string // the put was, for comparison with one that is sent again; "" for unknown
}

// Bounds of what a record holds.
const (
	// MaxRecord is the most bytes of one record.
	MaxRecord = 64 << 20
	// MaxRunBatches is the most batches of one run. What a file says is believed no further.
	MaxRunBatches = 1 << 20
)

const recordVersion = 1

// The flags of a dataset's record.
const (
	flagPinned = 1 << iota
	flagExpires
	flagSorted
	flagEdges
	flagOrderDropped
)

// headBytes are in front of every record: its version and its checksum.
const headBytes = 5

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is that of a record under its key in a bucket.
func checksum(bucket, key, body []byte) uint32 {
	c := crc32.Update(0, castagnoli, bucket)
	c = crc32.Update(c, castagnoli, binary.LittleEndian.AppendUint32([]byte{0}, uint32(len(key))))
	c = crc32.Update(c, castagnoli, key)
	return crc32.Update(c, castagnoli, body)
}

// seal puts the head into its place. The record's first headBytes are room for it.
func seal(bucket, key, record []byte) ([]byte, error) {
	if len(record) > MaxRecord {
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(record), MaxRecord)
	}
	record[0] = recordVersion
	binary.LittleEndian.PutUint32(record[1:], checksum(bucket, key, record[headBytes:]))
	return record, nil
}

// unseal checks a record's head and gives its body. ErrVersion, ErrDamaged.
func unseal(bucket, key, record []byte) ([]byte, error) {
	if len(record) < headBytes {
		return nil, fmt.Errorf("%w: a record of %d bytes", ErrDamaged, len(record))
	}
	body := record[headBytes:]
	// The checksum first: a version that it does not confirm is damage.
	if got, want := checksum(bucket, key, body), binary.LittleEndian.Uint32(record[1:]); record[0] == recordVersion && got != want {
		return nil, fmt.Errorf("%w: the checksum of a record is wrong", ErrDamaged)
	}
	if record[0] != recordVersion {
		return nil, fmt.Errorf("%w %d of a record; this program writes %d", ErrVersion, record[0], recordVersion)
	}
	return body, nil
}

// encodeDataset gives the record of a dataset. ErrTooLarge.
func encodeDataset(d *Dataset) ([]byte, error) {
	b := make([]byte, headBytes, headBytes+128+len(d.Schema)+24*len(d.Runs))
	var flags byte
	if d.Pinned {
		flags |= flagPinned
	}
	if !d.Expires.IsZero() {
		flags |= flagExpires
	}
	if d.SortedBy != nil {
		flags |= flagSorted
	}
	if d.OrderDropped {
		flags |= flagOrderDropped
	}
	if d.First != nil && d.Last != nil {
		flags |= flagEdges
	}
	b = append(b, flags)
	b = appendBytes(b, d.Generation)
	b = appendBytes(b, d.Schema)
	b = appendBytes(b, d.Codec)
	b = binary.AppendVarint(b, d.Created.UnixNano())
	if flags&flagExpires != 0 {
		b = binary.AppendVarint(b, d.Expires.UnixNano())
	}
	if flags&flagSorted != 0 {
		b = binary.AppendUvarint(b, uint64(len(d.SortedBy)))
		for _, key := range d.SortedBy {
			b = appendBytes(b, key)
		}
	}
	if flags&flagEdges != 0 {
		b = appendBytes(b, d.First)
		b = appendBytes(b, d.Last)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Runs)))
	for _, r := range d.Runs {
		b = appendBytes(b, r.Segment)
		b = binary.AppendUvarint(b, uint64(r.First))
		b = binary.AppendUvarint(b, uint64(r.Count))
		b = binary.AppendUvarint(b, uint64(r.Rows))
	}
	return seal(datasetsBucket, []byte(d.Name), b)
}

// decodeDataset reads a record. Nothing of it is kept. ErrVersion, ErrDamaged.
func decodeDataset(name, record []byte) (Dataset, error) {
	body, err := unseal(datasetsBucket, name, record)
	if err != nil {
		return Dataset{}, err
	}
	r := reader{b: body}
	d := Dataset{Name: string(name)}
	flags := r.byte()
	d.Pinned, d.OrderDropped = flags&flagPinned != 0, flags&flagOrderDropped != 0
	d.Generation = string(r.bytes())
	d.Schema = append([]byte{}, r.bytes()...)
	d.Codec = string(r.bytes())
	d.Created = r.time()
	if flags&flagExpires != 0 {
		d.Expires = r.time()
	}
	if flags&flagSorted != 0 {
		d.SortedBy = make([]string, 0, r.count(1))
		for range cap(d.SortedBy) {
			d.SortedBy = append(d.SortedBy, string(r.bytes()))
		}
	}
	if flags&flagEdges != 0 {
		d.First, d.Last = append([]byte{}, r.bytes()...), append([]byte{}, r.bytes()...)
	}
	if n := r.count(4); n > 0 {
		d.Runs = make([]Run, n)
	}
	for i := range d.Runs {
		d.Runs[i] = Run{Segment: string(r.bytes()), First: int(r.most(math.MaxInt32)), Count: int(r.most(MaxRunBatches)), Rows: int64(r.most(math.MaxInt64))}
		r.bad = r.bad || d.Runs[i].Count == 0
	}
	if err := r.end(); err != nil {
		return Dataset{}, err
	}
	return d, nil
}

// encodePut gives the record of a put under its key. ErrTooLarge.
func encodePut(key []byte, p *Put) ([]byte, error) {
	b := make([]byte, headBytes, headBytes+32+len(p.Name)+len(p.Facts))
	b = binary.AppendVarint(b, p.At.UnixNano())
	b = appendBytes(b, p.Name)
	b = appendBytes(b, p.Facts)
	if p.What != "" {
		b = appendBytes(b, p.What)
	}
	return seal(putsBucket, key, b)
}

// decodePut reads a record. Nothing of it is kept. ErrVersion, ErrDamaged.
func decodePut(key, record []byte) (Put, error) {
	body, err := unseal(putsBucket, key, record)
	if err != nil {
		return Put{}, err
	}
	r := reader{b: body}
	p := Put{At: r.time(), Name: string(r.bytes()), Facts: append([]byte{}, r.bytes()...)}
	if len(r.b) > 0 {
		p.What = string(r.bytes())
	}
	if err := r.end(); err != nil {
		return Put{}, err
	}
	return p, nil
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader reads the parts of a record. What it gives after something was wrong is zero.
type reader struct {
	b   []byte
	bad bool
}

var errParts = errors.New("a record does not have its parts")

// end tells whether the record was read to its end and no further. ErrDamaged.
func (r *reader) end() error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %w", ErrDamaged, errParts)
	}
	return nil
}

func (r *reader) byte() byte {
	if r.bad || len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// most is a number that is no larger than it may be.
func (r *reader) most(limit uint64) uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 || n > limit {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count is the number of parts to come, each of so many bytes or more.
func (r *reader) count(least int) int { return int(r.most(uint64(len(r.b) / least))) }

func (r *reader) bytes() []byte {
	n := int(r.most(uint64(len(r.b))))
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) time() time.Time {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return time.Time{}
	}
	r.b = r.b[size:]
	return time.Unix(0, n).UTC()
}
