package arrowipc

import (
	"errors"
	"strings"
	"testing"
)

func TestBuildSchemaIsLimited(t *testing.T) {
	deep := node(TypeNull)
	for range DefaultDepth {
		deep = node(TypeStruct, deep)
	}
	many := make([]*Field, DefaultFields+1)
	for i := range many {
		many[i] = node(TypeNull)
	}
	for name, fields := range map[string][]*Field{
		"levels of nested fields": {deep},
		" fields or more":         many,
		"bytes of Field.name":     {{Name: strings.Repeat("n", DefaultNameBytes+1), Type: Type{ID: TypeNull}}},
	} {
		if _, err := BuildSchema(fields, nil); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, fields := range map[string][]*Field{"depth": deep.Children, "fields": many[1:]} {
		if _, err := BuildSchema(fields, nil); err != nil {
			t.Errorf("%s at its limit: %v", name, err)
		}
	}
}

func TestBuiltSchemaKeepsNoFields(t *testing.T) {
	f := node(TypeUtf8)
	s, err := BuildSchema([]*Field{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Name, f.Type.ID = "changed", TypeBool
	if got := s.Fields[0]; got.Name != "f" || got.Type.ID != TypeUtf8 {
		t.Errorf("the schema's field has become %+v", got)
	}
}
