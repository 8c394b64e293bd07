package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The sample whose values decide the columns' types: so many rows or bytes of a CSV's beginning.
const (
	sampleRows  = 10_000
	sampleBytes = 8 << 20
)

// csvOptions say how to read CSV.
type csvOptions struct {
	// delimiter stands between two fields; 0 means by the file's name.
	delimiter rune
	// types fixes the types of named columns; the keys of csvTypes are its values.
	types map[string]string
}

// errCSV is the error of CSV that cannot be read.
var errCSV = errors.New("CSV")

// csvSource reads CSV: a first line of names, then rows. The rules:
//
//   - Fields are quoted as RFC 4180 has it. Every row has as many fields as the first line.
//   - An empty field, quoted or not, is null.
//   - A column's type is the narrowest of bool, int64, float64, date, timestamp (in microseconds; in UTC if every value
//     names an offset) and string that all values of the first 10,000 rows (at most 8 MiB) fit. See csvtype.go for what
//     fits. A column without any value there is string.
//   - A later value that does not fit is an error that names its line and column; --type overrides the column's type.
//
// The fields are converted here and not by arrow/csv, which infers from the first row only and whose errors tell neither
// line nor column.
type csvSource struct {
	io.Closer
	reader  *csv.Reader
	schema  *arrow.Schema
	columns []csvType
	// sample holds the rows read to infer types that are not yet in a batch, and lines the line of each.
	sample [][]string
	lines  []int
}

// newCSVSource reads the first line and the sample. It owns closer unless it returns an error.
func newCSVSource(in *bufio.Reader, closer io.Closer, options csvOptions) (source, error) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		if _, err := in.Discard(3); err != nil {
			return nil, err
		}
	}
	s := &csvSource{Closer: closer, reader: csv.NewReader(in)}
	s.reader.Comma = options.delimiter
	s.reader.ReuseRecord = true
	names, err := s.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty; the first line must name the columns", errCSV)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCSV, err)
	}
	names = slices.Clone(names)
	if err := s.readSample(); err != nil {
		return nil, err
	}
	if s.columns, err = csvColumnTypes(names, s.sample, options.types); err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: strings.ToValidUTF8(name, "\ufffd"), Type: s.columns[i].arrow, Nullable: true}
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

func (s *csvSource) readSample() error {
	size := 0
	for len(s.sample) < sampleRows && size < sampleBytes {
		row, err := s.reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errCSV, err)
		}
		for _, field := range row {
			size += len(field)
		}
		line, _ := s.reader.FieldPos(0)
		s.sample = append(s.sample, slices.Clone(row))
		s.lines = append(s.lines, line)
	}
	return nil
}

func (s *csvSource) Schema() *arrow.Schema { return s.schema }

// Next builds a batch of up to rowsPerBatch rows.
func (s *csvSource) Next() (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	rows, size := 0, 0
	for rows < rowsPerBatch && size < maxPutBytes {
		row, line, err := s.nextRow()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCSV, err)
		}
		for i, field := range row {
			size += len(field)
			if field == "" {
				b.Field(i).AppendNull()
				continue
			}
			if err := s.columns[i].append(b.Field(i), field); err != nil {
				return nil, fmt.Errorf("%w: line %d, column %q: %q is not of type %s, which the first rows have; give --type '%s=string'",
					errCSV, line, s.schema.Field(i).Name, cut(field, maxCellWidth), s.columns[i].name, s.schema.Field(i).Name)
			}
		}
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return b.NewRecordBatch(), nil
}

// nextRow returns the next row, of the sample first, and its line. The row is valid until the next call.
func (s *csvSource) nextRow() ([]string, int, error) {
	if len(s.sample) > 0 {
		row, line := s.sample[0], s.lines[0]
		s.sample[0] = nil
		s.sample, s.lines = s.sample[1:], s.lines[1:]
		return row, line, nil
	}
	row, err := s.reader.Read()
	if err != nil {
		return nil, 0, err
	}
	line, _ := s.reader.FieldPos(0)
	return row, line, nil
}

// csvSink writes CSV: a line of names, then rows. A null is an empty field; nested values are JSON, binary is base64.
type csvSink struct {
	out    *bufio.Writer
	writer *csv.Writer
	row    []string
}

func newCSVSink(w io.Writer, schema *arrow.Schema) (sink, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	s := &csvSink{out: out, writer: csv.NewWriter(out), row: make([]string, schema.NumFields())}
	for i, f := range schema.Fields() {
		s.row[i] = f.Name
	}
	return s, s.writeRow()
}

func (s *csvSink) Write(batch arrow.RecordBatch) error {
	for r := range int(batch.NumRows()) {
		for i, column := range batch.Columns() {
			s.row[i] = ""
			if column.IsValid(r) {
				s.row[i] = cellText(column, r)
			}
		}
		if err := s.writeRow(); err != nil {
			return err
		}
	}
	return nil
}

// writeRow writes s.row. One empty field alone is quoted: an empty line is no row to any reader of CSV.
func (s *csvSink) writeRow() error {
	if len(s.row) != 1 || s.row[0] != "" {
		return s.writer.Write(s.row)
	}
	s.writer.Flush()
	_, err := s.out.WriteString("\"\"\n")
	return err
}

func (s *csvSink) Close() error {
	s.writer.Flush()
	return errors.Join(s.writer.Error(), s.out.Flush())
}
