package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
)

// tableRows is how many rows get shows if --limit does not say.
const tableRows = 20

// acceptCodecsHeader tells the server which compressed bodies this client reads, so that it need not decode them.
const (
	acceptCodecsHeader = "flightcache-accept-codecs"
	acceptCodecs       = "zstd, lz4"
)

// getCmd reads a dataset.
type getCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`

	Columns *string  `help:"Columns by name, path (a.b) or place (#0), separated by commas; an empty list is none. All if not given." placeholder:"A,B.C,#0"`
	Column  []string `help:"One more column, whose name or path may have commas. Repeatable." sep:"none" placeholder:"NAME"`
	Limit   *int64   `help:"At most so many rows, -1 for all. A table shows 20 if not given, all else is whole." placeholder:"N"`
	To      string   `help:"Write to this file, - is standard output." short:"o" placeholder:"FILE"`
	Format  string   `help:"table, json (a row a line), csv, ipc (file), stream or parquet; by the file's extension if not given." enum:",table,json,csv,ipc,stream,parquet" default:"" placeholder:"FORMAT"`
	Filter  string   `help:"Only these rows, as JSON lists: [[\"k\",\"=\",5],[\"s\",\"is null\"]]. A list of such lists is their union." placeholder:"JSON"`
	Wire    string   `help:"How bodies travel: stored, zstd, lz4 or none; as stored if not given." enum:",none,stored,zstd,lz4" default:"" placeholder:"CODEC"`

	Dictionaries string `help:"keep dictionary-encoded columns as such, or decode them to their values; the server chooses if not given." enum:",keep,decode" default:"" placeholder:"FORM"`
}

// readCommand is the read command as the server reads it from FlightDescriptor.cmd.
type readCommand struct {
	Dataset string `json:"dataset"`
	// Columns holds names, paths and ordinals; nil is all, empty is none.
	Columns *[]any `json:"columns,omitempty"`
	// Filters goes out as it was given: what it may be is the server's to say.
	Filters      json.RawMessage `json:"filters,omitempty"`
	Limit        *int64          `json:"limit,omitempty"`
	Wire         string          `json:"wire,omitempty"`
	Dictionaries string          `json:"dictionaries,omitempty"`
}

// Run plans the read with GetFlightInfo and reads its endpoints in order.
func (c *getCmd) Run(e *env) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	if format.binary() && c.toStdout() && isTerminal(e.stdout) > 0 {
		return fmt.Errorf("%s is not for a terminal; give --to FILE, or pipe it into a program", format)
	}
	command, limit, err := c.command(format)
	if err != nil {
		return err
	}
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(e.ctx, acceptCodecsHeader, acceptCodecs)
	text, err := json.Marshal(command)
	if err != nil {
		return err
	}
	info, err := conn.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: text})
	if err != nil {
		return rpcError(c.Address, err)
	}

	var out io.Writer = e.stdout
	var file *outputFile
	if !c.toStdout() {
		if file, err = createOutput(c.To); err != nil {
			return err
		}
		defer file.Discard()
		out = file
	}
	// A table on a terminal shows its progress itself.
	bar := &progress{}
	if isTerminal(e.stdout) == 0 || file != nil {
		bar = newProgress(e.stderr, info.TotalBytes)
	}
	r := &rowReader{client: conn, format: format, out: out, width: isTerminal(e.stdout), left: limit, bar: bar}
	if file != nil {
		r.width = 0
	}
	err = r.read(ctx, info)
	bar.done(err)
	if err != nil {
		return err
	}
	if format == sinkTable {
		if err := r.sink.(*tableSink).footer(totalRows(info)); err != nil {
			return err
		}
	}
	if file == nil {
		return nil
	}
	if err := file.Commit(); err != nil {
		return err
	}
	return c.report(e, r.bar.rows, format)
}

func (c *getCmd) toStdout() bool { return c.To == "" || c.To == "-" }

// format chooses the format: as asked, else by the file's name, else text for standard output.
func (c *getCmd) format() (sinkFormat, error) {
	switch {
	case c.Format != "":
		return sinkFormat(c.Format), nil
	case !c.toStdout():
		return formatOfPath(c.To)
	case c.json():
		return sinkJSON, nil
	}
	return sinkTable, nil
}

// command makes the read command, and returns with it the number of rows after which to stop.
func (c *getCmd) command(format sinkFormat) (readCommand, int64, error) {
	cmd := readCommand{Dataset: c.Name, Wire: c.Wire, Dictionaries: c.Dictionaries}
	if c.Filter != "" {
		if !json.Valid([]byte(c.Filter)) {
			return cmd, 0, fmt.Errorf(`--filter %q is not JSON; write it as [["k","=",5]]`, c.Filter)
		}
		cmd.Filters = json.RawMessage(c.Filter)
	}
	columns, err := c.columns()
	if err != nil {
		return cmd, 0, err
	}
	cmd.Columns = columns
	rowsOnly := columns != nil && len(*columns) == 0
	limit := int64(-1)
	switch {
	case c.Limit != nil:
		limit = *c.Limit
	case format == sinkTable && c.toStdout() && !rowsOnly:
		limit = tableRows
	}
	switch {
	case limit < -1:
		return cmd, 0, fmt.Errorf("--limit %d: give a number of rows, or -1 for all", limit)
	case limit == -1:
		return cmd, math.MaxInt64, nil
	}
	cmd.Limit = &limit
	return cmd, limit, nil
}

// columns lists what --columns and --column name; nil if neither is given, which means all.
func (c *getCmd) columns() (*[]any, error) {
	if c.Columns == nil && len(c.Column) == 0 {
		return nil, nil
	}
	columns := []any{}
	if c.Columns != nil && *c.Columns != "" {
		for name := range strings.SplitSeq(*c.Columns, ",") {
			column, err := columnRef(strings.TrimSpace(name))
			if err != nil {
				return nil, fmt.Errorf("--columns %q: %w", *c.Columns, err)
			}
			columns = append(columns, column)
		}
	}
	for _, name := range c.Column {
		columns = append(columns, name)
	}
	return &columns, nil
}

// columnRef reads a column as users write it: a name or path, or # and an ordinal.
func columnRef(s string) (any, error) {
	if s == "" {
		return nil, errors.New("a column's name is empty between two commas")
	}
	digits, ok := strings.CutPrefix(s, "#")
	if !ok {
		return s, nil
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%q is not # and a column's place from 0; a name that begins so goes into --column", s)
	}
	return n, nil
}

// report tells what was written, on standard output only if nothing else goes there.
func (c *getCmd) report(e *env, rows int64, format sinkFormat) error {
	if !c.json() {
		_, err := fmt.Fprintf(e.stdout, "wrote %s to %s\n", plural(rows, "row", "rows"), printable(c.To))
		return err
	}
	text, err := json.Marshal(map[string]any{"dataset": c.Name, "rows": rows, "path": c.To, "format": format})
	if err != nil {
		return err
	}
	return writeJSON(e.stdout, text)
}

// totalRows is the number of rows of the whole dataset, or of the read if the server tells only that; less than 0 if it
// tells neither.
func totalRows(info *flight.FlightInfo) int64 {
	var facts datasetFacts
	if json.Unmarshal(info.AppMetadata, &facts) == nil && facts.Rows != nil {
		return *facts.Rows
	}
	return info.TotalRecords
}
