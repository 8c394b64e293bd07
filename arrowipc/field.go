package arrowipc

import (
	"fmt"
	"strings"
)

// fieldParser reads the Field tables of a verified schema.
type fieldParser struct {
	path    []string // names down to the field being read
	bitmaps bool     // there are types that have a validity buffer in metadata version V4 and none in V5
}

// errorf says what is wrong with the field being read.
func (p *fieldParser) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: field %s: %s", kind, quotePath(p.path), fmt.Sprintf(format, args...))
}

// quotePath writes a path for an error message: dotted, quoted, and cut to a bearable length.
func quotePath(path []string) string {
	s := strings.Join(path, ".")
	if len(s) > 200 {
		return fmt.Sprintf("%.200q…", s)
	}
	return fmt.Sprintf("%q", s)
}

// fields reads the vector of Field tables in a slot.
func (p *fieldParser) fields(parent view, slot int) ([]*Field, error) {
	start, n := parent.vector(slot)
	if n == 0 {
		return nil, nil
	}
	fields := make([]*Field, 0, n)
	for i := range n {
		f, err := p.field(parent.element(start + 4*i))
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (p *fieldParser) field(t view) (*Field, error) {
	f := &Field{Name: string(t.bytes(fieldName)), Nullable: t.bool(fieldNullable)}
	p.path = append(p.path, f.Name)
	defer func() { p.path = p.path[:len(p.path)-1] }()

	f.Type.ID = TypeID(t.byte(fieldTypeTag, 0))
	if int(f.Type.ID) >= len(typeTables) {
		return nil, p.errorf(ErrUnsupported, "type %d of the Type union is of a later format version", f.Type.ID)
	}
	parameters, ok := t.table(fieldType)
	if !ok || f.Type.ID == TypeNone {
		return nil, p.errorf(ErrMalformed, "it has no type")
	}
	if err := p.parameters(f, parameters); err != nil {
		return nil, err
	}
	if encoding, ok := t.table(fieldDictionary); ok {
		if err := p.dictionary(f, encoding); err != nil {
			return nil, err
		}
	}
	var err error
	if f.Children, err = p.fields(t, fieldChildren); err != nil {
		return nil, err
	}
	if err := p.children(f); err != nil {
		return nil, err
	}
	f.Metadata = t.keyValues(nil, fieldMetadata)
	return f, nil
}

// dictionary reads a field's DictionaryEncoding.
func (p *fieldParser) dictionary(f *Field, t view) error {
	d := &Dictionary{ID: t.int64(0), IndexBits: 32, Signed: true, Ordered: t.bool(2)}
	if index, ok := t.table(1); ok { // absent: int32, says Schema.fbs
		d.IndexBits, d.Signed = int(index.int32(0, 0)), index.bool(1)
	}
	if !isIntWidth(d.IndexBits) {
		return p.errorf(ErrUnsupported, "dictionary indices of %d bits", d.IndexBits)
	}
	if kind := t.int16(3, 0); kind != 0 {
		return p.errorf(ErrUnsupported, "dictionary kind %d; only dense arrays are defined", kind)
	}
	f.Dictionary = d
	return nil
}

// children checks a field's children against its type.
func (p *fieldParser) children(f *Field) error {
	n := len(f.Children)
	switch f.Type.ID {
	case TypeStruct:
		return nil
	case TypeList, TypeLargeList, TypeListView, TypeLargeListView, TypeFixedSizeList:
		if n != 1 {
			return p.errorf(ErrMalformed, "a list with %d children, where it has 1", n)
		}
	case TypeMap:
		if n != 1 {
			return p.errorf(ErrMalformed, "a map with %d children, where it has 1", n)
		}
		entries := f.Children[0]
		if entries.Type.ID != TypeStruct || entries.Dictionary != nil || len(entries.Children) != 2 {
			return p.errorf(ErrMalformed, "a map whose entries are not structs of a key and a value")
		}
	case TypeUnion:
		return p.typeCodes(f)
	case TypeRunEndEncoded:
		p.bitmaps = true
		if n != 2 {
			return p.errorf(ErrMalformed, "a run-end encoded column with %d children, where it has 2", n)
		}
		ends := f.Children[0]
		if ends.Type.ID != TypeInt || !ends.Type.Signed || ends.Type.BitWidth == 8 || ends.Dictionary != nil || ends.Nullable {
			return p.errorf(ErrMalformed, "its run ends are not int16, int32 or int64, or they are nullable")
		}
	default:
		if n != 0 {
			return p.errorf(ErrMalformed, "%d children, where its type has none", n)
		}
	}
	return nil
}

// typeCodes checks the type codes of a union, or fills them in where the schema leaves them out.
func (p *fieldParser) typeCodes(f *Field) error {
	n := len(f.Children)
	if n > 128 {
		return p.errorf(ErrMalformed, "a union of %d children, where type codes allow 128", n)
	}
	if f.Type.TypeCodes == nil {
		for i := range n {
			f.Type.TypeCodes = append(f.Type.TypeCodes, int8(i))
		}
		return nil
	}
	if len(f.Type.TypeCodes) != n {
		return p.errorf(ErrMalformed, "a union with %d type codes for %d children", len(f.Type.TypeCodes), n)
	}
	var seen [128]bool
	for _, code := range f.Type.TypeCodes {
		if seen[code] {
			return p.errorf(ErrMalformed, "a union that has type code %d twice", code)
		}
		seen[code] = true
	}
	return nil
}
