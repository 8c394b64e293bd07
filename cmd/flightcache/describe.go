package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// describeCmd shows a dataset's facts.
type describeCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the describe action and prints the facts, then one line for each column.
func (c *describeCmd) Run(e *env) error {
	return c.ask(e, "describe", c.Name, func(answer []byte) error {
		facts, err := parseFacts(answer)
		if err != nil {
			return err
		}
		if err := writeFacts(e.stdout, facts, "columns"); err != nil {
			return err
		}
		var dataset datasetFacts
		if err := json.Unmarshal(answer, &dataset); err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		return writeColumns(e.stdout, dataset.Columns)
	})
}

// writeColumns writes the table of a dataset's columns, set off by an empty line.
func writeColumns(w io.Writer, columns []columnFacts) error {
	if len(columns) == 0 {
		return nil
	}
	t := table{columns: []tableColumn{
		{name: "COLUMN"}, {name: "TYPE"}, {name: "DECODED", right: true}, {name: "STORED", right: true},
		{name: "NULLS", right: true}, {name: "MIN"}, {name: "MAX"},
	}}
	for _, c := range columns {
		t.add(c.Name, c.Type, sizeText(c.DecodedBytes), sizeText(c.StoredBytes), countText(c.NullCount),
			boundText(c.Min), boundText(c.Max))
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return t.write(w)
}

// boundText writes a column's least or greatest value as the server told it: text without its quotes.
func boundText(v json.RawMessage) string {
	if len(v) == 0 || string(v) == "null" {
		return "-"
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
