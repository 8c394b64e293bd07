package arrowipc

import (
	"bytes"
	"reflect"
	"testing"
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
	back := arrowRead(t, s)
	if !back.Equal(schema) || !back.Metadata().Equal(schema.Metadata()) {
		t.Errorf("arrow-go reads\n%v\nnot\n%v", back, schema)
	}
	built, err := BuildSchema(s.Fields, s.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(built.Fields, s.Fields) || !reflect.DeepEqual(built.Metadata, s.Metadata) {
		t.Error("a built schema has other fields or metadata")
	}
	back = arrowRead(t, built)
	if !back.Equal(schema) || !back.Metadata().Equal(schema.Metadata()) {
		t.Errorf("arrow-go reads from a built schema\n%v\nnot\n%v", back, schema)
	}
}
