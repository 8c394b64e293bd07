package substrait

import (
	"fmt"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/flightcache/flightcache/predicate"
)

// field is a field of the base schema. Only structs have children.
type field struct {
	name     string
	children []field
}

// readSchema takes the base schema. Its names are in one list, those of a struct's children behind its own. Substrait means
// the structs within lists and maps too; Acero leaves those out. Which of the two it is shows in how many names there are.
func (p *parser) readSchema(s *pb.NamedStruct) error {
	names, types := s.GetNames(), s.GetStruct().GetTypes()
	for _, within := range []bool{false, true} {
		r := nameReader{rest: names, within: within}
		if fields, ok := r.fields(types); ok && len(r.rest) == 0 {
			p.fields = fields
			return nil
		}
	}
	return malformed("the base schema has %d names, which is not as many as its %d top-level types and their children have",
		len(names), len(types))
}

// nameReader gives out names, depth first.
type nameReader struct {
	rest   []string
	within bool // the names of structs in lists and maps are there too
}

func (r *nameReader) fields(types []*pb.Type) ([]field, bool) {
	if len(types) > len(r.rest) {
		return nil, false
	}
	fields := make([]field, len(types))
	for i, t := range types {
		if len(r.rest) == 0 {
			return nil, false
		}
		fields[i].name, r.rest = r.rest[0], r.rest[1:]
		var ok bool
		if fields[i].children, ok = r.children(t); !ok {
			return nil, false
		}
	}
	return fields, true
}

func (r *nameReader) children(t *pb.Type) ([]field, bool) {
	if s := t.GetStruct(); s != nil {
		return r.fields(s.GetTypes())
	}
	if !r.within {
		return nil, true
	}
	for _, inner := range []*pb.Type{t.GetList().GetType(), t.GetMap().GetKey(), t.GetMap().GetValue()} {
		if inner == nil { // t is no list, or no map
			continue
		}
		if _, ok := r.children(inner); !ok {
			return nil, false
		}
	}
	return nil, true
}

// reference reads a reference to a field of the base schema.
func (p *parser) reference(f *pb.Expression_FieldReference) (predicate.Expr, error) {
	if f.GetRootReference() == nil {
		return nil, unsupported("references whose root is %s", oneof(f, "root_type"))
	}
	if f.GetDirectReference() == nil {
		return nil, unsupported("references of the form %s", oneof(f, "reference_type"))
	}
	var c predicate.Column
	fields := p.fields
	for segment := f.GetDirectReference(); segment != nil; {
		s := segment.GetStructField()
		if s == nil {
			return nil, unsupported("references through %s", oneof(segment, "reference_type"))
		}
		at := int(s.GetField())
		if at < 0 || at >= len(fields) {
			return nil, malformed("a reference to field %d of %s, which has %d fields", at, placeOf(c), len(fields))
		}
		if p.named += len(fields[at].name); p.named > MaxNames {
			return nil, fmt.Errorf("%w: the Substrait expression names columns with more than %d bytes", predicate.ErrLimit, MaxNames)
		}
		c.Path = append(c.Path, fields[at].name)
		fields, segment = fields[at].children, s.GetChild()
	}
	return c, nil
}

// placeOf names what a reference has reached.
func placeOf(c predicate.Column) string {
	if c.Path == nil {
		return "the base schema"
	}
	return quote(c.String())
}
