package arrowipc

import (
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// sameAsParsed fails unless a made schema says of itself what its message says.
func sameAsParsed(tb testing.TB, s *Schema) {
	tb.Helper()
	again := mustParse(tb, s.Message())
	if !reflect.DeepEqual(again.Fields, s.Fields) || !reflect.DeepEqual(again.Metadata, s.Metadata) ||
		!reflect.DeepEqual(again.Layout, s.Layout) {
		tb.Error("the projected schema is not the one that its message says")
	}
}

func TestProjectEachColumn(t *testing.T) {
	schema := zoo()
	s := mustParse(t, arrowHeader(t, schema))
	for i := range s.Fields {
		p, err := s.Project([]Pick{{Ordinal: i}})
		if err != nil {
			t.Fatal(err)
		}
		sameAsParsed(t, p.Schema)
		meta := schema.Metadata()
		want := arrow.NewSchema([]arrow.Field{schema.Field(i)}, &meta)
		if got := arrowRead(t, p.Schema); !got.Equal(want) || !got.Metadata().Equal(meta) {
			t.Errorf("column %d: got %v, want %v", i, got, want)
		}
		if !reflect.DeepEqual(p.Spans, []Span{s.Layout.Columns[i].Span}) {
			t.Errorf("column %d: spans %+v", i, p.Spans)
		}
	}
}
