package substrait_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"

	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/predicate/substrait"
)

// The functions that message declares, by their anchors there.
const (
	equal = iota
	and
	or
	not
	isNull
	startsWith
	foreign
	undeclared
)

func typeOf(k *pb.Type) *pb.Type { return k }

var (
	int64Type  = typeOf(&pb.Type{Kind: &pb.Type_I64_{I64: &pb.Type_I64{}}})
	structType = typeOf(&pb.Type{Kind: &pb.Type_Struct_{Struct: &pb.Type_Struct{Types: []*pb.Type{int64Type, int64Type}}}})
	listType   = typeOf(&pb.Type{Kind: &pb.Type_List_{List: &pb.Type_List{Type: structType}}})
	mapType    = typeOf(&pb.Type{Kind: &pb.Type_Map_{Map: &pb.Type_Map{Key: int64Type, Value: structType}}})
)

// message is an expression in a message that declares functions by URN, over i and st{a, b}.
func message(e *pb.Expression) *pb.ExtendedExpression {
	m := &pb.ExtendedExpression{
		ReferredExpr: []*pb.ExpressionReference{{ExprType: &pb.ExpressionReference_Expression{Expression: e}}},
		BaseSchema:   &pb.NamedStruct{Names: []string{"i", "st", "a", "b"}, Struct: &pb.Type_Struct{Types: []*pb.Type{int64Type, structType}}},
	}
	for i, urn := range []string{"functions_comparison", "functions_boolean", "functions_string"} {
		m.ExtensionUrns = append(m.ExtensionUrns, &extensions.SimpleExtensionURN{ExtensionUrnAnchor: uint32(i + 1), Urn: "extension:io.substrait:" + urn})
	}
	m.ExtensionUrns = append(m.ExtensionUrns,
		&extensions.SimpleExtensionURN{ExtensionUrnAnchor: 4, Urn: "extension:com.example:functions"},
		&extensions.SimpleExtensionURN{ExtensionUrnAnchor: 5, Urn: "extension:org.apache.arrow:extension_types"})
	for anchor, f := range []struct {
		urn  uint32
		name string
	}{{1, "equal:any_any"}, {2, "and"}, {2, "or:bool"}, {2, "not"}, {1, "is_null"}, {3, "starts_with"}, {4, "equal"}} {
		m.Extensions = append(m.Extensions, &extensions.SimpleExtensionDeclaration{
			MappingType: &extensions.SimpleExtensionDeclaration_ExtensionFunction_{
				ExtensionFunction: &extensions.SimpleExtensionDeclaration_ExtensionFunction{
					ExtensionUrnReference: f.urn, FunctionAnchor: uint32(anchor), Name: f.name,
				},
			},
		})
	}
	for anchor, name := range []string{"u8", "time_seconds", "unheard_of", "date_millis"} {
		m.Extensions = append(m.Extensions, &extensions.SimpleExtensionDeclaration{
			MappingType: &extensions.SimpleExtensionDeclaration_ExtensionType_{
				ExtensionType: &extensions.SimpleExtensionDeclaration_ExtensionType{
					ExtensionUrnReference: 5, TypeAnchor: uint32(anchor), Name: name,
				},
			},
		})
	}
	return m
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func call(function uint32, args ...*pb.Expression) *pb.Expression {
	f := &pb.Expression_ScalarFunction{FunctionReference: function}
	for _, a := range args {
		f.Arguments = append(f.Arguments, &pb.FunctionArgument{ArgType: &pb.FunctionArgument_Value{Value: a}})
	}
	return &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: f}}
}

// column is a reference along ordinals.
func column(ordinals ...int32) *pb.Expression {
	var segment *pb.Expression_ReferenceSegment
	for i := len(ordinals) - 1; i >= 0; i-- {
		segment = &pb.Expression_ReferenceSegment{ReferenceType: &pb.Expression_ReferenceSegment_StructField_{
			StructField: &pb.Expression_ReferenceSegment_StructField{Field: ordinals[i], Child: segment},
		}}
	}
	return &pb.Expression{RexType: &pb.Expression_Selection{Selection: &pb.Expression_FieldReference{
		ReferenceType: &pb.Expression_FieldReference_DirectReference{DirectReference: segment},
		RootType:      &pb.Expression_FieldReference_RootReference_{RootReference: &pb.Expression_FieldReference_RootReference{}},
	}}}
}

