package segment

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/arrowipc"
)

const (
	magic = "ARROW1"
	// bodyAlignment is what bodies begin at multiples of in the file: a reader that maps it then has its buffers where
	// vector instructions like them.
	bodyAlignment = 64
	// continuation comes before the length of a message; with a length of 0 it ends the messages.
	continuation = 0xFFFFFFFF
	// tailBytes are those behind the footer: its length and the magic.
	tailBytes = 4 + len(magic)
	// prefixBytes are those before a message's flatbuffer.
	prefixBytes = 8

	// TemporarySuffix ends the name of a file that is not whole. What is left of one after a crash may be removed.
	TemporarySuffix = ".tmp"
)

// Writer writes one segment. It belongs to one goroutine, and ends with Finish or Abort.
//
// An error of the system, such as a full disk, ends it as Abort does. Other errors leave it as it was.
type Writer struct {
	pool   *Pool
	shared *shared
	path   string
	file   *os.File // nil when it has ended
	err    error    // why it has ended

	size    int64  // written
	ahead   []byte // to be written before what comes next: small parts go out together
	builder arrowipc.HeaderBuilder

	facts        []byte // as in the footer, without base64
	dictionaries []*message
	batches      []*message
}

// Create begins a segment of batches of this schema. It writes to path with [TemporarySuffix]; that there is no such file
// must be so. The schema stays the caller's, who leaves it as it is.
func (p *Pool) Create(path string, schema *arrowipc.Schema) (*Writer, error) {
	file, err := os.OpenFile(path+TemporarySuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fileError(path, err)
	}
	w := &Writer{pool: p, shared: p.share(schema), path: path, file: file}
	w.ahead = append(w.ahead, magic+"\x00\x00"...)
	w.ahead = append(w.ahead, schema.Encapsulated()...)
	w.facts = append(w.facts, factsVersion)
	w.facts = protowire.AppendTag(w.facts, fieldSchema, protowire.Fixed32Type)
	w.facts = protowire.AppendFixed32(w.facts, checksum(schema.Encapsulated()))
	w.facts = appendNumber(w.facts, fieldSchemaBytes, uint64(len(schema.Message())))
	return w, nil
}

// AddDictionary writes a dictionary, before the first batch. There is to be one of each id of the schema, in the order of
// its layout's Dictionaries. The uid, at most 64 bytes, is an identity: the same in all files that carry that dictionary. Of
// the facts, Body is taken from the body, which is only read.
func (w *Writer) AddDictionary(id int64, uid string, f Facts, body []byte) error {
	layouts := w.shared.schema.Layout.Dictionaries
	n := len(w.dictionaries)
	switch {
	case len(w.batches) > 0:
		return fmt.Errorf("dictionary %d comes after a batch", id)
	case n == len(layouts) || layouts[n].ID != id:
		return fmt.Errorf("dictionary %d is not the one that the schema has at %d", id, n)
	case len(uid) > maxUID:
		return fmt.Errorf("dictionary %d has an identity of %d bytes, where %d are allowed", id, len(uid), maxUID)
	}
	f.Metadata = nil
	x, err := w.add(w.shared.values[id], fieldDictionary, &f, body, uid, func(length int64) []byte {
		return w.builder.DictionaryBatch(id, false, &f.Header, length)
	})
	if err != nil {
		return err
	}
	x.id, x.uid = id, uid
	w.dictionaries = append(w.dictionaries, x)
	return nil
}

// AddBatch writes a batch. Of the facts, Body is taken from the body, which is only read. The error is [ErrFull] if the
// segment must be finished before one more.
func (w *Writer) AddBatch(f Facts, body []byte) error {
	if n := len(w.shared.schema.Layout.Dictionaries); len(w.dictionaries) != n {
		return fmt.Errorf("a batch comes after %d of %d dictionaries", len(w.dictionaries), n)
	}
	x, err := w.add(w.shared.shape, fieldBatch, &f, body, "", func(length int64) []byte {
		return w.builder.RecordBatch(&f.Header, length, f.Metadata)
	})
	if err != nil {
		return err
	}
	w.batches = append(w.batches, x)
	return nil
}

// add writes one message, whose flatbuffer build makes for a body of so many bytes.
func (w *Writer) add(s *shape, field protowire.Number, f *Facts, body []byte, uid string, build func(int64) []byte) (*message, error) {
	if w.file == nil {
		return nil, w.ended()
	}
	f.Body = int64(len(body))
	if err := s.check(f); err != nil {
		return nil, fmt.Errorf("it cannot be stored in a segment: %w", err)
	}
	padded := (f.Body + 7) &^ 7
	flatbuffer := build(padded)

	// The message begins where what is there ends; its metadata is padded until the body lies as it should.
	at := w.size + int64(len(w.ahead))
	end := (at + prefixBytes + int64(len(flatbuffer)) + bodyAlignment - 1) &^ (bodyAlignment - 1)
	start := len(w.ahead)
	ahead := binary.LittleEndian.AppendUint32(w.ahead, continuation)
	ahead = binary.LittleEndian.AppendUint32(ahead, uint32(end-at-prefixBytes))
	ahead = append(ahead, flatbuffer...)
	ahead = append(ahead, make([]byte, int(end-at)-(len(ahead)-start))...)
	x := &message{offset: at, header: int32(end - at), body: f.Body, checksum: checksum(ahead[start:])}
	x.runs = runChecksums(s.layout, &f.Header, body)

	e := appendEntry(nil, s, f, x.checksum, x.runs, uid)
	if len(w.facts)+len(e)+16 > maxFacts {
		if len(w.batches) == 0 {
			return nil, fmt.Errorf("its facts take %d bytes, more than a segment has for them", len(e))
		}
		return nil, fmt.Errorf("%w: the facts of its batches take %d bytes, and this one's %d", ErrFull, len(w.facts), len(e))
	}
	if err := w.write(ahead, body); err != nil {
		return nil, err
	}
	w.facts = protowire.AppendBytes(protowire.AppendTag(w.facts, field, protowire.BytesType), e)
	w.ahead = append(w.ahead[:0], make([]byte, padded-f.Body)...)
	return x, nil
}

