package arrowipc

import (
	"encoding/binary"
	"fmt"
)

const (
	// maxHeaderBytes caps Limits.HeaderBytes: the flatbuffers builder, which copies schemas, ends at 1 GiB.
	maxHeaderBytes = 256 << 20

	// keyValueCost is what an entry of custom metadata counts against Limits.MetadataBytes besides its strings: about
	// the memory that a KeyValue takes, so that many empty entries are no way around the limit.
	keyValueCost = 32
)

// verifier checks one message header. Tables, strings and vectors may lie at any address and may be shared, as
// flatbuffers allows; what is shared counts as often as it is reached, so the work and the memory of reading or copying
// a verified header are bounded by these counters and not by how its parts refer to each other.
type verifier struct {
	buf    []byte
	lim    Limits
	tables int // visits of tables that are left
	bytes  int // bytes that a copy in which nothing is shared may still take

	fields   int      // seen so far
	path     []string // names down to the field being looked at; of that itself, once it has been read
	metadata int      // bytes of custom metadata so far
}

// verify checks a whole header, from the Message down, and gives its root table.
func verify(hdr []byte, lim Limits) (view, error) { return verifyAs(messageTable, hdr, lim) }

// verifyAs checks a whole flatbuffer whose root is a table of that description.
func verifyAs(t *table, hdr []byte, lim Limits) (view, error) {
	lim = lim.WithDefaults()
	lim.HeaderBytes = min(lim.HeaderBytes, maxHeaderBytes)
	if len(hdr) > lim.HeaderBytes {
		return view{}, overLimit(lim.HeaderBytes, len(hdr), "bytes of header")
	}
	if len(hdr) < 8 {
		return view{}, malformed("a header of %d bytes is too short to be one", len(hdr))
	}
	// A table and the reference to it take eight bytes, where tables are not shared: this is generous, yet linear.
	v := &verifier{buf: hdr, lim: lim, tables: len(hdr), bytes: lim.HeaderBytes}
	root, err := v.follow(t, "root", 0)
	if err != nil {
		return view{}, err
	}
	if err := v.table(t, root); err != nil {
		return view{}, err
	}
	return newView(hdr, root), nil
}

// table checks the table that starts at pos, which is inside the buffer, and all that hangs on it.
func (v *verifier) table(t *table, pos int) error {
	if v.tables--; v.tables < 0 {
		return malformed("its tables refer to each other too often")
	}
	if len(v.buf)-pos < 4 {
		return malformed("%s at byte %d is cut off", t.name, pos)
	}
	vtable64 := int64(pos) - int64(int32(binary.LittleEndian.Uint32(v.buf[pos:])))
	if vtable64 < 0 || vtable64 > int64(len(v.buf)-4) {
		return malformed("%s at byte %d: its vtable lies outside the header", t.name, pos)
	}
	vtable := int(vtable64)
	size := int(binary.LittleEndian.Uint16(v.buf[vtable:]))
	if size < 4 || size%2 != 0 || size > len(v.buf)-vtable {
		return malformed("%s at byte %d: a vtable of %d bytes", t.name, pos, size)
	}
	if err := v.spend(4); err != nil {
		return err
	}
	switch t {
	case fieldTable:
		if err := v.enterField(); err != nil {
			return err
		}
		defer func() { v.path = v.path[:len(v.path)-1] }()
	case keyValueTable:
		if err := v.spendMetadata(keyValueCost); err != nil {
			return err
		}
	}
	for i := range t.slots {
		entry := 4 + 2*i
		if entry >= size {
			break // written before this slot was added to the format
		}
		offset := int(binary.LittleEndian.Uint16(v.buf[vtable+entry:]))
		if offset == 0 {
			continue
		}
		s := &t.slots[i]
		if offset < 4 || offset > len(v.buf)-pos-s.inline() {
			return malformed("%s.%s lies outside the header", t.name, s.name)
		}
		if err := v.spend(s.inline()); err != nil {
			return err
		}
		if s.kind == slotScalar {
			continue
		}
		tag := byte(0)
		if s.kind == slotUnion {
			tag = newView(v.buf, pos).byte(i-1, 0)
		}
		if err := v.slot(t, s, pos+offset, tag); err != nil {
			return err
		}
		if t == fieldTable && i == fieldName {
			v.path[len(v.path)-1] = string(newView(v.buf, pos).bytes(fieldName))
		}
	}
	return nil
}