func literal(l *pb.Expression_Literal) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_Literal_{Literal: l}}
}

func number(n int64) *pb.Expression {
	return literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I64{I64: n}})
}

func text(s string) *pb.Expression {
	return literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_String_{String_: s}})
}

func precise(precision int32) *pb.Expression {
	return literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_PrecisionTimestampTz{
		PrecisionTimestampTz: &pb.Expression_Literal_PrecisionTimestamp{Precision: precision, Value: 15},
	}})
}

func decimal(bytes []byte, scale int32) *pb.Expression {
	return literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Decimal_{
		Decimal: &pb.Expression_Literal_Decimal{Value: bytes, Precision: 38, Scale: scale},
	}})
}

// extension is a literal of the extension type of an anchor.
func extension(t testing.TB, anchor uint32, value proto.Message) *pb.Expression {
	t.Helper()
	packed, err := anypb.New(value)
	if err != nil {
		t.Fatal(err)
	}
	return literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_UserDefined_{UserDefined: &pb.Expression_Literal_UserDefined{
		TypeAnchorType: &pb.Expression_Literal_UserDefined_TypeReference{TypeReference: anchor},
		Val:            &pb.Expression_Literal_UserDefined_Value{Value: packed},
	}}})
}

func castTo(t *pb.Type, e *pb.Expression) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_Cast_{Cast: &pb.Expression_Cast{Type: t, Input: e}}}
}

