package substrait

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// symbol is a function or a type that a message declares: the document that defines it and its name there.
type symbol struct{ document, name string }

// Documents, by the names that symbols have them under.
const (
	docComparison = "functions_comparison"
	docBoolean    = "functions_boolean"
	docString     = "functions_string"
	docArrowTypes = "arrow extension_types"
)

// Fields that Substrait had before URNs replaced URIs. The messages of today's library know them no more, and keep them
// among the unknown ones.
const (
	fieldURIs            = 1 // ExtendedExpression.extension_uris, repeated SimpleExtensionURI
	fieldURIAnchor       = 1 // SimpleExtensionURI.extension_uri_anchor
	fieldURI             = 2 // SimpleExtensionURI.uri
	fieldDeclarationsURI = 1 // ExtensionFunction.extension_uri_reference, the same of ExtensionType
)

// declare takes the declarations of functions and types.
func (p *parser) declare(m *pb.ExtendedExpression) error {
	urns := map[uint32]string{}
	for _, u := range m.GetExtensionUrns() {
		if _, twice := urns[u.GetExtensionUrnAnchor()]; twice {
			return malformed("two URNs have the anchor %d", u.GetExtensionUrnAnchor())
		}
		urns[u.GetExtensionUrnAnchor()] = u.GetUrn()
	}
	uris, err := readURIs(m.ProtoReflect().GetUnknown())
	if err != nil {
		return err
	}
	// A reference of 0 is not on the wire, so it is by URN only where there are URNs and no URIs.
	document := func(urn uint32, unknown []byte) (string, error) {
		uri, err := readVarint(unknown, fieldDeclarationsURI)
		if err != nil {
			return "", err
		}
		text, ok := uris[uri]
		if urn != 0 || len(uris) == 0 {
			text, ok = urns[urn]
		}
		if !ok {
			return "", malformed("a function or type refers to the URI or URN %d, which is not there", max(urn, uri))
		}
		return documentOf(text), nil
	}
	p.functions, p.types = map[uint32]symbol{}, map[uint32]symbol{}
	for _, d := range m.GetExtensions() {
		if f := d.GetExtensionFunction(); f != nil {
			doc, err := document(f.GetExtensionUrnReference(), f.ProtoReflect().GetUnknown())
			if err != nil {
				return err
			}
			// A compound name says which types it takes, "equal:any_any", and the plain one does as well.
			name, _, _ := strings.Cut(f.GetName(), ":")
			if err := add(p.functions, f.GetFunctionAnchor(), symbol{doc, name}, "functions"); err != nil {
				return err
			}
		}
		if t := d.GetExtensionType(); t != nil {
			doc, err := document(t.GetExtensionUrnReference(), t.ProtoReflect().GetUnknown())
			if err != nil {
				return err
			}
			if err := add(p.types, t.GetTypeAnchor(), symbol{doc, t.GetName()}, "types"); err != nil {
				return err
			}
		}
	}
	return nil
}

func add(symbols map[uint32]symbol, anchor uint32, s symbol, what string) error {
	if old, twice := symbols[anchor]; twice && old != s {
		return malformed("two %s have the anchor %d: %s and %s", what, anchor, quote(old.name), quote(s.name))
	}
	symbols[anchor] = s
	return nil
}

// documentOf gives the name that a document has here, or the text itself for one that is not known.
func documentOf(text string) string {
	if text == "https://github.com/apache/arrow/blob/main/format/substrait/extension_types.yaml" ||
		text == "extension:org.apache.arrow:extension_types" {
		return docArrowTypes
	}
	if name, ok := strings.CutPrefix(text, "extension:io.substrait:"); ok {
		return name
	}
	// The URI has a branch or a version in it, and old writers left out all but the file's name.
	dir, file, _ := cutLast(text, '/')
	if name, ok := strings.CutSuffix(file, ".yaml"); ok && (dir == "" || strings.HasPrefix(dir, "https://github.com/substrait-io/substrait/")) {
		return name
	}
	return text
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

// readURIs takes the URIs from the fields of a message that its type does not know.
func readURIs(unknown []byte) (map[uint32]string, error) {
	uris := map[uint32]string{}
	err := eachField(unknown, func(number protowire.Number, value []byte, _ uint64) error {
		if number != fieldURIs || value == nil {
			return nil
		}
		anchor, err := readVarint(value, fieldURIAnchor)
		if err != nil {
			return err
		}
		uri := ""
		if err := eachField(value, func(number protowire.Number, value []byte, _ uint64) error {
			if number == fieldURI {
				uri = string(value)
			}
			return nil
		}); err != nil {
			return err
		}
		if _, twice := uris[anchor]; twice {
			return malformed("two URIs have the anchor %d", anchor)
		}
		uris[anchor] = uri
		return nil
	})
	return uris, err
}

// readVarint gives the last value of a number's field; 0 if there is none.
func readVarint(message []byte, field protowire.Number) (uint32, error) {
	var n uint32
	err := eachField(message, func(number protowire.Number, value []byte, v uint64) error {
		if number == field && value == nil {
			n = uint32(v) // as protobuf reads a longer one
		}
		return nil
	})
	return n, err
}

// eachField calls f with every length-delimited or varint field of a message: value is not nil for the former.
func eachField(message []byte, f func(number protowire.Number, value []byte, v uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformed("a field's tag is cut short")
		}
		message = message[n:]
		var value []byte
		var v uint64
		switch kind {
		case protowire.BytesType:
			if value, n = protowire.ConsumeBytes(message); n >= 0 && value == nil {
				value = []byte{}
			}
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return malformed("field %d is cut short", number)
		}
		message = message[n:]
		if kind != protowire.BytesType && kind != protowire.VarintType {
			continue
		}
		if err := f(number, value, v); err != nil {
			return err
		}
	}
	return nil
}
