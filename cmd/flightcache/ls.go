package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// lsCmd lists datasets.
type lsCmd struct {
	clientFlags
	Prefix string `arg:"" optional:"" help:"Only datasets whose name begins with this."`
}

// Run asks ListFlights and prints one line for each dataset.
func (c *lsCmd) Run(e *env) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := conn.ListFlights(e.ctx, &flight.Criteria{Expression: []byte(c.Prefix)})
	if err != nil {
		return rpcError(c.Address, err)
	}
	listed := []json.RawMessage{}
	t := table{columns: []tableColumn{
		{name: "NAME"}, {name: "ROWS", right: true}, {name: "DECODED", right: true}, {name: "STORED", right: true},
		{name: "CODEC"}, {name: "COLUMNS", right: true},
	}}
	for {
		info, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rpcError(c.Address, err)
		}
		text := info.AppMetadata
		if len(text) == 0 {
			if text, err = factsOfInfo(info); err != nil {
				return err
			}
		}
		var facts datasetFacts
		if err := json.Unmarshal(text, &facts); err != nil {
			return fmt.Errorf("the server at %s listed a dataset with facts that cannot be read: %w", c.Address, err)
		}
		listed = append(listed, json.RawMessage(text))
		columns := "-"
		if facts.Columns != nil {
			columns = thousands(int64(len(facts.Columns)))
		}
		t.add(facts.Dataset, countText(facts.Rows), sizeText(facts.DecodedBytes), sizeText(facts.StoredBytes),
			orDash(facts.Codec), columns)
	}
	if c.json() {
		text, err := json.Marshal(listed)
		if err != nil {
			return err
		}
		return writeJSON(e.stdout, text)
	}
	if len(listed) == 0 {
		_, err := fmt.Fprintln(e.stdout, c.nothing())
		return err
	}
	return t.write(e.stdout)
}

func (c *lsCmd) nothing() string {
	if c.Prefix == "" {
		return "no datasets"
	}
	return fmt.Sprintf("no datasets whose name begins with %q", c.Prefix)
}

// factsOfInfo makes facts of what a server that sends none tells in the FlightInfo itself.
func factsOfInfo(info *flight.FlightInfo) ([]byte, error) {
	facts := map[string]any{"dataset": strings.Join(info.GetFlightDescriptor().GetPath(), "/")}
	if info.TotalRecords >= 0 {
		facts["rows"] = info.TotalRecords
	}
	if info.TotalBytes >= 0 {
		facts["decoded_bytes"] = info.TotalBytes
	}
	return json.Marshal(facts)
}

// countText writes a count, or a dash where the server told none.
func countText(n *int64) string {
	if n == nil {
		return "-"
	}
	return thousands(*n)
}

// sizeText writes a number of bytes, or a dash where the server told none.
func sizeText(n *int64) string {
	if n == nil {
		return "-"
	}
	return humanBytes(*n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
