package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func readCSV(text string, options csvOptions) (source, error) {
	if options.delimiter == 0 {
		options.delimiter = ','
	}
	return newCSVSource(bufio.NewReader(strings.NewReader(text)), io.NopCloser(nil), options)
}

// TestCSVInference holds the rules by which a column gets its type.
func TestCSVInference(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{[]string{"true", "FALSE", ""}, "bool"},
		{[]string{"0", "1"}, "int64"},
		{[]string{"true", "1"}, "string"},
		{[]string{"9223372036854775807", "-9223372036854775808"}, "int64"},
		{[]string{"9223372036854775808"}, "string"},
		{[]string{"007"}, "string"},
		{[]string{"+1"}, "string"},
		{[]string{"-0"}, "float64"},
		{[]string{"1", "2.5"}, "float64"},
		{[]string{"1e3", "-.5", "NaN", "-inf"}, "float64"},
		{[]string{"00.5"}, "string"},
		{[]string{"0.5"}, "float64"},
		{[]string{"1_000"}, "string"},
		{[]string{"0x1p-2"}, "string"},
		{[]string{"1e999"}, "string"},
		{[]string{"2024-02-29"}, "date"},
		{[]string{"2023-02-29"}, "string"},
		{[]string{"2024-01-01", "2024-01-01T00:00:00"}, "string"},
		{[]string{"2024-01-01T00:00:00", "2024-01-01 00:00:00.000001"}, "timestamp"},
		{[]string{"2024-01-01 00:00"}, "timestamp"},
		{[]string{"2024-01-01T00:00:00.000000001"}, "string"},
		{[]string{"2024-01-01T00:00:00Z", "2024-01-01T00:00:00+02:00"}, "timestamptz"},
		{[]string{"2024-01-01T00:00:00Z", "2024-01-01T00:00:00"}, "string"},
		{[]string{"", ""}, "string"},
		{nil, "string"},
	} {
		t.Run(strings.Join(tt.values, " "), func(t *testing.T) {
			text := "x,y\n"
			for _, v := range tt.values {
				text += v + ",1\n"
			}
			src, err := readCSV(text, csvOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := src.(*csvSource).columns[0].name; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got, _ := readAll(t, src); strings.Count(got, "\n") != len(tt.values) {
				t.Errorf("got %d rows, want %d", strings.Count(got, "\n"), len(tt.values))
			}
		})
	}
}

// TestCSVValues looks at values, nulls, a byte order mark, quotes and names that repeat.
func TestCSVValues(t *testing.T) {
	text := "\ufeffa,b,a\r\n-1,\"x\r\ny \"\"z\"\"\",2024-01-01T01:00:00+01:00\r\n,\"\",\r\n"
	src, err := readCSV(text, csvOptions{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := src.Next()
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	want := []arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "a", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
	}
	if !batch.Schema().Equal(arrow.NewSchema(want, nil)) {
		t.Errorf("schema %s", batch.Schema())
	}
	for i, want := range []string{"-1", "x\ny \"z\"", "2024-01-01T00:00:00Z"} {
		if got := batch.Column(i).ValueStr(0); got != want {
			t.Errorf("column %d: got %q, want %q", i, got, want)
		}
		if !batch.Column(i).IsNull(1) {
			t.Errorf("column %d: row 1 is %q, want null", i, batch.Column(i).ValueStr(1))
		}
	}
}

// TestCSVBeyondTheSample puts the value that does not fit behind the rows that decide the types.
func TestCSVBeyondTheSample(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,n\n")
	for i := range sampleRows + rowsPerBatch {
		fmt.Fprintf(&text, "%d,1\n", i)
	}
	good := text.String()
	src, err := readCSV(good, csvOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, batches := readAll(t, src)
	if got, want := strings.Count(rows, "\n"), sampleRows+rowsPerBatch; got != want || batches != 2 {
		t.Errorf("got %d rows in %d batches, want %d in 2", got, batches, want)
	}

	bad := good + "5,n/a\n"
	for _, tt := range []struct {
		types map[string]string
		want  string
	}{
		{nil, fmt.Sprintf(`line %d, column "n": "n/a" is not of type int64, which the first rows have; give --type 'n=string'`, sampleRows+rowsPerBatch+2)},
		{map[string]string{"n": "string"}, ""},
	} {
		src, err := readCSV(bad, csvOptions{types: tt.types})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			var batch arrow.RecordBatch
			if batch, err = src.Next(); err == nil {
				batch.Release()
			}
		}
		if tt.want == "" && !errors.Is(err, io.EOF) || tt.want != "" && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("types %v: got %v, want %q", tt.types, err, tt.want)
		}
	}
}

func TestCSVMistakes(t *testing.T) {
	for _, tt := range []struct {
		text, want string
	}{
		{"", "it is empty"},
		{"a,b\n1\n", "record on line 2: wrong number of fields"},
		{"a\n\"x\n", "extraneous or missing \""},
	} {
		if _, err := readCSV(tt.text, csvOptions{}); err == nil || !errors.Is(err, errCSV) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

// FuzzCSV reads any text twice, as it is and as this program writes it, and finds the same rows.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,x\n,\n", "a\n\"\"\n", "t\n2024-01-01T00:00:00+01:00\n", "a,a\n007,1e3\n", "\ufeffa\ntrue\n", "a\n\"x\ny\"\n", "n\nNaN\n-inf\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src, err := readCSV(text, csvOptions{})
		if err != nil {
			return
		}
		var batches []arrow.RecordBatch
		for {
			batch, err := src.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			defer batch.Release()
			batches = append(batches, batch)
		}
		if len(batches) == 0 {
			return
		}
		written := string(writeSink(t, sinkCSV, batches...))
		again, err := readCSV(written, csvOptions{})
		if err != nil {
			t.Fatalf("%q, written as %q: %v", text, written, err)
		}
		got, _ := readAll(t, again)
		want, _ := readAll(t, &fixedSource{batches})
		if got != want {
			t.Fatalf("%q, written as %q: got\n%s\nwant\n%s", text, written, got, want)
		}
	})
}

// fixedSource yields batches again.
type fixedSource struct{ batches []arrow.RecordBatch }

func (s *fixedSource) Schema() *arrow.Schema { return s.batches[0].Schema() }
func (s *fixedSource) Close() error          { return nil }
func (s *fixedSource) Next() (arrow.RecordBatch, error) {
	if len(s.batches) == 0 {
		return nil, io.EOF
	}
	b := s.batches[0]
	s.batches = s.batches[1:]
	b.Retain()
	return b, nil
}
