package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// rowsPerBatch is how many rows a batch has that this program cuts itself: from Parquet and CSV, which have none.
const rowsPerBatch = 65536

// parquetSource reads a Parquet file.
type parquetSource struct {
	io.Closer
	reader pqarrow.RecordReader
	schema *arrow.Schema
	next   int
}

// newParquetSource reads the file's metadata. It owns closer unless it returns an error.
func newParquetSource(f parquet.ReaderAtSeeker, closer io.Closer) (source, error) {
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	// Column chunks are read page by page: a row group may be larger than memory.
	props.BufferedStreamEnabled = true
	pf, err := file.NewParquetReader(f, file.WithReadProps(props))
	if err != nil {
		return nil, fmt.Errorf("not a whole Parquet file: %w", err)
	}
	fr, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: rowsPerBatch}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	reader, err := fr.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return &parquetSource{Closer: closer, reader: reader, schema: withoutNoFieldID(reader.Schema())}, nil
}

// fieldIDKey is the key of a field's metadata in which the library keeps the field's id of the Parquet file.
const fieldIDKey = "PARQUET:field_id"

// withoutNoFieldID returns the schema without the metadata "field id -1", with which the library marks each column of a
// file that has no ids: the dataset would keep and serve it. Fields inside of others stay as they are.
func withoutNoFieldID(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i, f := range fields {
		if id, ok := f.Metadata.GetValue(fieldIDKey); !ok || id != "-1" {
			continue
		}
		kept := f.Metadata.ToMap()
		delete(kept, fieldIDKey)
		fields[i].Metadata = arrow.MetadataFrom(kept)
	}
	metadata := schema.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

func (s *parquetSource) Schema() *arrow.Schema { return s.schema }

func (s *parquetSource) Next() (_ arrow.RecordBatch, err error) {
	defer recovered(&err)
	if !s.reader.Next() {
		if err := s.reader.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("parquet: batch %d: %w", s.next, err)
		}
		return nil, io.EOF
	}
	s.next++
	batch := s.reader.RecordBatch()
	return array.NewRecordBatch(s.schema, batch.Columns(), batch.NumRows()), nil
}

func (s *parquetSource) Close() error {
	s.reader.Release()
	return s.Closer.Close()
}

// parquetSink writes a Parquet file. Batches are gathered into row groups of the library's default length.
type parquetSink struct {
	*pqarrow.FileWriter
}

// newParquetSink writes a Parquet file that also carries the Arrow schema, so that types which Parquet lacks come back
// as they were.
func newParquetSink(w io.Writer, schema *arrow.Schema) (sink, error) {
	fw, err := pqarrow.NewFileWriter(schema,
		// The library closes a writer that can be closed; this one's owner does that.
		struct{ io.Writer }{w},
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("this schema cannot be written as Parquet: %w", err)
	}
	return parquetSink{fw}, nil
}

func (s parquetSink) Write(batch arrow.RecordBatch) error { return s.WriteBuffered(batch) }
