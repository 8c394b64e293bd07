package segment

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// readDictionaryIDs reads the headers of another program's dictionaries: their ids are nowhere else.
func (f *File) readDictionaryIDs() error {
	seen := map[int64]bool{}
	for i, m := range f.dictionaries {
		x, err := f.readMessage(m)
		switch {
		case err != nil:
			return fmt.Errorf("%s %d: %w", aDictionary, i, err)
		case x.Type != arrowipc.HeaderDictionaryBatch:
			return damaged("%s %d is a message of another kind", aDictionary, i)
		case f.shared.values[x.Dictionary] == nil:
			return damaged("%s %d has the id %d, which its schema does not have", aDictionary, i, x.Dictionary)
		case x.Delta:
			return fmt.Errorf("%w: dictionary %d is extended by a delta; write the file again with unified dictionaries", ErrUnsupported, x.Dictionary)
		case seen[x.Dictionary]:
			return fmt.Errorf("%w: dictionary %d is replaced; write the file again with unified dictionaries", ErrUnsupported, x.Dictionary)
		}
		seen[x.Dictionary] = true
		m.id = x.Dictionary
	}
	return nil
}

// foreignFacts reads the header of another program's batch and checks it against the schema. Buffers without bytes, which
// lie anywhere, are put in order.
func (f *File) foreignFacts(m *message, s *shape, kind arrowipc.HeaderType) (*Facts, error) {
	x, err := f.readMessage(m)
	switch {
	case err != nil:
		return nil, err
	case x.Type != kind:
		return nil, damaged("it is a message of another kind")
	case x.BodyLength > m.body:
		return nil, damaged("its header says a body of %d bytes, its footer one of %d", x.BodyLength, m.body)
	}
	if x.Version == arrowipc.VersionV4 {
		if err := s.layout.Upgrade(x.Batch); err != nil {
			return nil, refused(true, "its header", err)
		}
	}
	facts := &Facts{Header: *x.Batch, Metadata: x.Metadata, Body: m.body}
	if err := s.checkHeader(&facts.Header, facts.Body); err != nil {
		return nil, damaged("%v", err)
	}
	end := int64(0)
	for i := range facts.Header.Buffers {
		b := &facts.Header.Buffers[i]
		if b.Length == 0 {
			b.Offset = min((end+7)&^7, facts.Body)
		}
		end = b.Offset + b.Length
	}
	return facts, nil
}

// TrustColumn notes the checksum of a top-level column of batch i of another program's file. The caller, who has the column's
// bytes from [File.ReadBatch], has found them to be right: later reads are checked by it. The batch's buffers lie in order. It
// does nothing if there is a checksum already.
func (f *File) TrustColumn(i, column int, run []byte) { f.batches[i].trust(column, run) }

// TrustDictionary is [File.TrustColumn] of the whole body of dictionary i.
func (f *File) TrustDictionary(i int, body []byte) { f.dictionaries[i].trust(0, body) }

// Peek reads a part of the body of batch i, or of dictionary i, at an offset. It is not checked, but for lying in the body.
func (f *File) Peek(dictionary bool, i int, dst []byte, offset int64) error {
	m, what := f.batches, aBatch
	if dictionary {
		m, what = f.dictionaries, aDictionary
	}
	if offset < 0 || offset > m[i].body || int64(len(dst)) > m[i].body-offset {
		return f.in(what, i, damaged("%d bytes at %d are wanted of a body of %d", len(dst), offset, m[i].body))
	}
	if err := f.read(dst, m[i].offset+int64(m[i].header)+offset); err != nil {
		return f.in(what, i, err)
	}
	return nil
}
