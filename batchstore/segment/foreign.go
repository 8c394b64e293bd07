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

// Trust notes the checksums of batch i of another program's file, whose whole body and header the caller has found to be in
// order and right: later reads of it are checked by them. It does nothing if they are noted already, or if the buffers do not
// lie in order.
func (f *File) Trust(i int, h *arrowipc.RecordBatch, body []byte) {
	if !InOrder(h) {
		return
	}
	sums := runChecksums(f.shared.schema.Layout, h, body)
	f.batches[i].runs.CompareAndSwap(nil, &sums)
}

// TrustDictionary is [File.Trust] of dictionary i.
func (f *File) TrustDictionary(i int, body []byte) {
	sums := []uint32{checksum(body)}
	f.dictionaries[i].runs.CompareAndSwap(nil, &sums)
}
