package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// maxPutBytes is the decoded size above which a batch is cut before it is sent. It keeps a message well below what
// servers take; the server cuts again as it likes.
const maxPutBytes = 32 << 20

// putCmd puts a file into a dataset.
type putCmd struct {
	clientFlags
	File string `arg:"" help:"An Arrow IPC file or stream, a Parquet file or CSV; - is standard input."`
	Name string `arg:"" help:"The dataset, as sales/2024."`

	Mode     string `help:"replace the dataset, append to it, or create it and fail if it is there." enum:"replace,append,create" default:"replace"`
	Codec    string `help:"Compress with zstd, lz4 or none; the server's default if not given." enum:",zstd,lz4,none" default:"" placeholder:"CODEC"`
	Level    *int   `help:"The codec's level." placeholder:"N"`
	Encode   string `help:"now encodes before the put is answered, deferred when the server has nothing else to do; the server's default if not given." enum:",now,deferred" default:"" placeholder:"TIME"`
	Batching string `help:"auto joins small batches; keep leaves them." enum:"auto,keep" default:"auto"`
	Rows     *int64 `help:"The number of rows there must be; with another nothing is put." placeholder:"N"`

	SortedBy     string `help:"The columns by which the rows are sorted, separated by commas; a - before one that descends (then write --sorted-by=-x). The server checks it." placeholder:"X,-Y"`
	Dictionaries string `help:"keep dictionary-encoded columns as such, or decode them to their values; keep if not given." enum:",keep,decode" default:"" placeholder:"FORM"`

	TTL     time.Duration `name:"ttl" help:"How long until the server drops the dataset, in whole seconds, as 90m; never if not given." placeholder:"TIME"`
	Pin     bool          `help:"Let eviction leave the dataset alone."`
	Durable bool          `help:"Have the dataset outlive the server, which needs a data directory."`

	PutID string `name:"put-id" help:"A name for this put: one that was put before under it is not put again." placeholder:"ID"`

	Format    string            `help:"The file's format: auto, ipc, parquet or csv." enum:"auto,ipc,parquet,csv" default:"auto"`
	Delimiter string            `help:"What stands between two fields of CSV; default , and a tab for .tsv." placeholder:"CHAR"`
	Type      map[string]string `help:"A CSV column's type: ${csv_types}. Repeatable." placeholder:"COLUMN=TYPE" mapsep:"none"`
}

// putCommand is the put command as the server reads it from FlightDescriptor.cmd.
type putCommand struct {
	Dataset  string `json:"dataset"`
	Mode     string `json:"mode,omitempty"`
	Codec    string `json:"codec,omitempty"`
	Level    *int   `json:"level,omitempty"`
	Encode   string `json:"encode,omitempty"`
	Batching string `json:"batching,omitempty"`
	Rows     *int64 `json:"rows,omitempty"`

	SortedBy     []string `json:"sorted_by,omitempty"`
	Dictionaries string   `json:"dictionaries,omitempty"`

	TTL     int64  `json:"ttl,omitempty"` // seconds
	Pin     bool   `json:"pin,omitempty"`
	Durable bool   `json:"durable,omitempty"`
	PutID   string `json:"put_id,omitempty"`
}

// Run streams the file's batches into one DoPut and prints what the server made of them. An error on either side leaves
// the dataset as it was.
func (c *putCmd) Run(e *env) error {
	options := csvOptions{types: c.Type}
	if c.Delimiter != "" {
		r, n := utf8.DecodeRuneInString(c.Delimiter)
		if c.Delimiter == `\t` {
			r, n = '\t', len(c.Delimiter)
		}
		if n != len(c.Delimiter) || r == '"' || r == '\r' || r == '\n' || r == utf8.RuneError {
			return fmt.Errorf("--delimiter %q is not one character that can stand between fields", c.Delimiter)
		}
		options.delimiter = r
	}
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	src, err := openSource(e.ctx, e.stdin, c.File, fileFormat(c.Format), options)
	if err != nil {
		return err
	}
	defer src.Close()

	bar := newProgress(e.stderr, -1)
	result, err := c.put(e.ctx, conn, src, bar)
	bar.done(err)
	if err != nil {
		return err
	}
	if c.json() {
		return writeJSON(e.stdout, result)
	}
	facts, err := parseFacts(result)
	if err != nil {
		return err
	}
	return writeFacts(e.stdout, facts, "columns")
}