func TestParse(t *testing.T) {
	for want, e := range map[string]*pb.Expression{
		"i = 5":                          call(equal, column(0), number(5)),
		"st.b = 5":                       call(equal, column(1, 1), number(5)),
		"st is null":                     call(isNull, column(1)),
		"i starts with \"ab\"":           call(startsWith, column(0), text("ab")),
		"true":                           call(and),
		"false":                          call(or),
		"i and st.a and i and i":         call(and, call(and, column(0), column(1, 0)), call(and, column(0), call(and, column(0)))),
		"i or (i and st.a) or i":         call(or, column(0), call(or, call(and, column(0), column(1, 0)), column(0))),
		"not (not i)":                    call(not, call(not, column(0))),
		"i = timestamp 0.000000015s UTC": call(equal, column(0), precise(9)),
		"i = timestamp 15s UTC":          call(equal, column(0), precise(0)),
		"i = 0.01":                       call(equal, column(0), decimal(append([]byte{1}, make([]byte, 15)...), 2)),
		"i = -170141183460469231731687303715884105728": call(equal, column(0), decimal(append(make([]byte, 15), 0x80), 0)),
		"i = 7":                            call(equal, column(0), extension(t, 0, wrapperspb.UInt64(7))),
		"i = time 7s":                      call(equal, column(0), extension(t, 1, wrapperspb.Int32(7))),
		"cast(i as decimal128(10, 2)) = 5": call(equal, castTo(&pb.Type{Kind: &pb.Type_Decimal_{Decimal: &pb.Type_Decimal{Precision: 10, Scale: 2}}}, column(0)), number(5)),
		"cast(i as timestamp[ns, tz=UTC]) is null":             call(isNull, castTo(&pb.Type{Kind: &pb.Type_PrecisionTimestampTz{PrecisionTimestampTz: &pb.Type_PrecisionTimestampTZ{Precision: 9}}}, column(0))),
		"cast(i as fixed_size_binary[3]) is null":              call(isNull, castTo(&pb.Type{Kind: &pb.Type_FixedBinary_{FixedBinary: &pb.Type_FixedBinary{Length: 3}}}, column(0))),
		"cast(i as time32[s]) is null":                         call(isNull, castTo(&pb.Type{Kind: &pb.Type_UserDefined_{UserDefined: &pb.Type_UserDefined{TypeReference: 1}}}, column(0))),
		"i in []":                                              {RexType: &pb.Expression_SingularOrList_{SingularOrList: &pb.Expression_SingularOrList{Value: column(0)}}},
		"if_else(i, i, null)":                                  {RexType: &pb.Expression_IfThen_{IfThen: &pb.Expression_IfThen{Ifs: []*pb.Expression_IfThen_IfClause{{If: column(0), Then: column(0)}}}}},
		"case when i then i when st.a then st.b else null end": {RexType: &pb.Expression_IfThen_{IfThen: &pb.Expression_IfThen{Ifs: []*pb.Expression_IfThen_IfClause{{If: column(0), Then: column(0)}, {If: column(1, 0), Then: column(1, 1)}}}}},
	} {
		got, err := substrait.Parse(marshal(t, message(e)))
		if err != nil || got.String() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	type refusal struct {
		kind error
		want string
		e    *pb.Expression
	}
	bad, no := substrait.ErrMalformed, predicate.ErrUnsupported
	for _, c := range []refusal{
		{bad, "an expression is missing", nil},
		{bad, "an expression is missing", &pb.Expression{}},
		{bad, "an expression is missing", castTo(int64Type, nil)},
		{bad, "a cast without a type", castTo(nil, column(0))},
		{bad, "a cast to decimal(39, 0)", castTo(&pb.Type{Kind: &pb.Type_Decimal_{Decimal: &pb.Type_Decimal{Precision: 39}}}, column(0))},
		{bad, "a cast to binary of -1 bytes", castTo(&pb.Type{Kind: &pb.Type_FixedBinary_{FixedBinary: &pb.Type_FixedBinary{Length: -1}}}, column(0))},
		{no, "casts to the type list", castTo(listType, column(0))},
		{no, `casts to the type "unheard_of" of "arrow extension_types"`, castTo(&pb.Type{Kind: &pb.Type_UserDefined_{UserDefined: &pb.Type_UserDefined{TypeReference: 2}}}, column(0))},
		{bad, "the extension type 9, which is not declared", extension(t, 9, wrapperspb.UInt64(7))},
		{no, `literals of the type "unheard_of"`, extension(t, 2, wrapperspb.UInt64(7))},
		{bad, `a literal of the type "u8"`, extension(t, 0, wrapperspb.Int32(7))},
		{bad, "no whole days", extension(t, 3, wrapperspb.Int64(7))},
		{bad, "a call of the function 7, which is not declared", call(undeclared)},
		{no, `the function "equal" of "extension:com.example:functions"`, call(foreign, column(0), number(5))},
		{bad, `the function "equal" has 1 arguments; it takes 2`, call(equal, column(0))},
		{bad, `the function "not" has 0 arguments; it takes 1`, call(not)},
		{no, "starts_with with other than a literal", call(startsWith, column(0), column(0))},
		{no, `the function "and" with an argument that is no value but enum`, &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: &pb.Expression_ScalarFunction{
			FunctionReference: and, Arguments: []*pb.FunctionArgument{{ArgType: &pb.FunctionArgument_Enum{Enum: "x"}}},
		}}}},
		{no, `the function "or" with the option "overflow" set to "SILENT"`, &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: &pb.Expression_ScalarFunction{
			FunctionReference: or, Options: []*pb.FunctionOption{{Name: "overflow", Preference: []string{"SILENT"}}},
		}}}},
		{bad, "a reference to field 2 of the base schema, which has 2 fields", column(2)},
		{bad, "a reference to field -1 of the base schema", column(-1)},
		{bad, `a reference to field 2 of "st", which has 2 fields`, column(1, 2)},
		{bad, `a reference to field 0 of "i", which has 0 fields`, column(0, 0)},
		{no, "references whose root is none", &pb.Expression{RexType: &pb.Expression_Selection{Selection: &pb.Expression_FieldReference{}}}},
		{no, "references of the form none", &pb.Expression{RexType: &pb.Expression_Selection{Selection: &pb.Expression_FieldReference{
			RootType: &pb.Expression_FieldReference_RootReference_{RootReference: &pb.Expression_FieldReference_RootReference{}},
		}}}},
		{no, "references through list_element", &pb.Expression{RexType: &pb.Expression_Selection{Selection: &pb.Expression_FieldReference{
			RootType: &pb.Expression_FieldReference_RootReference_{RootReference: &pb.Expression_FieldReference_RootReference{}},
			ReferenceType: &pb.Expression_FieldReference_DirectReference{DirectReference: &pb.Expression_ReferenceSegment{
				ReferenceType: &pb.Expression_ReferenceSegment_ListElement_{},
			}},
		}}}},
		{no, "expressions of the form subquery", &pb.Expression{RexType: &pb.Expression_Subquery_{Subquery: &pb.Expression_Subquery{}}}},
		{bad, "an if_then without clauses", &pb.Expression{RexType: &pb.Expression_IfThen_{IfThen: &pb.Expression_IfThen{}}}},
		{no, "other options than literals", &pb.Expression{RexType: &pb.Expression_SingularOrList_{SingularOrList: &pb.Expression_SingularOrList{
			Value: column(0), Options: []*pb.Expression{number(1), column(0)},
		}}}},
		{bad, "a literal without a value", literal(&pb.Expression_Literal{})},
		{no, "literals of a type variation (3)", literal(&pb.Expression_Literal{TypeVariationReference: 3})},
		{no, "literals of the form list", literal(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_List_{List: &pb.Expression_Literal_List{}}})},
		{no, "times of 1 digits", precise(1)},
		{bad, "a decimal of 3 bytes", decimal([]byte{1, 2, 3}, 0)},
		{bad, "a decimal of scale 100000", decimal(make([]byte, 16), 100000)},
	} {
		checkRefused(t, marshal(t, message(c.e)), c.kind, c.want)
	}
}

