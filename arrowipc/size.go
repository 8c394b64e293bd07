package arrowipc

import "unsafe"

// Bytes is the memory that the schema takes, in bytes: its message, and all that was read of it. Parts that it shares with
// a schema that it was made of are counted.
func (s *Schema) Bytes() int64 {
	n := int64(unsafe.Sizeof(*s)) + int64(cap(s.encapsulated)) + keyValueBytes(s.Metadata)
	for _, f := range s.Fields {
		n += fieldBytes(f)
	}
	return n + layoutBytes(s.Layout)
}

// allocation is what the allocator rounds up, on average.
const allocation = 8

const (
	pointerBytes = int64(unsafe.Sizeof(uintptr(0)))
	stringBytes  = int64(unsafe.Sizeof(""))
)

func textBytes(s string) int64 {
	switch {
	case len(s) < 2:
		return 0 // those of one byte are the runtime's
	case len(s) < 16:
		return int64(len(s)) // packed with others
	}
	return int64(len(s)) + allocation
}

func keyValueBytes(list []KeyValue) (n int64) {
	for _, kv := range list {
		n += 2*stringBytes + textBytes(kv.Key) + textBytes(kv.Value)
	}
	return n
}

// fieldBytes counts a field with its children and a place in a list.
func fieldBytes(f *Field) int64 {
	n := pointerBytes + int64(unsafe.Sizeof(*f)) + allocation + textBytes(f.Name) + textBytes(f.Type.Timezone) + int64(cap(f.Type.TypeCodes)) + keyValueBytes(f.Metadata)
	if f.Dictionary != nil {
		n += int64(unsafe.Sizeof(*f.Dictionary)) + allocation
	}
	for _, c := range f.Children {
		n += fieldBytes(c)
	}
	return n
}

func layoutBytes(l *Layout) int64 {
	n := int64(unsafe.Sizeof(*l))
	for _, c := range l.Columns {
		n += columnBytes(c)
	}
	for _, d := range l.Dictionaries {
		// The values' field is a copy without the dictionary; its children are the field's.
		n += pointerBytes + int64(unsafe.Sizeof(*d)+unsafe.Sizeof(Field{})) + allocation + layoutBytes(d.Values)
	}
	return n
}

// columnBytes counts a column with its children and a place in a list, which grows by doubling.
func columnBytes(c *Column) int64 {
	n := pointerBytes*3/2 + int64(unsafe.Sizeof(*c)) + allocation
	for _, child := range c.Children {
		n += columnBytes(child)
	}
	return n
}
