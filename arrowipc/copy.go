package arrowipc

import flatbuffers "github.com/google/flatbuffers/go"

// copier copies tables of a verified header into a new flatbuffer, slot by slot after the tables' descriptions. What a
// slot holds is copied as it is, a value that equals the format's default included; slots that the descriptions do not
// have are left out. Shared parts come out unshared.
type copier struct {
	b        *flatbuffers.Builder
	most     int                 // bytes that the new flatbuffer may take
	exceeded bool                // it took more; what is being built is not finished
	decode   func(id int64) bool // dictionary encodings to leave out; nil for none
	version  uint16              // metadata version to write instead of the one that is there; 0 keeps it
}

// replacement is a value of a slot that has been built already, for a table that is copied otherwise.
type replacement struct {
	slot   int
	offset flatbuffers.UOffsetT
}

// table copies the table at v, which t describes. The zero replacement replaces nothing: its offset is 0.
func (c *copier) table(t *table, v view, with replacement) flatbuffers.UOffsetT {
	var inner [8]flatbuffers.UOffsetT // as many as any table has slots, and more
	for i := range t.slots {
		if with.offset != 0 && with.slot == i {
			inner[i] = with.offset
			continue
		}
		if t == fieldTable && i == fieldDictionary && c.decodes(v) {
			continue
		}
		inner[i] = c.outOfLine(t, i, v)
	}
	c.b.StartObject(len(t.slots))
	// Larger slots first: a table then has no gaps whatever slots it has.
	for _, size := range [...]int{8, 4, 2, 1} {
		for i := range t.slots {
			s := &t.slots[i]
			if s.inline() != size {
				continue
			}
			if s.kind != slotScalar {
				if inner[i] != 0 {
					c.b.PrependUOffsetT(inner[i])
					c.b.Slot(i)
				}
				continue
			}
			if at, ok := v.at(i); ok {
				if t == messageTable && i == messageVersion && c.version != 0 {
					c.b.PrependUint16(c.version)
				} else {
					c.scalar(v, at, size)
				}
				c.b.Slot(i)
			}
		}
	}
	return c.b.EndObject()
}

// decodes reports whether the dictionary encoding of the field at v is to be left out.
func (c *copier) decodes(v view) bool {
	encoding, ok := v.table(fieldDictionary)
	return ok && c.decode != nil && c.decode(encoding.int64(0))
}

func (c *copier) scalar(v view, at flatbuffers.UOffsetT, size int) {
	switch size {
	case 1:
		c.b.PrependByte(v.t.GetByte(at))
	case 2:
		c.b.PrependUint16(v.t.GetUint16(at))
	case 4:
		c.b.PrependUint32(v.t.GetUint32(at))
	case 8:
		c.b.PrependUint64(v.t.GetUint64(at))
	}
}

// outOfLine copies what the offset in slot i points to; 0 if there is nothing to copy.
func (c *copier) outOfLine(t *table, i int, v view) flatbuffers.UOffsetT {
	s := &t.slots[i]
	at, ok := v.at(i)
	if !ok || s.kind == slotScalar || c.over() {
		return 0
	}
	switch s.kind {
	case slotString:
		return c.b.CreateByteString(v.t.ByteVector(at))
	case slotVector:
		start, n := v.vector(i)
		return c.vector(v.t.Bytes[start:start+n*s.size], n, s)
	case slotTable:
		inner, _ := v.table(i)
		return c.table(s.table, inner, replacement{})
	case slotUnion:
		tag := int(v.byte(i-1, 0))
		if tag >= len(s.members) || s.members[tag] == nil {
			return 0
		}
		inner, _ := v.table(i)
		return c.table(s.members[tag], inner, replacement{})
	}
	start, n := v.vector(i)
	offsets := make([]flatbuffers.UOffsetT, 0, n)
	for j := range n {
		if c.over() {
			return 0
		}
		offsets = append(offsets, c.table(s.table, v.element(start+4*j), replacement{}))
	}
	return c.b.CreateVectorOfTables(offsets)
}

// vector copies the bytes of n scalars or structs.
func (c *copier) vector(data []byte, n int, s *slot) flatbuffers.UOffsetT {
	c.b.StartVector(s.size, n, s.align)
	for i := len(data) - 1; i >= 0; i-- {
		c.b.PlaceByte(data[i])
	}
	return c.b.EndVector(n)
}

// over reports whether the new flatbuffer has grown too large, once and for all.
func (c *copier) over() bool {
	c.exceeded = c.exceeded || int(c.b.Offset()) > c.most
	return c.exceeded
}
