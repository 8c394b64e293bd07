package segment

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
)

// tailGuess is what is read of a file's end at first: the footers of most files are in it.
const tailGuess = 32 << 10

// Open opens a segment and reads its footer and its schema, both checked, and nothing else. The error is [ErrDamaged] for a
// file that is no whole segment, and that of the system where there is none or it cannot be opened.
func (p *Pool) Open(path string, lim arrowipc.Limits) (*File, error) {
	return p.openFile(path, lim, false)
}

// OpenAny is [Pool.Open] of an Arrow IPC file that another program may have written: then it is [File.Foreign], its schema
// is that of its footer, and the headers of its dictionaries are read too. What it uses that is not handled is
// [ErrUnsupported]: delta dictionaries, big-endian data, types of a later format version.
func (p *Pool) OpenAny(path string, lim arrowipc.Limits) (*File, error) {
	return p.openFile(path, lim, true)
}

func (p *Pool) openFile(path string, lim arrowipc.Limits, foreign bool) (*File, error) {
	file, info, err := openRegular(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	o := &opening{file: file, size: info.Size(), lim: lim.WithDefaults(), foreign: foreign}
	schema, err := o.read()
	if err != nil {
		file.Close()
		return nil, fileError(path, readError(err))
	}
	f := &File{
		pool: p, path: path, info: info, limits: o.lim, shared: p.share(schema), foreign: o.blob == nil, footer: o.place,
		dictionaries: o.dictionaries, batches: o.batches,
	}
	f.facts.Store(o.blob)
	d, err := p.use(f, file)
	if err == nil {
		p.release(d)
		if f.foreign {
			err = f.readDictionaryIDs()
		}
	}
	if err != nil {
		f.Close()
		return nil, fileError(path, readError(err))
	}
	return f, nil
}

// opening is a file that is being opened.
type opening struct {
	file    *os.File
	size    int64
	lim     arrowipc.Limits
	foreign bool // it may be of another program

	tail   []byte // the file's end
	place  place  // of the footer
	footer *arrowipc.Footer
	blob   *blob // nil in a file of another program

	dictionaries []*message
	batches      []*message
}

// footerLimits are the limits of a footer: it has the facts beside what a schema message has.
func footerLimits(lim arrowipc.Limits) arrowipc.Limits {
	lim = lim.WithDefaults()
	lim.MetadataBytes += base64.StdEncoding.EncodedLen(maxFacts) + 4096
	// A copy of a schema may take twice what its message took; the rest is for the facts and for as many blocks as they allow.
	lim.HeaderBytes = 2*lim.HeaderBytes + 4*maxFacts
	return lim
}

// read reads and checks what a file says of itself, and gives its schema.
func (o *opening) read() (*arrowipc.Schema, error) {
	raw, err := o.readFooter()
	if err != nil {
		return nil, err
	}
	if o.footer, err = arrowipc.ReadFooter(raw, footerLimits(o.lim)); err != nil {
		return nil, refused(o.foreign, "its footer", err)
	}
	if !o.foreign || isSegment(o.footer) {
		if o.blob, err = segmentFacts(raw, o.footer); err != nil {
			return nil, err
		}
		o.place.checksum = checksum(raw)
	}
	first, err := o.checkBlocks()
	if err != nil {
		return nil, err
	}
	schema, err := o.readSchema(first)
	if err != nil {
		return nil, err
	}
	return schema, o.note(schema.Layout)
}

// readFooter finds the footer and reads it.
func (o *opening) readFooter() ([]byte, error) {
	if o.size < int64(len(magic)+tailBytes) {
		return nil, damaged("%d bytes are too short for an Arrow IPC file", o.size)
	}
	tail := make([]byte, min(o.size, tailGuess))
	if _, err := o.file.ReadAt(tail, o.size-int64(len(tail))); err != nil {
		return nil, err
	}
	o.tail = tail
	end := tail[len(tail)-tailBytes:]
	if string(end[4:]) != magic {
		return nil, damaged("it does not end as an Arrow IPC file does: it was cut short, or is none (but a stream, or Feather of version 1)")
	}
	length := int64(int32(binary.LittleEndian.Uint32(end)))
	o.place.offset = o.size - int64(tailBytes) - length
	if length <= 0 || o.place.offset < int64(len(magic)) {
		return nil, damaged("a footer of %d bytes in a file of %d", length, o.size)
	}
	if most := int64(footerLimits(o.lim).HeaderBytes); length > most {
		return nil, damaged("a footer of %d bytes, where %d are allowed", length, most)
	}
	o.place.length = int(length)
	raw := make([]byte, length)
	return raw, o.readAt(raw, o.place.offset)
}

// readAt fills dst, from the tail if it is in it.
func (o *opening) readAt(dst []byte, offset int64) error {
	if at := offset - (o.size - int64(len(o.tail))); at >= 0 {
		copy(dst, o.tail[at:])
		return nil
	}
	_, err := o.file.ReadAt(dst, offset)
	return err
}

// isSegment reports whether a footer says that it is a segment's. Either key does: a changed byte in one makes a file no
// other program's.
func isSegment(f *arrowipc.Footer) bool {
	return slices.ContainsFunc(f.Metadata, func(kv arrowipc.KeyValue) bool { return kv.Key == factsKey || kv.Key == checksumKey })
}

// segmentFacts checks a segment's footer by its checksum and gives the facts in it.
func segmentFacts(raw []byte, footer *arrowipc.Footer) (*blob, error) {
	m := footer.Metadata
	if len(m) != 2 || m[0].Key != factsKey || m[1].Key != checksumKey || len(m[1].Value) != 8 {
		return nil, damaged("its footer is not that of a segment")
	}
	if m[1].Value != footerChecksum(raw, footer.ValueAt(1)) {
		return nil, damaged("its footer is not what was written")
	}
	b, err := parseBlob(m[0].Value, len(footer.Dictionaries), len(footer.Batches))
	if err != nil {
		return nil, damaged("%v", err)
	}
	return b, nil
}

// checkBlocks checks that the messages lie between the file's beginning and its footer, and apart. It gives the place of
// the first, or, if there is none, of what ends them.
func (o *opening) checkBlocks() (first int64, err error) {
	all := slices.Concat(o.footer.Dictionaries, o.footer.Batches)
	slices.SortFunc(all, func(a, b arrowipc.Block) int { return cmp.Compare(a.Offset, b.Offset) })
	end := int64(len(magic))
	for _, b := range all {
		if b.Offset < end || b.End() > o.place.offset {
			return 0, damaged("a message of %d bytes at %d, where the one before ends at %d and the footer begins at %d",
				b.End()-b.Offset, b.Offset, end, o.place.offset)
		}
		if int(b.Header) > o.lim.HeaderBytes+prefixBytes+bodyAlignment {
			return 0, damaged("a header of %d bytes, where %d are allowed", b.Header, o.lim.HeaderBytes)
		}
		end = b.End()
	}
	if len(all) > 0 {
		return all[0].Offset, nil
	}
	return o.place.offset - prefixBytes, nil
}

// readSchema checks the file's beginning and gives the schema: of a segment the message there, of another file that of the
// footer, which is what other readers take.
func (o *opening) readSchema(first int64) (*arrowipc.Schema, error) {
	length := int64(len(magic))
	if o.blob != nil {
		length = first
	}
	if length < int64(len(magic)) || length > int64(o.lim.HeaderBytes+4*prefixBytes) {
		return nil, damaged("%d bytes before its first batch", length)
	}
	begin := make([]byte, length)
	if err := o.readAt(begin, 0); err != nil {
		return nil, err
	}
	if string(begin[:len(magic)]) != magic {
		return nil, damaged("it does not begin as an Arrow IPC file does")
	}
	if o.blob == nil {
		schema, err := o.footer.Schema()
		if err != nil {
			return nil, refused(true, "its schema", err)
		}
		return schema, nil
	}
	message := begin[min(len(magic)+2, len(begin)):]
	n := o.blob.schemaBytes
	if checksum(message) != o.blob.schema || len(message) < prefixBytes || n > uint64(len(message)-prefixBytes) {
		return nil, damaged("its schema is not what was written")
	}
	schema, err := arrowipc.ParseSchema(message[prefixBytes:prefixBytes+n], o.lim)
	if err != nil {
		return nil, refused(false, "its schema", err)
	}
	return schema, o.checkFrame(begin)
}

// checkFrame checks the bytes of a segment that nothing is read from: those behind the first magic, and those that end the
// messages.
func (o *opening) checkFrame(begin []byte) error {
	var end [prefixBytes]byte
	if err := o.readAt(end[:], o.place.offset-prefixBytes); err != nil {
		return err
	}
	if string(begin[len(magic):len(magic)+2]) != "\x00\x00" || string(end[:]) != "\xff\xff\xff\xff\x00\x00\x00\x00" {
		return damaged("the bytes between its parts are not what was written")
	}
	return nil
}

// note notes where the messages are and, of a segment, what the facts say of them.
func (o *opening) note(l *arrowipc.Layout) error {
	for i, b := range o.footer.Dictionaries {
		m := &message{offset: b.Offset, header: b.Header, body: b.Body}
		if o.blob == nil {
			m.trusted = make([]atomic.Uint64, 1)
		} else {
			if i >= len(l.Dictionaries) {
				return damaged("%d dictionaries, where its schema has %d", len(o.footer.Dictionaries), len(l.Dictionaries))
			}
			if err := m.known(o.blob.dictionaries[i], 1); err != nil {
				return fmt.Errorf("dictionary %d: %w", i, err)
			}
			m.id = l.Dictionaries[i].ID
		}
		o.dictionaries = append(o.dictionaries, m)
	}
	for i, b := range o.footer.Batches {
		m := &message{offset: b.Offset, header: b.Header, body: b.Body}
		if o.blob == nil {
			m.trusted = make([]atomic.Uint64, len(l.Columns))
		} else {
			if err := m.known(o.blob.batches[i], len(l.Columns)); err != nil {
				return fmt.Errorf("batch %d: %w", i, err)
			}
		}
		o.batches = append(o.batches, m)
	}
	if o.blob != nil && len(o.batches) > 0 && len(o.dictionaries) != len(l.Dictionaries) {
		return damaged("%d dictionaries, where its schema has %d", len(o.dictionaries), len(l.Dictionaries))
	}
	return nil
}

// known takes from a batch's facts what the file keeps in memory. There are so many columns.
func (m *message) known(facts []byte, columns int) error {
	e, err := parseEntry(facts)
	if err != nil {
		return damaged("%v", err)
	}
	if (e.facts.Body+7)&^7 != m.body || (m.offset+int64(m.header))%8 != 0 {
		return damaged("a body of %d bytes in a block of %d at %d", e.facts.Body, m.body, m.offset+int64(m.header))
	}
	if len(e.runs) != 4*columns {
		return damaged("%d bytes of checksums for %d columns", len(e.runs), columns)
	}
	m.runs = make([]uint32, columns)
	for i := range m.runs {
		m.runs[i] = binary.LittleEndian.Uint32(e.runs[4*i:])
	}
	m.body, m.checksum, m.uid = e.facts.Body, e.message, string(e.uid)
	return nil
}