// write writes parts one behind the other, straight from where they are. On an error the writer has ended.
func (w *Writer) write(parts ...[]byte) error {
	for _, part := range parts {
		n, err := w.file.Write(part)
		w.size += int64(n)
		if err != nil { // of a short write too
			return w.fail(err)
		}
	}
	return nil
}

// fail ends the writer because of an error, which it gives.
func (w *Writer) fail(err error) error {
	err = fileError(w.path, err)
	w.Abort()
	w.err = err
	return err
}

func (w *Writer) ended() error {
	if w.err != nil {
		return w.err
	}
	return fileError(w.path, ErrClosed)
}

// Size is what the file will have at least, in bytes, if it is finished now.
func (w *Writer) Size() int64 {
	blocks := len(w.dictionaries) + len(w.batches)
	return w.size + int64(len(w.ahead)+len(w.shared.schema.Message())+base64.StdEncoding.EncodedLen(len(w.facts))+24*blocks+tailBytes)
}

// Finish writes the footer and gives the file its name, in place of any that has it. With sync, it returns when both are on
// disk; else [File.Sync] does that later. On an error nothing is left of the file. The caller owns the File and closes it.
func (w *Writer) Finish(sync bool) (*File, error) {
	if w.file == nil {
		return nil, w.ended()
	}
	if n := len(w.shared.schema.Layout.Dictionaries); len(w.dictionaries) != n && len(w.batches) > 0 {
		return nil, fmt.Errorf("%d of %d dictionaries were added", len(w.dictionaries), n)
	}
	footer, err := w.footer()
	if err != nil {
		return nil, w.fail(err)
	}
	tail := binary.LittleEndian.AppendUint32(w.ahead, continuation)
	tail = binary.LittleEndian.AppendUint32(tail, 0)
	at := place{offset: w.size + int64(len(tail)), length: len(footer), checksum: checksum(footer)}
	tail = append(tail, footer...)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(footer)))
	if err := w.write(append(tail, magic...)); err != nil {
		return nil, err
	}
	info, err := w.publish(sync)
	if err != nil {
		return nil, err
	}
	f := &File{pool: w.pool, path: w.path, info: info, shared: w.shared, footer: at, dictionaries: w.dictionaries, batches: w.batches}
	f.synced.Store(sync)
	file := w.file
	w.file = nil // the file's, and so is the share of the schema
	if d, err := w.pool.use(f, file); err == nil {
		w.pool.release(d)
	}
	return f, nil
}

// publish gives the file its name.
func (w *Writer) publish(sync bool) (os.FileInfo, error) {
	info, err := w.file.Stat()
	if err == nil && sync {
		err = w.file.Sync()
	}
	if err == nil {
		err = os.Rename(w.path+TemporarySuffix, w.path)
	}
	if err != nil {
		return nil, w.fail(err)
	}
	if sync {
		if err := syncFolder(w.path); err != nil {
			os.Remove(w.path)
			return nil, w.fail(err)
		}
	}
	return info, nil
}

// syncFolder makes the name of a file durable.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// footer makes the footer with its checksum.
func (w *Writer) footer() ([]byte, error) {
	meta := []arrowipc.KeyValue{
		{Key: factsKey, Value: base64.StdEncoding.EncodeToString(w.facts)},
		{Key: checksumKey, Value: "00000000"},
	}
	raw, err := arrowipc.BuildFooter(w.shared.schema, blocks(w.dictionaries), blocks(w.batches), meta)
	if err != nil {
		return nil, err
	}
	footer, err := arrowipc.ReadFooter(raw, footerLimits(w.shared.schema.Limits()))
	if err != nil {
		return nil, err
	}
	digits := footer.ValueAt(1)
	copy(raw[digits:], footerChecksum(raw, digits))
	return raw, nil
}

func blocks(list []*message) []arrowipc.Block {
	out := make([]arrowipc.Block, len(list))
	for i, m := range list {
		out[i] = arrowipc.Block{Offset: m.offset, Header: m.header, Body: (m.body + 7) &^ 7}
	}
	return out
}

// Abort ends the writer and removes what it has written. After Finish, or an error of the system, it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	os.Remove(w.path + TemporarySuffix)
	w.file = nil
	w.pool.mu.Lock()
	w.pool.unshare(w.shared)
	w.pool.mu.Unlock()
}
