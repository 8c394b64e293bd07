package main

import (
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// maxStreamBody bounds one message's body in an IPC stream, whose true length nobody knows before it is read. A file's
// own size bounds the bodies in it.
const maxStreamBody = 4 << 30

// ipcFileSource reads an Arrow IPC file (Feather version 2).
type ipcFileSource struct {
	io.Closer
	reader *ipc.FileReader
	next   int
}

// newIPCFileSource reads the footer of the file. It owns closer unless it returns an error.
func newIPCFileSource(f *os.File, size int64, closer io.Closer) (source, error) {
	// The library's limit of 256 MiB would refuse files that its own writer makes.
	r, err := ipc.NewFileReader(f, ipc.WithBodySizeLimit(max(size, 1)))
	if err != nil {
		return nil, fmt.Errorf("not a whole Arrow IPC file: %w", err)
	}
	return &ipcFileSource{Closer: closer, reader: r}, nil
}

func (s *ipcFileSource) Schema() *arrow.Schema { return s.reader.Schema() }

func (s *ipcFileSource) Next() (_ arrow.RecordBatch, err error) {
	defer recovered(&err)
	if s.next >= s.reader.NumRecords() {
		return nil, io.EOF
	}
	batch, err := s.reader.RecordBatchAt(s.next)
	if err != nil {
		return nil, fmt.Errorf("batch %d: %w", s.next, err)
	}
	s.next++
	return sound(batch)
}

func (s *ipcFileSource) Close() error {
	s.reader.Close()
	return s.Closer.Close()
}

// ipcStreamSource reads an Arrow IPC stream.
type ipcStreamSource struct {
	io.Closer
	reader *ipc.Reader
	next   int
}

// newStreamSource reads the schema of the stream, no message's body of which may be larger than limit. It owns closer
// unless it returns an error.
func newStreamSource(in io.Reader, closer io.Closer, limit int64) (source, error) {
	r, err := newStreamReader(in, limit)
	if err != nil {
		return nil, fmt.Errorf("not an Arrow IPC stream: %w", err)
	}
	return &ipcStreamSource{Closer: closer, reader: r}, nil
}

// newStreamReader reads the schema of an IPC stream and refuses bodies larger than limit before it makes room for them.
// ipc.NewReader takes the same option and, in v18.8.0, does not look at it.
func newStreamReader(in io.Reader, limit int64) (*ipc.Reader, error) {
	messages := ipc.NewMessageReader(in, ipc.WithBodySizeLimit(limit))
	return ipc.NewReaderFromMessageReader(messages)
}

func (s *ipcStreamSource) Schema() *arrow.Schema { return s.reader.Schema() }

func (s *ipcStreamSource) Next() (_ arrow.RecordBatch, err error) {
	defer recovered(&err)
	if !s.reader.Next() {
		if err := s.reader.Err(); err != nil {
			return nil, fmt.Errorf("batch %d: %w", s.next, err)
		}
		return nil, io.EOF
	}
	s.next++
	batch := s.reader.RecordBatch()
	batch.Retain()
	return sound(batch)
}

// sound returns the batch if its columns are as long as it is and their buffers as long as that needs; else it releases
// it. The library takes all these lengths from the file and does not compare them.
func sound(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	for i, column := range batch.Columns() {
		if int64(column.Len()) != batch.NumRows() {
			err := fmt.Errorf("%w: column %q has %d rows in a batch of %d", errDamaged, batch.ColumnName(i), column.Len(), batch.NumRows())
			batch.Release()
			return nil, err
		}
	}
	if err := array.ValidateRecord(batch); err != nil {
		batch.Release()
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return batch, nil
}

func (s *ipcStreamSource) Close() error {
	s.reader.Release()
	return s.Closer.Close()
}

// newIPCFileSink writes an Arrow IPC file. A file, unlike a stream, can only extend a dictionary and not replace it.
func newIPCFileSink(w io.Writer, schema *arrow.Schema) (sink, error) {
	return ipc.NewFileWriter(w, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true))
}

// newIPCStreamSink writes an Arrow IPC stream.
func newIPCStreamSink(w io.Writer, schema *arrow.Schema) (sink, error) {
	return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
}