// slot checks what the offset at byte at, of slot s of table t, points to.
func (v *verifier) slot(t *table, s *slot, at int, tag byte) error {
	target, err := v.follow(t, s.name, at)
	if err != nil {
		return err
	}
	switch s.kind {
	case slotTable:
		return v.table(s.table, target)
	case slotUnion:
		if int(tag) >= len(s.members) || s.members[tag] == nil {
			return nil // unknown here; whoever reads the tag decides
		}
		return v.table(s.members[tag], target)
	case slotString:
		n, err := v.vector(t, s, target, 1)
		if err != nil {
			return err
		}
		return v.text(t, s, target+4+n, n)
	case slotVector:
		_, err := v.vector(t, s, target, s.size)
		return err
	}
	n, err := v.vector(t, s, target, 4)
	if err != nil {
		return err
	}
	for i := range n {
		element, err := v.follow(t, s.name, target+4+4*i)
		if err != nil {
			return err
		}
		if err := v.table(s.table, element); err != nil {
			return err
		}
	}
	return nil
}

// follow reads the offset at byte at and gives the position inside the buffer that it points to.
func (v *verifier) follow(t *table, slot string, at int) (int, error) {
	offset := binary.LittleEndian.Uint32(v.buf[at:])
	if offset == 0 || uint64(offset) >= uint64(len(v.buf)-at) {
		return 0, malformed("%s.%s points outside the header", t.name, slot)
	}
	return at + int(offset), nil
}

// vector checks that a vector at pos of elements of size bytes each lies inside the buffer and gives its length.
func (v *verifier) vector(t *table, s *slot, pos, size int) (int, error) {
	if len(v.buf)-pos < 4 {
		return 0, malformed("%s.%s is cut off", t.name, s.name)
	}
	n := binary.LittleEndian.Uint32(v.buf[pos:])
	if uint64(n)*uint64(size) > uint64(len(v.buf)-pos-4) {
		return 0, malformed("%s.%s of %d elements reaches beyond the header", t.name, s.name, n)
	}
	return int(n), v.spend(4 + int(n)*size)
}

// text checks the end of a string of n bytes and counts it against its limit.
func (v *verifier) text(t *table, s *slot, end, n int) error {
	if end >= len(v.buf) || v.buf[end] != 0 {
		return malformed("%s.%s is not terminated by a zero byte", t.name, s.name)
	}
	if s.charge == chargeMetadata {
		return v.spendMetadata(n)
	}
	if n > v.lim.NameBytes {
		return overLimit(v.lim.NameBytes, n, "bytes of "+t.name+"."+s.name)
	}
	return nil
}

// enterField counts a field whose name has not been read yet.
func (v *verifier) enterField() error {
	if v.fields++; v.fields > v.lim.Fields {
		return v.within(limited{overLimit(v.lim.Fields, v.fields, "fields or more"), ErrFields})
	}
	if len(v.path) == v.lim.Depth {
		return v.within(limited{overLimit(v.lim.Depth, len(v.path)+1, "levels of nested fields or more"), ErrDepth})
	}
	v.path = append(v.path, "")
	return nil
}

// within says in which field the verifier is.
func (v *verifier) within(err error) error {
	if len(v.path) == 0 {
		return err
	}
	return fmt.Errorf("%w, in field %s", err, quotePath(v.path))
}

func (v *verifier) spend(n int) error {
	if v.bytes -= n; v.bytes < 0 {
		return overLimit(v.lim.HeaderBytes, v.lim.HeaderBytes-v.bytes,
			"bytes of header or more, what is shared counted as often as it is used")
	}
	return nil
}

func (v *verifier) spendMetadata(n int) error {
	if v.metadata += n; v.metadata > v.lim.MetadataBytes {
		return limited{overLimit(v.lim.MetadataBytes, v.metadata, "bytes of custom metadata or more"), ErrMetadata}
	}
	return nil
}
