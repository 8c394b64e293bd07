package main

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// cellText writes one value that is not null as text: numbers in full precision, times as ISO has them, binary as
// base64, nested values as JSON.
func cellText(column arrow.Array, row int) string { return column.ValueStr(row) }

// nullCell is how a table shows a null.
const nullCell = "null"

// tableSink shows batches as a table: a line of names, a line of types, then rows.
type tableSink struct {
	out   io.Writer
	table table
	rows  int64
}

// newTableSink makes a table whose lines are at most width columns wide; 0 is no bound.
func newTableSink(w io.Writer, schema *arrow.Schema, width int) *tableSink {
	s := &tableSink{out: w, table: table{maxWidth: width}}
	for _, f := range schema.Fields() {
		s.table.columns = append(s.table.columns, tableColumn{name: f.Name, note: typeText(f.Type), right: isNumber(f.Type)})
	}
	return s
}

func (s *tableSink) Write(batch arrow.RecordBatch) error {
	s.rows += batch.NumRows()
	if len(s.table.columns) == 0 {
		return nil
	}
	cells := make([]string, len(s.table.columns))
	for r := range int(batch.NumRows()) {
		for i, column := range batch.Columns() {
			cells[i] = nullCell
			if column.IsValid(r) {
				cells[i] = cellText(column, r)
			}
		}
		s.table.add(cells...)
	}
	return s.table.write(s.out)
}

// Close writes what was left: the head of a table without rows.
func (s *tableSink) Close() error {
	if len(s.table.columns) == 0 {
		return nil
	}
	return s.table.write(s.out)
}

// footer tells how many of a dataset's rows were shown, total less than 0 if that is unknown, and how many of its
// columns.
func (s *tableSink) footer(total int64) error {
	text := plural(s.rows, "row", "rows")
	if total > s.rows {
		text = fmt.Sprintf("%s of %s rows", thousands(s.rows), thousands(total))
	}
	if n := len(s.table.columns); n > 0 {
		text += ", " + plural(int64(n), "column", "columns")
		if hidden := s.table.hidden(); hidden > 0 {
			text += fmt.Sprintf(" (%d not shown: the terminal is too narrow)", hidden)
		}
	}
	_, err := fmt.Fprintf(s.out, "(%s)\n", text)
	return err
}

// isNumber tells whether a type's values are aligned to the right.
func isNumber(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return isNumber(t.ValueType)
	case *arrow.RunEndEncodedType:
		return isNumber(t.Encoded())
	case arrow.DecimalType:
		return true
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID())
}

// typeText writes a type as briefly as it can be understood.
func typeText(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return fmt.Sprintf("dictionary<%s>", typeText(t.ValueType))
	case *arrow.StringType:
		return "string"
	}
	return t.String()
}
