package flightcache_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.etcd.io/bbolt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight"
)

var update = flag.Bool("update", false, "write the examples of FORMAT.md anew")

// exampleTime is when everything is done.
var exampleTime = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// exampleGeneration stands for the random ids of generations.
const exampleGeneration = "5b1c0e9d2f3a4867-1"

// The examples of FORMAT.md are what the program makes. Run with -update to write them anew, and read the difference.
func TestFormatExamples(t *testing.T) {
	made := map[string]string{}
	bufferExamples(t, made)
	ticketExample(made)
	wireExamples(t, made)
	catalogExample(t, made)

	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	// An example is a code block under a comment that names it.
	block := regexp.MustCompile("(?s)(<!-- example: ([a-z-]+) -->\n```[a-z]*\n)(.*?)(```\n)")
	shown := map[string]bool{}
	now := block.ReplaceAllStringFunc(string(text), func(found string) string {
		parts := block.FindStringSubmatch(found)
		name := parts[2]
		shown[name] = true
		switch want, known := made[name]; {
		case !known:
			t.Errorf("FORMAT.md has an example %q, which no test makes", name)
		case parts[3] != want && !*update:
			t.Errorf("example %q of FORMAT.md is\n%s\nbut the program makes\n%s", name, parts[3], want)
		default:
			return parts[1] + want + parts[4]
		}
		return found
	})
	for name := range made {
		if !shown[name] {
			t.Errorf("FORMAT.md has no example %q", name)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile("FORMAT.md", []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// bufferExamples encodes 64 bytes that shrink and 12 that do not.
func bufferExamples(t *testing.T, made map[string]string) {
	pool, err := compress.New(compress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	shrinks, not := []byte(strings.Repeat("flights!", 8)), []byte("twelve bytes")
	for name, c := range map[string]compress.Codec{"buffer-zstd": compress.Zstd, "buffer-lz-four": compress.LZ4} {
		stored, err := pool.Append(nil, shrinks, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = hex.Dump(stored)
	}
	raw, err := pool.Append(nil, not, compress.Zstd, 0)
	if err != nil {
		t.Fatal(err)
	}
	made["buffer-raw"] = hex.Dump(raw)
}

// catalogExample writes a dataset's record.
func catalogExample(t *testing.T, made map[string]string) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	j, _, err := journal.Open(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	segment := func(put int) string { return fmt.Sprintf("20240229T115900-0badcafe-%010d-000000.arrow", put) }
	err = j.Write(&journal.Dataset{
		Name: "d", Generation: exampleGeneration, Schema: []byte("the header"), Codec: "zstd", Created: exampleTime, SortedBy: []string{"k"},
		First: []byte{0, 0}, Last: []byte{0, 10},
		Runs: []journal.Run{{Segment: segment(1), First: 0, Count: 2, Rows: 48}, {Segment: segment(2), First: 0, Count: 1, Rows: 24}},
	}, nil)
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bbolt.Tx) error {
		made["catalog-record"] = hex.Dump(tx.Bucket([]byte("datasets")).Get([]byte("d")))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// ticketExample seals a ticket with the key 00 01 02 … 1f.
func ticketExample(made map[string]string) {
	var key [descriptors.KeyBytes]byte
	for i := range key {
		key[i] = byte(i)
	}
	made["ticket"] = hex.Dump(descriptors.NewSealer(key).Seal(descriptors.Ticket{
		Command:    descriptors.ReadCommand{Dataset: "d", Columns: []descriptors.Column{{Name: "s"}}},
		Generation: exampleGeneration, FirstBatch: 0, LastBatch: descriptors.ToEnd, LeaseID: 300,
	}))
}

// wireExamples puts a small table and reads it, and its second column, as the bytes that the server sends.
func wireExamples(t *testing.T, made map[string]string) {
	conn := serve(t)
	facts := putExample(t, conn)
	made["facts"] = lines(t, regexp.MustCompile(`[0-9a-f]{16}-\d+`).ReplaceAll(facts, []byte(exampleGeneration)))

	whole := get(t, conn, `{"dataset":"d","wire":"stored"}`)
	if len(whole) != 2 {
		t.Fatalf("%d messages, want a schema and a batch", len(whole))
	}
	schema, batch := fieldsOf(t, whole[0]), fieldsOf(t, whole[1])
	made["schema-message"] = hex.Dump(whole[0])
	if len(schema[2]) == 0 || len(schema) != 1 {
		t.Errorf("a schema message of %d fields", len(schema))
	}
	made["stored-facts"] = headerFacts(t, batch[2])
	made["stored-body"] = hex.Dump(batch[1000])
	segmentExamples(t, made, schema[2], batch[2], batch[1000])

	part := get(t, conn, `{"dataset":"d","wire":"stored","columns":["s"],"batch_metadata":true}`)[1]
	fields := fieldsOf(t, part)
	made["batch-message"] = hex.Dump(part)
	made["batch-facts"] = headerFacts(t, fields[2])
	made["batch-metadata"] = string(fields[3]) + "\n"
	putDictionary(t, conn)
	coded := get(t, conn, `{"dataset":"c","wire":"none","dictionaries":"keep"}`)
	if len(coded) != 3 {
		t.Fatalf("%d messages, want a schema, a dictionary and a batch", len(coded))
	}
	made["dictionary-message"] = hex.Dump(coded[1])
	if m, err := arrowipc.ReadMessage(fieldsOf(t, coded[1])[2], arrowipc.Limits{}); err != nil || m.Type != arrowipc.HeaderDictionaryBatch {
		t.Errorf("the second message is of type %v: %v", m.Type, err)
	}

	// The second column's buffers are the end of the stored body, as they lie.
	if !strings.HasSuffix(string(batch[1000]), string(fields[1000])) || len(fields[1000]) == len(batch[1000]) {
		t.Error("the projected body is no range of the stored one")
	}
}

// serve starts a server of zstd batches and connects to it; both end with the test.
func serve(t *testing.T) *grpc.ClientConn {
	t.Helper()
	store, err := batchstore.New(batchstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noon := exampleTime
	names := catalog.New(catalog.Options{Now: func() time.Time { return noon }})
	service, err := flight.New(store, names, flight.Options{Codec: compress.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := service.GRPC(), make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.GracefulStop()
		service.Close()
		if err := errors.Join(conn.Close(), <-served); err != nil {
			t.Error(err)
		}
		names.Clear()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// putDictionary puts three rows of a column v, encoded with a dictionary of two values.
func putDictionary(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	coded := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "v", Type: coded}}, nil))
	defer b.Release()
	for _, s := range []string{"Oslo", "Rome", "Oslo"} {
		if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	putBatch(t, conn, "c", batch)
}

// putExample puts 24 rows of a number k and a text s, null in every fourth row, and returns the facts.
func putExample(t *testing.T, conn *grpc.ClientConn) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 24 {
		b.Field(0).(*array.Int64Builder).Append(int64(i / 4))
		if s := b.Field(1).(*array.StringBuilder); i%4 == 3 {
			s.AppendNull()
		} else {
			s.Append([]string{"Oslo", "Rome", "Lima"}[i%4])
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	return putBatch(t, conn, "d", batch)
}

// putBatch puts one batch as a dataset and returns the facts.
func putBatch(t *testing.T, conn *grpc.ClientConn, dataset string, batch arrow.RecordBatch) []byte {
	t.Helper()
	stream, err := arrowflight.NewFlightServiceClient(conn).DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := arrowflight.NewRecordWriter(stream, ipc.WithSchema(batch.Schema()))
	w.SetFlightDescriptor(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: []string{dataset}})
	if err := errors.Join(w.Write(batch), w.Close(), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	result, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return result.AppMetadata
}

// bytesCodec takes messages as the bytes that they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// get reads a ticket's stream as bytes.
func get(t *testing.T, conn *grpc.ClientConn, ticket string) (messages [][]byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		"/arrow.flight.protocol.FlightService/DoGet", grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	request := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(ticket))
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	for {
		var m []byte
		err := stream.RecvMsg(&m)
		if errors.Is(err, io.EOF) {
			return messages
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
}

// fieldsOf gives the fields of a message, all of which must be length-delimited, in ascending order, and once.
func fieldsOf(t *testing.T, message []byte) map[protowire.Number][]byte {
	t.Helper()
	fields := map[protowire.Number][]byte{}
	for last := protowire.Number(0); len(message) > 0; {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind != protowire.BytesType || number <= last {
			t.Fatalf("field %d of wire type %d after field %d", number, kind, last)
		}
		value, k := protowire.ConsumeBytes(message[n:])
		if k < 0 {
			t.Fatalf("field %d is cut short", number)
		}
		fields[number], message, last = value, message[n+k:], number
	}
	return fields
}

// headerFacts tells what a record batch header says.
func headerFacts(t *testing.T, header []byte) string {
	t.Helper()
	m, err := arrowipc.ReadMessage(header, arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	codec := compress.Codec(m.Batch.Compression)
	var b strings.Builder
	fmt.Fprintf(&b, "rows %d, codec %d (%s), body of %d bytes\n", m.Batch.Rows, codec, codec, m.BodyLength)
	for i, n := range m.Batch.Nodes {
		fmt.Fprintf(&b, "node   %d  length %d  nulls %d\n", i, n.Length, n.Nulls)
	}
	for i, x := range m.Batch.Buffers {
		fmt.Fprintf(&b, "buffer %d  offset %3d  length %3d\n", i, x.Offset, x.Length)
	}
	return b.String()
}

// lines breaks JSON between its keys. As it is sent, it has no space at all.
func lines(t *testing.T, raw []byte) string {
	t.Helper()
	if !json.Valid(raw) {
		t.Fatalf("this is no JSON: %s", raw)
	}
	return strings.NewReplacer(`,"`, ",\n \"", `[{`, "[\n {", `},{`, "},\n {").Replace(string(raw)) + "\n"
}
