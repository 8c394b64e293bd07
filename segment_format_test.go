package flightcache_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/statistics"
)

// segmentExamples writes the batch of the examples to a segment.
func segmentExamples(t *testing.T, made map[string]string, schema, header, body []byte) {
	t.Helper()
	sent, err := arrowipc.ParseSchema(schema, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := arrowipc.BuildSchema(sent.Fields, nil) // as it was put: what is sent has zeros behind it
	if err != nil {
		t.Fatal(err)
	}
	m, err := arrowipc.ReadMessage(header, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pool := segment.NewPool(1)
	defer pool.Close()
	path := filepath.Join(t.TempDir(), "example.arrow")
	w, err := pool.Create(path, whole)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	err = w.AddBatch(segment.Facts{
		Header: *m.Batch, Decoded: []int64{192, 175},
		Statistics: []statistics.Column{
			{Rows: 24, HasMin: true, Min: statistics.Int(0), MinExact: true, HasMax: true, Max: statistics.Int(5), MaxExact: true},
			{Rows: 24, Nulls: 6, HasMin: true, Min: statistics.TextValue("Lima"), MinExact: true,
				HasMax: true, Max: statistics.TextValue("Rome"), MaxExact: true},
		},
	}, body)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.Finish(false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(raw) - 10
	at := end - int(binary.LittleEndian.Uint32(raw[end:]))
	footer, err := arrowipc.ReadFooter(raw[at:end], arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := footer.Batches[0]
	var out strings.Builder
	part := func(from, to int64, what string) { fmt.Fprintf(&out, "%4d to %4d  %s\n", from, to-1, what) }
	part(0, 8, "ARROW1, two zeros")
	part(8, b.Offset, "schema message")
	part(b.Offset, b.Offset+int64(b.Header), "metadata of batch 0")
	part(b.Offset+int64(b.Header), b.End(), "body of batch 0")
	part(b.End(), int64(at), "end of the messages")
	part(int64(at), int64(end), "footer")
	part(int64(end), int64(end)+4, fmt.Sprintf("its length, %d", end-at))
	part(int64(end)+4, int64(len(raw)), "ARROW1")
	made["segment-parts"] = out.String()
	facts, err := base64.StdEncoding.DecodeString(footer.Metadata[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	made["segment-facts"] = hex.Dump(facts)
}
