package flight

import (
	"bytes"
	"fmt"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/flightcache/flightcache/arrowipc"
)

// wireBatch is one record batch message as it came.
type wireBatch struct {
	*arrowipc.Message
	body []byte
}

func (b wireBatch) buffer(i int) []byte {
	x := b.Batch.Buffers[i]
	return b.body[x.Offset : x.Offset+x.Length]
}

// wireBatches reads a stream's headers.
func wireBatches(t *testing.T, messages []*arrowflight.FlightData) (*arrowipc.Schema, []wireBatch) {
	t.Helper()
	s, err := arrowipc.ParseSchema(messages[0].DataHeader, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(messages[0].DataBody) > 0 {
		t.Error("the schema has a body")
	}
	var out []wireBatch
	for i, m := range messages[1:] {
		h, err := arrowipc.ReadMessage(m.DataHeader, arrowipc.Limits{})
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		if h.BodyLength != int64(len(m.DataBody)) {
			t.Errorf("batch %d: the header says a body of %d bytes, %d came", i, h.BodyLength, len(m.DataBody))
		}
		out = append(out, wireBatch{Message: h, body: m.DataBody})
	}
	return s, out
}

// ranges are the numbers of a column's field nodes and buffers in one batch.
func ranges(s *arrowipc.Schema, b wireBatch, column int) (node0, node1, buf0, buf1 int) {
	c := s.Layout.Columns[column]
	skip := 0
	for _, n := range b.Batch.Variadic[:c.View0] {
		skip += int(n)
	}
	own := 0
	for _, n := range b.Batch.Variadic[c.View0:c.View1] {
		own += int(n)
	}
	return c.Node0, c.Node1, c.Buf0 + skip, c.Buf1 + skip + own
}

func TestProjectedBodiesAreStoredRanges(t *testing.T) {
	tb := mixed(1, 1000, 1, 3000)
	projections := map[string][]int{
		"one":            {2},
		"one of views":   {3},
		"null":           {6},
		"two adjacent":   {3, 4},
		"apart":          {0, 7},
		"reordered":      {5, 0, 4},
		"repeated":       {1, 1},
		"all, backwards": {7, 6, 5, 4, 3, 2, 1, 0},
		"none":           {},
	}
	for _, codec := range []string{"none", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			f := start(t)
			f.put(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q,"batching":"keep"}`, codec)), tb)
			whole := f.get(`{"dataset":"d","wire":"stored"}`)
			schema, batches := wireBatches(t, whole)
			if len(batches) != 3 {
				t.Fatalf("%d batches, want 3", len(batches))
			}
			for i, b := range batches {
				if plain := b.Batch.Compression == arrowipc.Uncompressed; plain != (codec == "none") {
					t.Errorf("batch %d is plain: %v", i, plain)
				}
				if got, want := int64(len(b.body)), padded(b); got != want {
					t.Errorf("batch %d: a body of %d bytes, its buffers and their padding are %d", i, got, want)
				}
			}
			sameTable(t, tableOf(t, whole), tb)
			for name, columns := range projections {
				t.Run(name, func(t *testing.T) {
					f := f.in(t)
					list := ""
					for i, c := range columns {
						if i > 0 {
							list += ","
						}
						list += fmt.Sprint(c)
					}
					messages := f.get(fmt.Sprintf(`{"dataset":"d","wire":"stored","columns":[%s]}`, list))
					_, got := wireBatches(t, messages)
					if len(got) != len(batches) {
						t.Fatalf("%d batches, want %d", len(got), len(batches))
					}
					for i := range got {
						checkRanges(t, schema, batches[i], got[i], columns)
					}
					sameTable(t, tableOf(t, messages), tb.columns(columns...))
				})
			}
		})
	}
}

// checkRanges checks that a projected message is made of the chosen columns' nodes and of their very bytes.
func checkRanges(t *testing.T, s *arrowipc.Schema, whole, got wireBatch, columns []int) {
	t.Helper()
	node, buf := 0, 0
	for _, c := range columns {
		node0, node1, buf0, buf1 := ranges(s, whole, c)
		for i := node0; i < node1; i++ {
			if got.Batch.Nodes[node] != whole.Batch.Nodes[i] {
				t.Errorf("column %d: node %d is %v, stored %v", c, node, got.Batch.Nodes[node], whole.Batch.Nodes[i])
			}
			node++
		}
		for i := buf0; i < buf1; i++ {
			if !bytes.Equal(got.buffer(buf), whole.buffer(i)) {
				t.Errorf("column %d: buffer %d is not stored buffer %d", c, buf, i)
			}
			buf++
		}
	}
	if node != len(got.Batch.Nodes) || buf != len(got.Batch.Buffers) {
		t.Errorf("%d nodes and %d buffers, want %d and %d", len(got.Batch.Nodes), len(got.Batch.Buffers), node, buf)
	}
	if n := int64(len(got.body)); n != padded(got) {
		t.Errorf("a body of %d bytes, its buffers and their padding are %d: bytes of other columns were sent", n, padded(got))
	}
	if got.Batch.Rows != whole.Batch.Rows {
		t.Errorf("%d rows, want %d", got.Batch.Rows, whole.Batch.Rows)
	}
}

// padded is the length of a body that holds the batch's buffers, each at a multiple of 8, and nothing else.
func padded(b wireBatch) (n int64) {
	for _, x := range b.Batch.Buffers {
		n += (x.Length + 7) &^ 7
	}
	return n
}