func checkRefused(t *testing.T, raw []byte, kind error, want string) {
	t.Helper()
	e, err := substrait.Parse(raw)
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want an error of the kind %q that says %q", err, kind, want)
	}
	if e != nil {
		t.Errorf("%v beside an error", e)
	}
	if err != nil && len(err.Error()) > 600 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}

func TestParseRefusesMessages(t *testing.T) {
	change := func(f func(*pb.ExtendedExpression)) []byte {
		m := message(call(equal, column(0), number(5)))
		f(m)
		return marshal(t, m)
	}
	bad := substrait.ErrMalformed
	for _, c := range []struct {
		kind error
		want string
		raw  []byte
	}{
		{bad, "it has no expression", nil},
		{bad, "it is not a substrait.ExtendedExpression", []byte("SELECT 1")},
		{predicate.ErrUnsupported, "a message of 2 expressions", change(func(m *pb.ExtendedExpression) { m.ReferredExpr = append(m.ReferredExpr, m.ReferredExpr...) })},
		{predicate.ErrUnsupported, "an aggregation", change(func(m *pb.ExtendedExpression) {
			m.ReferredExpr[0].ExprType = &pb.ExpressionReference_Measure{Measure: &pb.AggregateFunction{}}
		})},
		{bad, "a reference to field 0 of the base schema, which has 0 fields", change(func(m *pb.ExtendedExpression) { m.BaseSchema = nil })},
		{bad, "the base schema has 3 names", change(func(m *pb.ExtendedExpression) { m.BaseSchema.Names = m.BaseSchema.Names[:3] })},
		{bad, "the base schema has 5 names", change(func(m *pb.ExtendedExpression) { m.BaseSchema.Names = append(m.BaseSchema.Names, "c") })},
		{bad, "two URNs have the anchor 1", change(func(m *pb.ExtendedExpression) { m.ExtensionUrns[1].ExtensionUrnAnchor = 1 })},
		{bad, "refers to the URI or URN 1, which is not there", change(func(m *pb.ExtendedExpression) { m.ExtensionUrns = m.ExtensionUrns[1:] })},
		{bad, `two functions have the anchor 0: "and" and "equal"`, change(func(m *pb.ExtendedExpression) {
			m.Extensions[1].GetExtensionFunction().FunctionAnchor = 0
			m.Extensions[0], m.Extensions[1] = m.Extensions[1], m.Extensions[0]
		})},
		{bad, "two URIs have the anchor 0", append(uri(0, "a"), uri(0, "b")...)},
		{bad, "field 2 is cut short", protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{0x12, 0x05, 'x'})},
		{predicate.ErrLimit, "1048577 bytes; at most 1048576", make([]byte, substrait.MaxBytes+1)},
	} {
		checkRefused(t, c.raw, c.kind, c.want)
	}
}

