package segment

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// What a message is, for errors.
const (
	aBatch      = "batch"
	aDictionary = "dictionary"
)

// Batch gives the facts of batch i, which are the caller's. Of a segment it reads no more than the footer, unless the batch
// has custom metadata; of a file of another program, the header. Those of a segment are as they were written, in order and
// within their body. Errors are [ErrDamaged], [ErrUnsupported] or the system's.
func (f *File) Batch(i int) (Facts, error) {
	facts, err := f.factsOf(fieldBatch, f.batches[i], i, f.shared.shape)
	if err != nil {
		return Facts{}, f.in(aBatch, i, err)
	}
	return *facts, nil
}

// Dictionary gives the id, the identity and the facts of dictionary i. The identity is empty in files of other programs.
// Errors are as of [File.Batch].
func (f *File) Dictionary(i int) (id int64, uid string, facts Facts, err error) {
	m := f.dictionaries[i]
	x, err := f.factsOf(fieldDictionary, m, i, f.shared.values[m.id])
	if err != nil {
		return 0, "", Facts{}, f.in(aDictionary, i, err)
	}
	return m.id, m.uid, *x, nil
}

func (f *File) factsOf(field int, m *message, i int, s *shape) (*Facts, error) {
	if f.foreign {
		kind := arrowipc.HeaderRecordBatch
		if field == fieldDictionary {
			kind = arrowipc.HeaderDictionaryBatch
		}
		return f.foreignFacts(m, s, kind)
	}
	known, err := f.loadFacts()
	if err != nil {
		return nil, err
	}
	list := known.batches
	if field == fieldDictionary {
		list = known.dictionaries
	}
	e, err := parseEntry(list[i])
	if err != nil {
		return nil, damaged("%v", err)
	}
	facts, err := e.read(s)
	if err != nil {
		return nil, damaged("%v", err)
	}
	if e.metadata {
		message, err := f.readMessage(m)
		if err != nil {
			return nil, err
		}
		facts.Metadata = message.Metadata
	}
	return facts, nil
}

// loadFacts gives the facts of a segment, from memory or from the footer.
func (f *File) loadFacts() (*blob, error) {
	if known := f.facts.Load(); known != nil {
		return known, nil
	}
	raw := make([]byte, f.footer.length)
	if err := f.read(raw, f.footer.offset); err != nil {
		return nil, err
	}
	if checksum(raw) != f.footer.checksum {
		return nil, damaged("the footer was changed after it had been opened")
	}
	footer, err := arrowipc.ReadFooter(raw, footerLimits(f.limits))
	if err != nil {
		return nil, damaged("%v", err)
	}
	known, err := segmentFacts(raw, footer)
	if err != nil {
		return nil, err
	}
	f.facts.Store(known)
	return known, nil
}

// readMessage reads the header of a message; of a segment it is checked by its checksum.
func (f *File) readMessage(m *message) (*arrowipc.Message, error) {
	raw := make([]byte, m.header)
	if err := f.read(raw, m.offset); err != nil {
		return nil, err
	}
	if !f.foreign && checksum(raw) != m.checksum {
		return nil, damaged("its header is not what was written")
	}
	flatbuffer, err := arrowipc.EncapsulatedMessage(raw, f.limits)
	if err != nil {
		return nil, refused(f.foreign, "its header", err)
	}
	message, err := arrowipc.ReadMessage(flatbuffer, f.limits)
	if err != nil {
		return nil, refused(f.foreign, "its header", err)
	}
	return message, nil
}

// ReadBatch reads the stored bytes of the top-level columns [first, last) of batch i, whose header the caller has from
// [File.Batch], into dst, which is as long as [Range] says. Each column is checked by its checksum, if there is one: there is
// none in a file of another program until [File.TrustColumn]. After an error dst holds nothing of use. Errors are [ErrDamaged],
// naming file and batch, or the system's.
func (f *File) ReadBatch(i int, h *arrowipc.RecordBatch, first, last int, dst []byte) error {
	m := f.batches[i]
	l := f.shared.schema.Layout
	start, length := Range(l, h, m.body, first, last)
	if int64(len(dst)) != length {
		return f.in(aBatch, i, fmt.Errorf("columns %d to %d have %d bytes, not %d", first, last, length, len(dst)))
	}
	if err := f.read(dst, m.offset+int64(m.header)+start); err != nil {
		return f.in(aBatch, i, err)
	}
	if f.foreign && !InOrder(h) {
		return nil // the body as a whole; it has no runs
	}
	wrong := -1
	runs(l, h, m.body, first, last, func(column int, from, to int64) {
		if sum, known := m.sum(column); known && wrong < 0 && checksum(dst[from-start:to-start]) != sum {
			wrong = column
		}
	})
	if wrong >= 0 {
		return f.in(aBatch, i, damaged("the bytes of column %q are not what was written", l.Columns[wrong].Field.Name))
	}
	return nil
}

// ReadDictionary reads the whole body of dictionary i into dst, which is as long as it, and checks it like [File.ReadBatch].
func (f *File) ReadDictionary(i int, dst []byte) error {
	m := f.dictionaries[i]
	if int64(len(dst)) != m.body {
		return f.in(aDictionary, i, fmt.Errorf("its body has %d bytes, not %d", m.body, len(dst)))
	}
	if err := f.read(dst, m.offset+int64(m.header)); err != nil {
		return f.in(aDictionary, i, err)
	}
	if sum, known := m.sum(0); known && checksum(dst) != sum {
		return f.in(aDictionary, i, damaged("its bytes are not what was written"))
	}
	return nil
}
