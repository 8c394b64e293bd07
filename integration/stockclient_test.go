package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// stockLimit is what a grpc-go client receives at most when nobody gives it options.
const stockLimit = 4 << 20

// stockClient connects as the arrow-go documentation does: nothing but the transport credentials is given.
func stockClient(t *testing.T, address string) flight.Client {
	t.Helper()
	client, err := flight.NewClientWithMiddleware(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// flatBatch has the rows from start to start+rows: a nullable number and a text that tells its row.
func flatBatch(mem memory.Allocator, start, rows int) arrow.RecordBatch {
	metadata := arrow.NewMetadata([]string{"origin"}, []string{"stock client"})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, &metadata)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	ids, texts := b.Field(0).(*array.Int64Builder), b.Field(1).(*array.StringBuilder)
	for i := start; i < start+rows; i++ {
		if i%8 == 0 {
			ids.AppendNull()
		} else {
			ids.Append(int64(i))
		}
		texts.Append(fmt.Sprintf("str_%d", i))
	}
	return b.NewRecordBatch()
}

// put sends the batches under the command and returns the facts of the answer.
func put(t *testing.T, client flight.Client, command map[string]any, batches ...arrow.RecordBatch) map[string]any {
	t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.DoPut(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(batches[0].Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: text})
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	result, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("after the one result: %v, want the end of the stream", err)
	}
	facts := map[string]any{}
	if err := json.Unmarshal(result.GetAppMetadata(), &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

// sizes keeps the size of every message of a stream that a record reader consumes.
type sizes struct {
	flight.FlightService_DoGetClient
	largest int
}

func (s *sizes) Recv() (*flight.FlightData, error) {
	data, err := s.FlightService_DoGetClient.Recv()
	if err == nil {
		s.largest = max(s.largest, proto.Size(data))
	}
	return data, err
}

func TestStockClientReadsEveryCodecWithoutOptions(t *testing.T) {
	address := startServer(t)
	client := stockClient(t, address)
	const rows = 400_000
	huge := flatBatch(memory.DefaultAllocator, 0, rows)
	defer huge.Release()
	for _, codec := range []string{"none", "lz4", "zstd"} {
		for _, wire := range []string{"", "stored"} {
			t.Run(codec+"/"+wire, func(t *testing.T) {
				command := map[string]any{"dataset": "stock/" + codec, "codec": codec}
				if facts := put(t, client, command, huge); facts["rows"] != float64(rows) {
					t.Fatalf("put answered %v", facts)
				}
				ticket := map[string]any{"dataset": "stock/" + codec}
				if wire != "" {
					ticket["wire"] = wire
				}
				checkRead(t, client, ticket, huge)
			})
		}
	}
}

// checkRead reads the ticket and compares it with want, schema metadata included; all its memory must come back.
func checkRead(t *testing.T, client flight.Client, ticket map[string]any, want arrow.RecordBatch) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	text, err := json.Marshal(ticket)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.DoGet(context.Background(), &flight.Ticket{Ticket: text})
	if err != nil {
		t.Fatal(err)
	}
	counted := &sizes{FlightService_DoGetClient: stream}
	reader, err := flight.NewRecordReader(counted, ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	if !reader.Schema().Equal(want.Schema()) || !reader.Schema().Metadata().Equal(want.Schema().Metadata()) {
		t.Fatalf("schema %v, want %v", reader.Schema(), want.Schema())
	}
	var row int64
	for reader.Next() {
		got := reader.RecordBatch()
		same := want.NewSlice(row, row+got.NumRows())
		if !array.RecordEqual(got, same) {
			t.Errorf("the batch at row %d differs", row)
		}
		same.Release()
		row += got.NumRows()
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	if row != want.NumRows() {
		t.Errorf("%d rows, want %d", row, want.NumRows())
	}
	if counted.largest > stockLimit {
		t.Errorf("a message of %d bytes; stock clients refuse what is over %d", counted.largest, stockLimit)
	}
}

func TestStockClientPutsManyBatches(t *testing.T) {
	client := stockClient(t, startServer(t, "--codec", "lz4"))
	var batches []arrow.RecordBatch
	for i := range 20 {
		b := flatBatch(memory.DefaultAllocator, i*1000, 1000)
		defer b.Release()
		batches = append(batches, b)
	}
	facts := put(t, client, map[string]any{"dataset": "many"}, batches...)
	if facts["rows"] != 20_000.0 || facts["codec"] != "lz4" {
		t.Errorf("put answered %v", facts)
	}
	whole := flatBatch(memory.DefaultAllocator, 0, 20_000)
	defer whole.Release()
	checkRead(t, client, map[string]any{"dataset": "many"}, whole)
}