// uri is a declaration as messages had it before there were URNs.
func uri(anchor uint64, text string) []byte {
	var b []byte
	if anchor != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), anchor)
	}
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), text)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
}

// TestDocuments finds functions by the document that defines them, however it is named.
func TestDocuments(t *testing.T) {
	const substraitURI = "https://github.com/substrait-io/substrait/blob/"
	for text, known := range map[string]bool{
		substraitURI + "main/extensions/functions_comparison.yaml":    true,
		substraitURI + "v0.44.0/extensions/functions_comparison.yaml": true,
		"/functions_comparison.yaml":                                  true,
		"functions_comparison.yaml":                                   true,
		substraitURI + "main/extensions/functions_boolean.yaml":       false,
		"https://example.com/functions_comparison.yaml":               false,
		"functions_comparison":                                        true,
		"":                                                            false,
	} {
		m := message(call(equal, column(0), number(5)))
		m.ExtensionUrns, m.Extensions = nil, m.Extensions[:1]
		m.Extensions[0].GetExtensionFunction().ExtensionUrnReference = 0
		m.Extensions[0].GetExtensionFunction().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7))
		raw := append(marshal(t, m), uri(7, text)...)
		if e, err := substrait.Parse(raw); known && (err != nil || e.String() != "i = 5") || !known && !errors.Is(err, predicate.ErrUnsupported) {
			t.Errorf("%q: %v, %v", text, e, err)
		}
	}
}

// TestBaseSchemaNames takes names of structs in lists and maps, which Substrait wants, and their absence, as in Acero.
func TestBaseSchemaNames(t *testing.T) {
	for _, names := range [][]string{
		{"l", "m", "st", "a", "b", "i"},
		{"l", "x", "y", "m", "x", "y", "st", "a", "b", "i"},
	} {
		m := message(call(equal, column(2, 1), column(3)))
		m.BaseSchema = &pb.NamedStruct{Names: names, Struct: &pb.Type_Struct{Types: []*pb.Type{listType, mapType, structType, int64Type}}}
		if e, err := substrait.Parse(marshal(t, m)); err != nil || e.String() != "st.b = i" {
			t.Errorf("%q: %v, %v", names, e, err)
		}
	}
}

// TestLongNames refuses a tree that would be much larger than its message.
func TestLongNames(t *testing.T) {
	for _, c := range []struct {
		references int
		want       error
	}{{8, nil}, {9, predicate.ErrLimit}} {
		var args []*pb.Expression
		for range c.references {
			args = append(args, column(0))
		}
		m := message(call(and, args...))
		m.BaseSchema.Names[0] = strings.Repeat("x", substrait.MaxNames/8)
		if _, err := substrait.Parse(marshal(t, m)); !errors.Is(err, c.want) {
			t.Errorf("%d references: %v", c.references, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(levels int, wrap func(*pb.Expression) *pb.Expression) []byte {
		e := column(0)
		for range levels {
			e = wrap(e)
		}
		return marshal(t, message(e))
	}
	conjunction := func(e *pb.Expression) *pb.Expression { return call(and, e, column(0)) }
	e, err := substrait.Parse(nest(substrait.MaxDepth-1, conjunction))
	if err != nil || len(e.(predicate.And).Args) != substrait.MaxDepth {
		t.Errorf("a long conjunction: %v", err)
	}
	checkRefused(t, nest(substrait.MaxDepth+1, conjunction), predicate.ErrLimit, "nested more than 2000 deep")
	negation := func(e *pb.Expression) *pb.Expression { return call(not, e) }
	if _, err := substrait.Parse(nest(substrait.MaxDepth-1, negation)); err != nil {
		t.Error(err)
	}
	checkRefused(t, nest(substrait.MaxDepth, negation), predicate.ErrLimit, "nested more than 2000 deep")
	checkRefused(t, nest(20_000, negation), substrait.ErrMalformed, "nested too deep")
}
