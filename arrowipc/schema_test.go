package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestLayoutMatchesBatchesOfArrow(t *testing.T) {
	schema := zoo()
	s := mustParse(t, arrowHeader(t, schema))
	for _, rows := range []int{0, 1, 100} {
		m, err := ReadMessage(arrowBatch(t, schema, rows), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var variadic int64
		for _, n := range m.Batch.Variadic {
			variadic += n
		}
		got := Span{Node1: len(m.Batch.Nodes), Buf1: len(m.Batch.Buffers) - int(variadic), View1: len(m.Batch.Variadic)}
		if got != s.Layout.Span {
			t.Errorf("%d rows: arrow-go writes %+v, the layout says %+v", rows, got, s.Layout.Span)
		}
		if m.Batch.Rows != int64(rows) {
			t.Errorf("rows %d, not %d", m.Batch.Rows, rows)
		}
	}
}

func TestSchemaRoundTripsThroughArrow(t *testing.T) {
	schema := zoo()
	hdr := arrowHeader(t, schema)
	s := mustParse(t, hdr)
	if !bytes.Equal(s.Message(), hdr) {
		t.Error("Message is not what came in")
	}
	built, err := BuildSchema(s.Fields, s.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(built.Fields, s.Fields) || !reflect.DeepEqual(built.Metadata, s.Metadata) {
		t.Error("a built schema has other fields or metadata")
	}
	for name, s := range map[string]*Schema{"parsed": s, "built": built} {
		if back := arrowRead(t, s); !back.Equal(schema) || !back.Metadata().Equal(schema.Metadata()) {
			t.Errorf("%s: arrow-go reads\n%v\nnot\n%v", name, back, schema)
		}
		if len(s.Encapsulated())%8 != 0 {
			t.Errorf("%s: encapsulated in %d bytes", name, len(s.Encapsulated()))
		}
		fromInfo, err := flight.DeserializeSchema(s.Encapsulated(), memory.DefaultAllocator)
		if err != nil || !fromInfo.Equal(schema) {
			t.Errorf("%s: as FlightInfo.schema: %v", name, err)
		}
	}
}

func TestParsedFields(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	f := s.Fields[4]
	if want := []KeyValue{{"k", "1"}, {"k", "2"}, {"", "empty key"}, {"raw", "\xff\xfe\x00 not UTF-8"}}; !reflect.DeepEqual(f.Metadata, want) {
		t.Errorf("metadata %q", f.Metadata)
	}
	if f.Nullable == s.Fields[3].Nullable {
		t.Error("nullability is not told apart")
	}
	if !reflect.DeepEqual(s.Metadata[1], KeyValue{"bytes", "\x80\x00\xff"}) {
		t.Errorf("schema metadata %q", s.Metadata)
	}
	ids := map[int64]bool{}
	for _, f := range s.Fields {
		if f.Dictionary != nil {
			ids[f.Dictionary.ID] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("dictionary ids %v of two top-level dictionaries", ids)
	}
}

func TestTypeString(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	got := make([]string, 0, len(s.Fields))
	for _, f := range s.Fields {
		got = append(got, f.TypeString())
	}
	// As str(field.type) of pyarrow 26 spells them, but for the extension type.
	want := []string{
		"null", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
		"halffloat", "float", "double",
		"decimal32(9, 2)", "decimal64(18, -3)", "decimal128(38, 10)", "decimal256(76, 0)",
		"date32[day]", "date64[ms]", "time32[s]", "time32[ms]", "time64[us]", "time64[ns]",
		"timestamp[s]", "timestamp[ms, tz=+02:00]", "timestamp[us, tz=Europe/Berlin]", "timestamp[ns, tz=UTC]",
		"duration[s]", "duration[ms]", "duration[us]", "duration[ns]",
		"month_interval", "day_time_interval", "month_day_nano_interval",
		"fixed_size_binary[16]", "binary", "string", "large_binary", "large_string", "binary_view", "string_view",
		"list<item: int64>", "large_list<item: string not null>", "list_view<item: string_view>",
		"large_list_view<item: int8>", "fixed_size_list<item: float>[3]", "map<string, int64>",
		"run_end_encoded<run_ends: int32, values: string>",
		"sparse_union<i: int64=5, s: string not null=7>", "dense_union<v: string_view=0, n: null=1>",
		"dictionary<values=string, indices=int8, ordered=0>", "dictionary<values=int64, indices=uint32, ordered=1>",
		"list<item: dictionary<values=string, indices=int16, ordered=0>>",
		"fixed_size_binary[16]", "map<int32, binary_view, keys_sorted>",
		"struct<a: int64 not null, n: struct<u: string_view, v: string_view, w: dictionary<values=string, indices=int8, ordered=0>>, " +
			"z: list<item: struct<q: null>>>",
		"int8", "int8", "string",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("column %d: got %q, want %q", i, got[i:], want[i:])
		}
	}
}

// node is a field for tables of tests.
func node(id TypeID, children ...*Field) *Field {
	return &Field{Name: "f", Type: Type{ID: id}, Children: children}
}

func TestIllegalTypes(t *testing.T) {
	leaf := func() *Field { return node(TypeUtf8) }
	ends := func(bits int, signed, nullable bool) *Field {
		return &Field{Name: "run_ends", Nullable: nullable, Type: Type{ID: TypeInt, BitWidth: bits, Signed: signed}}
	}
	codes := func(n int, codes ...int8) *Field {
		f := &Field{Name: "f", Type: Type{ID: TypeUnion, TypeCodes: codes}}
		for range n {
			f.Children = append(f.Children, leaf())
		}
		return f
	}
	encoded := node(TypeStruct, leaf(), leaf())
	encoded.Dictionary = &Dictionary{IndexBits: 8}
	for name, c := range map[string]struct {
		f    *Field
		want error // nil: legal
	}{
		"no type":                       {&Field{Name: "f"}, ErrMalformed},
		"type of the future":            {node(27), ErrUnsupported},
		"int12":                         {&Field{Name: "f", Type: Type{ID: TypeInt, BitWidth: 12}}, ErrUnsupported},
		"int128":                        {&Field{Name: "f", Type: Type{ID: TypeInt, BitWidth: 128}}, ErrUnsupported},
		"float of no precision":         {&Field{Name: "f", Type: Type{ID: TypeFloatingPoint, BitWidth: 80}}, ErrUnsupported},
		"decimal of 16 bits":            {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 16, Precision: 1}}, ErrUnsupported},
		"decimal32 of 10 digits":        {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 32, Precision: 10}}, ErrMalformed},
		"decimal64 of 18 digits":        {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 64, Precision: 18}}, nil},
		"decimal128 of 0 digits":        {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 128}}, ErrMalformed},
		"decimal256 of 77 digits":       {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 256, Precision: 77}}, ErrMalformed},
		"decimal of scale -5":           {&Field{Name: "f", Type: Type{ID: TypeDecimal, BitWidth: 128, Precision: 3, Scale: -5}}, nil},
		"date in us":                    {&Field{Name: "f", Type: Type{ID: TypeDate, Unit: 2}}, ErrUnsupported},
		"time32 in us":                  {&Field{Name: "f", Type: Type{ID: TypeTime, Unit: 2, BitWidth: 32}}, ErrMalformed},
		"time64 in s":                   {&Field{Name: "f", Type: Type{ID: TypeTime, Unit: 0, BitWidth: 64}}, ErrMalformed},
		"time in unit 4":                {&Field{Name: "f", Type: Type{ID: TypeTime, Unit: 4, BitWidth: 64}}, ErrUnsupported},
		"timestamp in unit -1":          {&Field{Name: "f", Type: Type{ID: TypeTimestamp, Unit: -1}}, ErrUnsupported},
		"duration in unit 4":            {&Field{Name: "f", Type: Type{ID: TypeDuration, Unit: 4}}, ErrUnsupported},
		"interval in unit 3":            {&Field{Name: "f", Type: Type{ID: TypeInterval, Unit: 3}}, ErrUnsupported},
		"binary of width -1":            {&Field{Name: "f", Type: Type{ID: TypeFixedSizeBinary, ByteWidth: -1}}, ErrUnsupported},
		"binary of width 0":             {&Field{Name: "f", Type: Type{ID: TypeFixedSizeBinary}}, nil},
		"list of size -1":               {&Field{Name: "f", Type: Type{ID: TypeFixedSizeList, ListSize: -1}, Children: []*Field{leaf()}}, ErrUnsupported},
		"list of size 0":                {node(TypeFixedSizeList, leaf()), nil},
		"leaf with a child":             {node(TypeBool, leaf()), ErrMalformed},
		"list without child":            {node(TypeList), ErrMalformed},
		"list view of two":              {node(TypeListView, leaf(), leaf()), ErrMalformed},
		"empty struct":                  {node(TypeStruct), nil},
		"map without child":             {node(TypeMap), ErrMalformed},
		"map of string":                 {node(TypeMap, leaf()), ErrMalformed},
		"map of three":                  {node(TypeMap, node(TypeStruct, leaf(), leaf(), leaf())), ErrMalformed},
		"map of encoded entries":        {node(TypeMap, encoded), ErrMalformed},
		"map":                           {node(TypeMap, node(TypeStruct, leaf(), leaf())), nil},
		"run ends alone":                {node(TypeRunEndEncoded, ends(32, true, false)), ErrMalformed},
		"run ends int8":                 {node(TypeRunEndEncoded, ends(8, true, false), leaf()), ErrMalformed},
		"run ends uint32":               {node(TypeRunEndEncoded, ends(32, false, false), leaf()), ErrMalformed},
		"run ends nullable":             {node(TypeRunEndEncoded, ends(32, true, true), leaf()), ErrMalformed},
		"run ends int16":                {node(TypeRunEndEncoded, ends(16, true, false), leaf()), nil},
		"union without codes":           {codes(3), nil},
		"union without children":        {codes(0), nil},
		"union of few codes":            {codes(2, 1), ErrMalformed},
		"union of double codes":         {codes(2, 1, 1), ErrMalformed},
		"union of negative code":        {codes(2, 1, -1), ErrMalformed},
		"union of 128":                  {codes(128), nil},
		"union of 129":                  {codes(129), ErrMalformed},
		"dictionary of int12":           {&Field{Name: "f", Type: Type{ID: TypeUtf8}, Dictionary: &Dictionary{IndexBits: 12}}, ErrUnsupported},
		"dictionary of structs":         {encoded, nil},
		"dictionary of an illegal type": {&Field{Name: "f", Type: Type{ID: TypeInt}, Dictionary: &Dictionary{IndexBits: 8}}, ErrUnsupported},
	} {
		top := &Field{Name: "top", Type: Type{ID: TypeStruct}, Children: []*Field{c.f}}
		s, err := BuildSchema([]*Field{leaf(), top}, nil)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), `"top.f`) {
			t.Errorf("%s: the field is not named: %v", name, err)
		}
		if err == nil && c.f.Type.ID == TypeUnion && len(s.Fields[1].Children[0].Type.TypeCodes) != len(c.f.Children) {
			t.Errorf("%s: type codes %d", name, s.Fields[1].Children[0].Type.TypeCodes)
		}
	}
}

