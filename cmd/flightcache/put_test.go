package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestPutGivesUpWhole fails a put in its middle, when batches were already sent, and finds the dataset as it was.
func TestPutGivesUpWhole(t *testing.T) {
	address, stub := startStub(t)
	must(t, "a\n1\n", "put", "-", "d", "--address", address)
	var text strings.Builder
	text.WriteString("a\n")
	for i := range sampleRows + 3*rowsPerBatch {
		fmt.Fprintln(&text, i)
	}
	text.WriteString("oops\n")
	r := flightcache(t, text.String(), "put", "-", "d", "--address", address, "--mode", "append")
	if r.code != 1 || !strings.Contains(r.stderr, `"oops" is not of type int64`) || r.stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if got := must(t, "", "get", "d", "--address", address, "--format", "csv"); got != "a\n1\n" {
		t.Errorf("the dataset is now %q", got)
	}
	if len(stub.puts) != 1 {
		t.Errorf("%d puts were committed, want 1", len(stub.puts))
	}
}

// TestPutShowsTheServersReason has a server refuse a put at once while the client has much to send.
func TestPutShowsTheServersReason(t *testing.T) {
	address, _ := startStub(t)
	batch := sampleBatch(t, 20_000)
	defer batch.Release()
	data := writeSink(t, sinkStream, batch, batch, batch, batch, batch, batch)
	r := flightcache(t, string(data), "put", "-", "forbidden", "--address", address)
	if r.code != 1 || r.stderr != "flightcache: dataset \"forbidden\" is not yours to put\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
}

// TestInterruptedInput gives up a put whose input never comes.
func TestInterruptedInput(t *testing.T) {
	address := startServer(t)
	for _, begun := range []string{"", "a\n1\n"} {
		in, feed := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			// A pipe's write returns when all of it was read: then the program waits for more.
			if begun != "" {
				feed.Write([]byte(begun))
			}
			cancel()
		}()
		var stdout, stderr bytes.Buffer
		code := run(&env{ctx: ctx, stdin: in, stdout: &stdout, stderr: &stderr}, []string{"put", "-", "d", "--address", address})
		if code != 1 || stderr.String() != "flightcache: interrupted\n" {
			t.Errorf("%q: exit code %d, stderr %q", begun, code, stderr.String())
		}
		feed.Close()
	}
}

// TestPutWithoutRows puts a schema alone, from each format that can hold that, and shows it.
func TestPutWithoutRows(t *testing.T) {
	address := startServer(t)
	for _, format := range []sinkFormat{sinkIPC, sinkStream, sinkParquet} {
		var out strings.Builder
		s, err := newSink(format, &out, sampleSchema)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		name := "empty/" + string(format)
		must(t, out.String(), "put", "-", name, "--address", address)
		got := must(t, "", "get", name, "--address", address, "--columns", "bool,list")
		want := "bool  list\nbool  list<element: int32, nullable>\n────  ──────────────────────────────\n(0 rows, 2 columns)\n"
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
		for _, to := range []sinkFormat{sinkIPC, sinkStream, sinkParquet} {
			data := must(t, "", "get", name, "--address", address, "--format", string(to))
			src, err := openSource(context.Background(), strings.NewReader(data), "-", formatAuto, csvOptions{})
			if err != nil {
				t.Errorf("%s: got as %s: %v", format, to, err)
				continue
			}
			if rows, _ := readAll(t, src); rows != "" || src.Schema().NumFields() != sampleSchema.NumFields() {
				t.Errorf("%s: got as %s: %s with rows %q", format, to, src.Schema(), rows)
			}
			src.Close()
		}
	}
}

// TestDictionaries keeps a dictionary through put and get, and has it decoded on either way.
func TestDictionaries(t *testing.T) {
	address := startServer(t)
	coded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "city", Type: coded, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"city":"Oslo"},{"city":null},{"city":"Rome"},{"city":"Oslo"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	data := string(writeSink(t, sinkStream, batch))
	must(t, data, "put", "-", "coded", "--address", address)
	must(t, data, "put", "-", "values", "--address", address, "--dictionaries", "decode")
	for _, tt := range []struct {
		args []string
		want arrow.DataType
	}{
		{[]string{"coded"}, coded},
		{[]string{"coded", "--dictionaries", "keep"}, coded},
		{[]string{"coded", "--dictionaries", "decode"}, arrow.BinaryTypes.String},
		{[]string{"values"}, arrow.BinaryTypes.String},
		{[]string{"values", "--dictionaries", "keep"}, arrow.BinaryTypes.String},
	} {
		args := append([]string{"get", "--address", address}, tt.args...)
		src, err := openSource(context.Background(), strings.NewReader(must(t, "", append(args, "--format", "stream")...)), "-", formatAuto, csvOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := src.Schema().Field(0).Type; !arrow.TypeEqual(got, tt.want) {
			t.Errorf("%q: got type %s, want %s", tt.args, got, tt.want)
		}
		src.Close()
		if got := must(t, "", append(args, "--format", "csv")...); got != "city\nOslo\n\"\"\nRome\nOslo\n" {
			t.Errorf("%q: got %q", tt.args, got)
		}
	}
}

// TestReachable reads endpoints of the server asked only.
func TestReachable(t *testing.T) {
	r := rowReader{client: &client{address: "grpc://a:1"}}
	for _, tt := range []struct {
		locations []string
		ok        bool
	}{
		{nil, true},
		{[]string{"arrow-flight-reuse-connection://?"}, true},
		{[]string{"grpc://b:1", "grpc://a:1"}, true},
		{[]string{"grpc://b:1"}, false},
	} {
		endpoint := &flight.FlightEndpoint{}
		for _, l := range tt.locations {
			endpoint.Location = append(endpoint.Location, &flight.Location{Uri: l})
		}
		if err := r.reachable(endpoint); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.locations, err)
		}
	}
}

// FuzzTellFormat tells the format of any bytes under any name, and holds that a format that was asked for is never
// overruled.
func FuzzTellFormat(f *testing.F) {
	for _, seed := range []string{"", "ARROW1\x00\x00", "PAR1", "\xff\xff\xff\xff", "FEA1", "\x1f\x8b", "a,b\n", "\xc3", "a\x00"} {
		for _, ext := range []string{"", ".csv", ".parquet", ".ARROW"} {
			f.Add([]byte(seed), ext)
		}
	}
	f.Fuzz(func(t *testing.T, head []byte, ext string) {
		for asked, kinds := range map[fileFormat][]inputKind{
			formatAuto: {kindFile, kindStream, kindParquet, kindCSV}, formatIPC: {kindFile, kindStream},
			formatParquet: {kindParquet}, formatCSV: {kindCSV},
		} {
			kind, err := tellFormat(head, ext, asked)
			if err != nil && !errors.Is(err, errFormat) {
				t.Errorf("asked %s: error %v does not wrap errFormat", asked, err)
			}
			if err == nil && !slices.Contains(kinds, kind) {
				t.Errorf("asked %s: got kind %d", asked, kind)
			}
		}
	})
}
