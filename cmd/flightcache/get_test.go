package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestReadCommand looks at what get asks of the server.
func TestReadCommand(t *testing.T) {
	address, stub := startStub(t)
	must(t, "a,b\n1,2\n", "put", "-", "d", "--address", address)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, `{"dataset":"d","limit":20}`},
		{[]string{"--limit", "3"}, `{"dataset":"d","limit":3}`},
		{[]string{"--limit=-1"}, `{"dataset":"d"}`},
		{[]string{"--format", "csv"}, `{"dataset":"d"}`},
		{[]string{"--output", "json"}, `{"dataset":"d"}`},
		{[]string{"--columns", "b, a,#0", "--limit=-1"}, `{"dataset":"d","columns":["b","a",0]}`},
		{[]string{"--columns="}, `{"dataset":"d","columns":[]}`},
		{[]string{"--column", "a", "--column=b", "--limit=-1"}, `{"dataset":"d","columns":["a","b"]}`},
		{[]string{"--wire", "none", "--limit=-1"}, `{"dataset":"d","wire":"none"}`},
		{[]string{"--filter", `[["a", ">=", 1]]`, "--limit=-1"}, `{"dataset":"d","filters":[["a","\u003e=",1]]}`},
		{[]string{"--dictionaries", "decode", "--limit=-1"}, `{"dataset":"d","dictionaries":"decode"}`},
	} {
		must(t, "", append([]string{"get", "d", "--address", address}, tt.args...)...)
		if got := stub.reads[len(stub.reads)-1]; got != tt.want {
			t.Errorf("get d %q: asked %s, want %s", tt.args, got, tt.want)
		}
	}
	if got := strings.Join(stub.headers.Get("flightcache-accept-codecs"), ""); got != "zstd, lz4" {
		t.Errorf("flightcache-accept-codecs: %q", got)
	}
}

// TestPutCommand looks at what put asks of the server.
func TestPutCommand(t *testing.T) {
	address, stub := startStub(t)
	must(t, "a\n1\n", "put", "-", "d", "--address", address)
	must(t, "a\n1\n", "put", "-", "x/y z", "--address", address, "--mode", "append", "--codec", "lz4", "--level", "0",
		"--batching", "keep", "--rows", "1", "--sorted-by", "a,-b", "--dictionaries", "decode")
	got, err := json.Marshal(stub.puts)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"dataset":"d","mode":"replace","batching":"auto"},` +
		`{"dataset":"x/y z","mode":"append","codec":"lz4","level":0,"batching":"keep","rows":1,"sorted_by":["a","-b"],"dictionaries":"decode"}]`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLimitWithoutTheServer stops by itself at a server that sends all.
func TestLimitWithoutTheServer(t *testing.T) {
	address, stub := startStub(t)
	stub.noLimit = true
	must(t, "a\n1\n2\n3\n", "put", "-", "d", "--address", address)
	must(t, "a\n4\n5\n", "put", "-", "d", "--address", address, "--mode", "append")
	for limit, want := range map[int]string{0: "a\n", 2: "a\n1\n2\n", 4: "a\n1\n2\n3\n4\n", 9: "a\n1\n2\n3\n4\n5\n"} {
		if got := must(t, "", "get", "d", "--address", address, "--format", "csv", "--limit", fmt.Sprint(limit)); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}

// TestFailedGetLeavesNoFile keeps what was there and leaves nothing beside it.
func TestFailedGetLeavesNoFile(t *testing.T) {
	address, _ := startStub(t)
	// Run-end encoding has no place in Parquet.
	schema := arrow.NewSchema([]arrow.Field{{Name: "r", Type: arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"r":"x"},{"r":"x"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	must(t, string(writeSink(t, sinkStream, batch)), "put", "-", "d", "--address", address)
	dir := t.TempDir()
	path := filepath.Join(dir, "out.parquet")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := flightcache(t, "", "get", "d", "--address", address, "-o", path)
	if r.code != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "flightcache: ") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "before" {
		t.Errorf("the file is now %q, %v", text, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

// TestLargeBatchesAreCut puts one batch of more than maxPutBytes, which arrives in parts and in order.
func TestLargeBatchesAreCut(t *testing.T) {
	address, stub := startStub(t)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	const rows = maxPutBytes/8*2 + 1
	b.Reserve(rows)
	for i := range rows {
		b.Append(int64(i))
	}
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{column}, rows)
	defer batch.Release()
	path := filepath.Join(t.TempDir(), "big.arrow")
	if err := os.WriteFile(path, writeSink(t, sinkIPC, batch), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "", "put", path, "d", "--address", address)
	d := stub.datasets["d"]
	if len(d.batches) != 3 {
		t.Errorf("%d batches, want 3", len(d.batches))
	}
	next := int64(0)
	for _, part := range d.batches {
		for _, v := range part.Column(0).(*array.Int64).Int64Values() {
			if v != next {
				t.Fatalf("row %d is %d", next, v)
			}
			next++
		}
	}
	if next != rows {
		t.Errorf("%d rows, want %d", next, rows)
	}
}