// patched is the header of s with one scalar slot of a table overwritten.
func patched(t *testing.T, s *Schema, table func(root view) view, slot int, value ...byte) []byte {
	t.Helper()
	at, ok := table(s.root).at(slot)
	if !ok {
		t.Fatalf("slot %d is absent", slot)
	}
	hdr := bytes.Clone(s.Message())
	copy(hdr[at:], value)
	return hdr
}

func TestSchemaMessages(t *testing.T) {
	plain, err := BuildSchema([]*Field{node(TypeUtf8)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	union, err := BuildSchema([]*Field{node(TypeStruct, &Field{Name: "u", Type: Type{ID: TypeUnion}})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := func(v view) view { return v }
	schema := func(v view) view { inner, _ := v.table(messageHeader); return inner }
	for _, c := range []struct {
		name string
		hdr  []byte
		want error
		says string
	}{
		{"V3", patched(t, plain, root, messageVersion, 2), ErrUnsupported, "V3"},
		{"V4", patched(t, plain, root, messageVersion, 3), nil, ""},
		{"V6", patched(t, plain, root, messageVersion, 5), ErrUnsupported, "V6"},
		{"V4 with a union", patched(t, union, root, messageVersion, 3), nil, ""},
		{"big-endian", patched(t, plain, schema, schemaEndianness, 1), ErrUnsupported, "big-endian"},
		{"no header", patched(t, plain, root, messageHeaderType, 0), ErrMalformed, "no header"},
		{"tensor", patched(t, plain, root, messageHeaderType, byte(HeaderTensor)), ErrUnsupported, "tensor"},
		{"header of the future", patched(t, plain, root, messageHeaderType, 9), ErrUnsupported, "9"},
		{"batch", arrowBatch(t, arrow.NewSchema(nil, nil), 1), ErrMalformed, "batch"},
		{"nothing", nil, ErrMalformed, "short"},
		{"negative body", patched(t, plain, root, messageBodyLength, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF), ErrMalformed, "-1"},
	} {
		_, err := ParseSchema(c.hdr, Limits{})
		if !errors.Is(err, c.want) || (err != nil && !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSchemaKeepsNothingOfItsInput(t *testing.T) {
	hdr := arrowHeader(t, zoo())
	s := mustParse(t, hdr)
	clear(hdr)
	sameAsParsed(t, s)
}

func TestHeadersAtOddAddresses(t *testing.T) {
	for name, hdr := range headers(t) {
		for shift := range 8 {
			moved := append(make([]byte, shift, shift+len(hdr)), hdr...)[shift:]
			if _, err := ReadMessage(moved, Limits{}); err != nil {
				t.Errorf("%s, moved by %d: %v", name, shift, err)
			}
		}
	}
}

func TestEncapsulatedMessage(t *testing.T) {
	s := mustParse(t, arrowHeader(t, zoo()))
	framed := s.Encapsulated()
	for name, raw := range map[string][]byte{
		"with marker":          framed,
		"without marker":       framed[4:],
		"with end of stream":   append(bytes.Clone(framed), 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0),
		"of arrow-go's flight": flight.SerializeSchema(zoo(), memory.DefaultAllocator),
	} {
		hdr, err := EncapsulatedMessage(raw, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := s.Diff(mustParse(t, hdr)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"empty":           {nil, ErrMalformed},
		"marker alone":    {framed[:4], ErrMalformed},
		"length alone":    {framed[:8], ErrMalformed},
		"one byte short":  {framed[:len(framed)-1], ErrMalformed},
		"end of stream":   {[]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}, ErrMalformed},
		"negative length": {[]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x80}, ErrMalformed},
		"huge length":     {[]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}, ErrLimit},
	} {
		if _, err := EncapsulatedMessage(c.raw, Limits{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyColumns(t *testing.T) {
	fields := make([]arrow.Field, 100_000)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("column %d", i), Type: arrow.PrimitiveTypes.Float64, Nullable: true}
	}
	if _, err := ParseSchema(arrowHeader(t, arrow.NewSchema(fields, nil)), Limits{}); !errors.Is(err, ErrLimit) {
		t.Errorf("100,000 columns: %v", err)
	}
	s := mustParse(t, arrowHeader(t, arrow.NewSchema(fields[:5000], nil)))
	if len(s.Layout.Columns) != 5000 || s.Layout.Buf1 != 10_000 {
		t.Errorf("layout %+v", s.Layout.Span)
	}
}
