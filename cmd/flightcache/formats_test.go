package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sampleSchema has a column of each kind of type that all formats keep.
var sampleSchema = arrow.NewSchema([]arrow.Field{
	{Name: "bool", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "int8", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "uint64", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	{Name: "float32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "float64", Type: arrow.PrimitiveTypes.Float64, Nullable: false},
	{Name: "string", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "large", Type: arrow.BinaryTypes.LargeString, Nullable: true},
	{Name: "binary", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "date", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "time", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
	{Name: "stamp", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}, Nullable: true},
	{Name: "decimal", Type: &arrow.Decimal128Type{Precision: 20, Scale: 3}, Nullable: true},
	{Name: "list", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
	{Name: "struct", Type: arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true},
	), Nullable: true},
	{Name: "dictionary", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, Nullable: true},
}, nil)

// sampleRowsJSON are rows of sampleSchema.
const sampleRowsJSON = `[
{"bool":true,"int8":-128,"uint64":18446744073709551615,"float32":1.5,"float64":-0.1,"string":"a","large":"L","binary":"AAEC",
 "date":"2024-02-29","time":"01:02:03.000004","stamp":"2024-02-29T12:00:00.000000001Z","decimal":"-12345.678","list":[1,null,3],
 "struct":{"x":1,"y":"one"},"dictionary":"red"},
{"float64":0},
{"bool":false,"int8":127,"uint64":0,"float32":-1,"float64":1e300,"string":"","large":"","binary":"","date":"1969-12-31",
 "time":"00:00:00","stamp":"1969-12-31T23:59:59Z","decimal":"0.001","list":[],"struct":{"x":null,"y":null},"dictionary":"green"}
]`

// sampleBatch makes a batch of sampleSchema whose rows are repeated n times.
func sampleBatch(t testing.TB, n int) arrow.RecordBatch {
	t.Helper()
	rows := strings.TrimSuffix(strings.TrimPrefix(sampleRowsJSON, "["), "]")
	text := "[" + strings.Repeat(rows+",", n-1) + rows + "]"
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, sampleSchema, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// readAll drains a source and returns its rows as one line of JSON each, and the number of batches.
func readAll(t testing.TB, src source) (string, int) {
	t.Helper()
	var out bytes.Buffer
	for n := 0; ; n++ {
		batch, err := src.Next()
		if errors.Is(err, io.EOF) {
			return out.String(), n
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := array.RecordToJSON(batch, &out); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
}

func writeSink(t testing.TB, format sinkFormat, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	s, err := newSink(format, &out, batches[0].Schema())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := s.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFormatsKeepTypesAndValues writes each binary format and reads it from a file and from a pipe.
func TestFormatsKeepTypesAndValues(t *testing.T) {
	batch := sampleBatch(t, 2)
	defer batch.Release()
	var want bytes.Buffer
	for range 2 {
		if err := array.RecordToJSON(batch, &want); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []sinkFormat{sinkIPC, sinkStream, sinkParquet} {
		data := writeSink(t, format, batch, batch)
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			t.Run(fmt.Sprintf("%s from %s", format, filepath.Base(from)), func(t *testing.T) {
				src, err := openSource(context.Background(), bytes.NewReader(data), from, formatAuto, csvOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				// Parquet leaves ids in the metadata of nested fields, which the text does not show.
				if src.Schema().String() != sampleSchema.String() {
					t.Errorf("schema\n%s\nwant\n%s", src.Schema(), sampleSchema)
				}
				if got, _ := readAll(t, src); got != want.String() {
					t.Errorf("rows\n%s\nwant\n%s", got, want.String())
				}
			})
		}
	}
}

// TestTextOfEveryType looks at how CSV and the table show values.
func TestTextOfEveryType(t *testing.T) {
	batch := sampleBatch(t, 1)
	defer batch.Release()
	got := string(writeSink(t, sinkCSV, batch))
	want := `bool,int8,uint64,float32,float64,string,large,binary,date,time,stamp,decimal,list,struct,dictionary
true,-128,18446744073709551615,1.5,-0.1,a,L,AAEC,2024-02-29,01:02:03.000004,2024-02-29T13:00:00.000000001+01:00,-12345.678,"[1,null,3]","{""x"":1,""y"":""one""}",red
,,,,0,,,,,,,,,,
false,127,0,-1,1e+300,,,,1969-12-31,00:00:00.000000,1970-01-01T00:59:59+01:00,0.001,[],"{""x"":null,""y"":null}",green
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOneEmptyColumn keeps rows whose only field is empty: a line that is empty is no row.
func TestOneEmptyColumn(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"a":1},{"a":null},{"a":2}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	text := writeSink(t, sinkCSV, batch)
	if got, want := string(text), "a\n1\n\"\"\n2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	src, err := openSource(context.Background(), bytes.NewReader(text), "-", formatCSV, csvOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got, _ := readAll(t, src); strings.Count(got, "\n") != 3 {
		t.Errorf("got %s, want 3 rows", got)
	}
}

// TestDamagedFiles cuts every format at every length and flips bytes: each gives an error or rows, and never a panic.
func TestDamagedFiles(t *testing.T) {
	batch := sampleBatch(t, 1)
	defer batch.Release()
	drain := func(data []byte) error {
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := openSource(context.Background(), nil, path, formatAuto, csvOptions{})
		if err != nil {
			return err
		}
		defer src.Close()
		for {
			b, err := src.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			b.Release()
		}
	}
	for _, format := range []sinkFormat{sinkIPC, sinkParquet} {
		data := writeSink(t, format, batch)
		if err := drain(data); err != nil {
			t.Fatalf("%s: whole: %v", format, err)
		}
		for n := 6; n < len(data); n += max(1, len(data)/97) {
			if drain(data[:n]) == nil {
				t.Errorf("%s: cut at %d of %d bytes: no error", format, n, len(data))
			}
		}
	}
	// A stream may end after any message, so only a cut inside one must be an error.
	data := writeSink(t, sinkStream, batch)
	if drain(data[:len(data)-16]) == nil {
		t.Error("stream: cut inside its last batch: no error")
	}
}

// TestColumnLongerThanItsBatch changes the length of one column in a file: the library takes it as it is.
func TestColumnLongerThanItsBatch(t *testing.T) {
	batch := sampleBatch(t, 1)
	defer batch.Release()
	// The batch's field nodes, in order, are pairs of a length and a number of nulls: 3 and 1 for the first four columns.
	node := []byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}
	const structNode = 14 // 12 flat columns, the list and its elements come before
	for _, format := range []sinkFormat{sinkIPC, sinkStream} {
		data := writeSink(t, format, batch)
		at := bytes.Index(data, bytes.Repeat(node, 4))
		if at < 0 {
			t.Fatalf("%s: no field nodes", format)
		}
		data[at+structNode*len(node)+3] = 0x21
		src, err := openSource(context.Background(), bytes.NewReader(data), "-", formatAuto, csvOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Next(); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), `"struct"`) {
			t.Errorf("%s: got %v, want errDamaged that names the column", format, err)
		}
		src.Close()
	}
}

// TestStreamBodyLimit refuses a body beyond the limit, which for a file is its own size.
func TestStreamBodyLimit(t *testing.T) {
	batch := sampleBatch(t, 1)
	defer batch.Release()
	data := writeSink(t, sinkStream, batch)
	src, err := newStreamSource(bytes.NewReader(data), io.NopCloser(nil), 16)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := src.Next(); err == nil || !strings.Contains(err.Error(), "exceeds limit 16") {
		t.Errorf("got %v, want a refusal of the body", err)
	}
}
