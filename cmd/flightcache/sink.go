package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// sink takes record batches of one schema, in order. Write keeps nothing of a batch. Close it once: it writes what a
// format has at its end, and leaves the writer below open.
type sink interface {
	Write(batch arrow.RecordBatch) error
	Close() error
}

// sinkFormat is a format that get writes.
type sinkFormat string

const (
	sinkTable   sinkFormat = "table"   // text for people
	sinkJSON    sinkFormat = "json"    // one JSON object a row and line
	sinkCSV     sinkFormat = "csv"     //
	sinkIPC     sinkFormat = "ipc"     // an Arrow IPC file
	sinkStream  sinkFormat = "stream"  // an Arrow IPC stream
	sinkParquet sinkFormat = "parquet" //
)

// binary tells whether a format would spoil a terminal.
func (f sinkFormat) binary() bool { return f == sinkIPC || f == sinkStream || f == sinkParquet }

// formatOfPath tells the format that a file's name asks for.
func formatOfPath(path string) (sinkFormat, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".arrow", ".ipc", ".feather":
		return sinkIPC, nil
	case ".arrows":
		return sinkStream, nil
	case ".parquet", ".pq":
		return sinkParquet, nil
	case ".csv":
		return sinkCSV, nil
	case ".json", ".jsonl", ".ndjson":
		return sinkJSON, nil
	case ".txt":
		return sinkTable, nil
	default:
		return "", fmt.Errorf("cannot tell a format by the name %q; give --format", path)
	}
}

// newSink makes the sink of a format other than table.
func newSink(format sinkFormat, w io.Writer, schema *arrow.Schema) (sink, error) {
	switch format {
	case sinkIPC:
		return newIPCFileSink(w, schema)
	case sinkStream:
		return newIPCStreamSink(w, schema)
	case sinkParquet:
		return newParquetSink(w, schema)
	case sinkCSV:
		return newCSVSink(w, schema)
	case sinkJSON:
		return jsonSink{bufio.NewWriterSize(w, 1<<16)}, nil
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

// jsonSink writes one JSON object a row.
type jsonSink struct{ out *bufio.Writer }

func (s jsonSink) Write(batch arrow.RecordBatch) error { return array.RecordToJSON(batch, s.out) }
func (s jsonSink) Close() error                        { return s.out.Flush() }

// outputFile is a file that appears under its name only when it is whole: what is written goes into another beside it,
// which Commit renames. Call Discard in any case, after Commit it does nothing.
type outputFile struct {
	*os.File
	path string
	// temporary tells that File is not yet what path names. Pipes and devices are written directly.
	temporary bool
	done      bool
}

// createOutput prepares to write the file at path.
func createOutput(path string) (*outputFile, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return nil, fmt.Errorf("%s is a directory", path)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &outputFile{File: f, path: path}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-")
	if err != nil {
		return nil, err
	}
	return &outputFile{File: f, path: path, temporary: true}, nil
}

// Commit gives the file its name.
func (f *outputFile) Commit() error {
	f.done = true
	if !f.temporary {
		return f.Close()
	}
	// CreateTemp's files are private; a result has the rights that any new file has.
	err := errors.Join(f.Chmod(0o666&^umask()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Discard removes what was written unless Commit was called.
func (f *outputFile) Discard() {
	if f.done {
		return
	}
	f.done = true
	f.Close()
	if f.temporary {
		os.Remove(f.Name())
	}
}