// put sends the batches and returns the facts of the PutResult.
func (c *putCmd) put(ctx context.Context, conn *client, src source, bar *progress) (json.RawMessage, error) {
	keys, err := c.sortKeys()
	if err != nil {
		return nil, err
	}
	if c.TTL < 0 || c.TTL%time.Second != 0 {
		return nil, fmt.Errorf("--ttl %s: want whole seconds, at least one", c.TTL)
	}
	command, err := json.Marshal(putCommand{
		Dataset: c.Name, Mode: c.Mode, Codec: c.Codec, Level: c.Level, Encode: c.Encode, Batching: c.Batching, Rows: c.Rows,
		SortedBy: keys, Dictionaries: c.Dictionaries, TTL: int64(c.TTL / time.Second), Pin: c.Pin, Durable: c.Durable, PutID: c.PutID,
	})
	if err != nil {
		return nil, err
	}
	// Cancelling is how a put is given up: the server commits only what ends well.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.DoPut(ctx)
	if err != nil {
		return nil, rpcError(c.Address, err)
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(src.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: command})
	if err := sendBatches(w, src, bar); err != nil {
		if errors.Is(err, errSend) {
			return nil, c.refusal(stream, err)
		}
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	// An empty source has sent nothing yet: closing the writer sends its schema.
	if err := w.Close(); err != nil {
		return nil, c.refusal(stream, err)
	}
	if err := stream.CloseSend(); err != nil {
		return nil, c.refusal(stream, err)
	}
	return c.receiveResult(stream)
}

// sortKeys lists what --sorted-by names; nil if it is not given.
func (c *putCmd) sortKeys() (keys []string, err error) {
	if c.SortedBy == "" {
		return nil, nil
	}
	for key := range strings.SplitSeq(c.SortedBy, ",") {
		if key = strings.TrimSpace(key); key == "" || key == "-" {
			return nil, fmt.Errorf("--sorted-by %q: a column's name is empty", c.SortedBy)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// errSend marks an error of the stream to the server, as opposed to one of the file.
var errSend = errors.New("send")

// sendBatches sends all batches of src, those that are too large in parts.
func sendBatches(w *flight.Writer, src source, bar *progress) error {
	for {
		batch, err := src.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		size := batchBytes(batch)
		err = eachPart(batch, size, func(part arrow.RecordBatch) error { return w.Write(part) })
		rows := batch.NumRows()
		batch.Release()
		if err != nil {
			return fmt.Errorf("%w: %w", errSend, err)
		}
		bar.add(rows, size)
	}
}

// eachPart calls f with the batch, or with equal parts of it that are about maxPutBytes each if its size is more.
func eachPart(batch arrow.RecordBatch, size int64, f func(arrow.RecordBatch) error) error {
	rows := batch.NumRows()
	parts := min((size+maxPutBytes-1)/maxPutBytes, rows)
	if parts <= 1 {
		return f(batch)
	}
	for i := range parts {
		part := batch.NewSlice(i*rows/parts, (i+1)*rows/parts)
		err := f(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// refusal finds the server's reason for a failed send: gRPC tells the sender only io.EOF and the receiver the status.
func (c *putCmd) refusal(stream flight.FlightService_DoPutClient, sendErr error) error {
	if !errors.Is(sendErr, io.EOF) {
		return rpcError(c.Address, sendErr)
	}
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return fmt.Errorf("the server at %s ended the put before all rows were sent", c.Address)
		} else if err != nil {
			return rpcError(c.Address, err)
		}
	}
}

// receiveResult reads the results to the end of the stream, whose status tells whether the put was committed, and
// returns the last one's facts.
func (c *putCmd) receiveResult(stream flight.FlightService_DoPutClient) (json.RawMessage, error) {
	var facts json.RawMessage
	for {
		result, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, rpcError(c.Address, err)
		}
		if len(result.AppMetadata) > 0 {
			facts = result.AppMetadata
		}
	}
	if facts == nil {
		// A server that reports nothing has still taken the data.
		return json.Marshal(datasetBody{Dataset: c.Name})
	}
	if !json.Valid(facts) {
		return nil, fmt.Errorf("the server at %s took the rows but reported something that is not JSON", c.Address)
	}
	return facts, nil
}
