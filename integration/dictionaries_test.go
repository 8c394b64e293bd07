package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// words makes a batch of a dictionary-encoded column, of which each value is new and 100 bytes long.
func words(t *testing.T, n int) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{
		Name: "word", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
	}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	column := b.Field(0).(*array.BinaryDictionaryBuilder)
	for i := range 100 {
		if err := column.AppendString(fmt.Sprintf("%08d%092d", n, i)); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewRecordBatch()
}

// Ten thousand puts of dictionaries, each like no other, and as many drops: nothing of them stays.
func TestDictionariesOfManyPutsGo(t *testing.T) {
	const puts, rounds = 2000, 5
	client := stockClient(t, startServer(t))
	round := func(n int) {
		for i := range puts {
			batch := words(t, n*puts+i)
			put(t, client, map[string]any{"dataset": fmt.Sprintf("many/%d", i)}, batch)
			batch.Release()
		}
		if now := figures(t, client); now["datasets"] != puts || now["charged_bytes"] == 0 {
			t.Fatalf("%d datasets of %d bytes, want %d", now["datasets"], now["charged_bytes"], puts)
		}
		for i := range puts {
			drop(t, client, fmt.Sprintf("many/%d", i))
		}
	}
	resident := func() int64 {
		least := int64(1 << 62)
		for range 20 {
			now := figures(t, client)
			if now["charged_bytes"] != 0 || now["datasets"] != 0 {
				t.Fatalf("%d bytes stay charged of %d datasets", now["charged_bytes"], now["datasets"])
			}
			least = min(least, now["resident_bytes"])
			time.Sleep(50 * time.Millisecond)
		}
		return least
	}
	round(0)
	before := resident()
	for n := range rounds - 1 {
		round(1 + n)
	}
	after := resident()
	t.Logf("%d MiB at first, %d MiB at last", before>>20, after>>20)
	// The dictionaries of 8,000 puts are 80 MB.
	if after > before+32<<20 {
		t.Errorf("the process has %d bytes after %d puts, and had %d after %d", after, rounds*puts, before, puts)
	}
}

func drop(t *testing.T, client flight.Client, dataset string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"dataset": dataset})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.DoAction(context.Background(), &flight.Action{Type: "drop", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}
