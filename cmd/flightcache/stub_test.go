package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// startStub starts a stubServer, for tests that look at what the client sent or need a server that behaves oddly.
func startStub(t testing.TB) (string, *stubServer) {
	t.Helper()
	stub := &stubServer{datasets: map[string]*stubDataset{}}
	s := flight.NewServerWithMiddleware(nil, grpc.MaxRecvMsgSize(256<<20), grpc.MaxSendMsgSize(256<<20))
	if err := s.Init("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.RegisterFlightService(stub)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		s.Shutdown()
		// A short test may stop the server before it began to serve.
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve: %v", err)
		}
	})
	return "grpc://" + s.Addr().String(), stub
}

// stubServer keeps batches in memory and speaks the commands, tickets and actions that the client uses, plainly: it
// is what the client expects of a server, not how a server should be built.
type stubServer struct {
	flight.BaseFlightServer

	mu         sync.Mutex
	datasets   map[string]*stubDataset
	generation int
	// puts and reads are the commands as they came, headers the metadata of the last DoGet.
	puts    []putCommand
	reads   []string
	headers metadata.MD
	// noLimit makes the server ignore limits, as one may that does not know them.
	noLimit bool
}

type stubDataset struct {
	schema     *arrow.Schema
	batches    []arrow.RecordBatch
	generation int
	codec      string
}

func (d *stubDataset) rows() (n int64) {
	for _, b := range d.batches {
		n += b.NumRows()
	}
	return n
}

func (d *stubDataset) facts(name string) map[string]any {
	var total int64
	columns := []map[string]any{}
	for i, f := range d.schema.Fields() {
		var size, nulls int64
		for _, b := range d.batches {
			size += int64(b.Column(i).Data().SizeInBytes())
			nulls += int64(b.Column(i).NullN())
		}
		total += size
		columns = append(columns, map[string]any{
			"name": f.Name, "type": f.Type.String(), "decoded_bytes": size, "stored_bytes": size, "null_count": nulls,
		})
	}
	return map[string]any{
		"dataset": name, "generation": fmt.Sprintf("stub-%d", d.generation), "rows": d.rows(),
		"batches": len(d.batches), "decoded_bytes": total, "stored_bytes": total, "codec": d.codec, "columns": columns,
	}
}

func (s *stubServer) find(name string) (*stubDataset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.datasets[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "dataset %q is not there", name)
	}
	return d, nil
}

func (s *stubServer) DoPut(stream flight.FlightService_DoPutServer) error {
	reader, err := flight.NewRecordReader(stream)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	defer reader.Release()
	var cmd putCommand
	if err := json.Unmarshal(reader.LatestFlightDescriptor().GetCmd(), &cmd); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if cmd.Dataset == "forbidden" {
		return status.Error(codes.PermissionDenied, "dataset \"forbidden\" is not yours to put")
	}
	d := &stubDataset{schema: reader.Schema(), codec: cmd.Codec}
	if d.codec == "" {
		d.codec = "zstd"
	}
	for reader.Next() {
		b := reader.RecordBatch()
		b.Retain()
		d.batches = append(d.batches, b)
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if err := s.commit(cmd, d); err != nil {
		return err
	}
	facts, err := json.Marshal(d.facts(cmd.Dataset))
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: facts})
}

func (s *stubServer) commit(cmd putCommand, d *stubDataset) error {
	if cmd.Rows != nil && *cmd.Rows != d.rows() {
		return status.Errorf(codes.InvalidArgument, "dataset %q: %d rows came, %d were announced", cmd.Dataset, d.rows(), *cmd.Rows)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts = append(s.puts, cmd)
	old := s.datasets[cmd.Dataset]
	switch {
	case old != nil && cmd.Mode == "create":
		return status.Errorf(codes.AlreadyExists, "dataset %q is already there", cmd.Dataset)
	case old != nil && cmd.Mode == "append":
		if !old.schema.Equal(d.schema) {
			return status.Errorf(codes.InvalidArgument, "dataset %q has another schema", cmd.Dataset)
		}
		d.batches = append(slices.Clone(old.batches), d.batches...)
	}
	s.generation++
	d.generation = s.generation
	s.datasets[cmd.Dataset] = d
	return nil
}

// resolve reads a read command and selects its columns: top-level names and ordinals only.
func (s *stubServer) resolve(text []byte) (readCommand, *stubDataset, []int, error) {
	var cmd readCommand
	if err := json.Unmarshal(text, &cmd); err != nil {
		return cmd, nil, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	d, err := s.find(cmd.Dataset)
	if err != nil {
		return cmd, nil, nil, err
	}
	var columns []int
	if cmd.Columns == nil {
		for i := range d.schema.NumFields() {
			columns = append(columns, i)
		}
		return cmd, d, columns, nil
	}
	for _, c := range *cmd.Columns {
		index := -1
		switch c := c.(type) {
		case string:
			if found := d.schema.FieldIndices(c); len(found) == 1 {
				index = found[0]
			}
		case float64:
			index = int(c)
		}
		if index < 0 || index >= d.schema.NumFields() {
			return cmd, nil, nil, status.Errorf(codes.InvalidArgument, "dataset %q has no column %v", cmd.Dataset, c)
		}
		columns = append(columns, index)
	}
	return cmd, d, columns, nil
}

func projectSchema(schema *arrow.Schema, columns []int) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}

func (s *stubServer) GetFlightInfo(_ context.Context, descriptor *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	cmd, d, columns, err := s.resolve(descriptor.Cmd)
	if err != nil {
		return nil, err
	}
	facts, err := json.Marshal(d.facts(cmd.Dataset))
	if err != nil {
		return nil, err
	}
	total := d.rows()
	if cmd.Limit != nil {
		total = min(total, *cmd.Limit)
	}
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(projectSchema(d.schema, columns), memory.DefaultAllocator),
		FlightDescriptor: descriptor,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: descriptor.Cmd}}},
		TotalRecords:     total,
		TotalBytes:       -1,
		AppMetadata:      facts,
	}, nil
}

func (s *stubServer) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	cmd, d, columns, err := s.resolve(ticket.Ticket)
	if err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	s.mu.Lock()
	s.reads = append(s.reads, string(ticket.Ticket))
	s.headers = md
	noLimit := s.noLimit
	s.mu.Unlock()
	schema := projectSchema(d.schema, columns)
	options := []ipc.Option{ipc.WithSchema(schema)}
	if strings.Contains(strings.Join(md.Get(acceptCodecsHeader), ","), "zstd") {
		options = append(options, ipc.WithZstd())
	}
	w := flight.NewRecordWriter(stream, options...)
	defer w.Close()
	left := d.rows()
	if cmd.Limit != nil && !noLimit {
		left = min(left, *cmd.Limit)
	}
	for _, b := range d.batches {
		if left == 0 {
			break
		}
		n := min(left, b.NumRows())
		left -= n
		arrays := make([]arrow.Array, len(columns))
		for i, c := range columns {
			arrays[i] = array.NewSlice(b.Column(c), 0, n)
		}
		out := array.NewRecordBatch(schema, arrays, n)
		if err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

func (s *stubServer) ListFlights(criteria *flight.Criteria, stream flight.FlightService_ListFlightsServer) error {
	s.mu.Lock()
	var infos []*flight.FlightInfo
	for name, d := range s.datasets {
		if !strings.HasPrefix(name, string(criteria.Expression)) {
			continue
		}
		facts, err := json.Marshal(d.facts(name))
		if err != nil {
			s.mu.Unlock()
			return err
		}
		infos = append(infos, &flight.FlightInfo{
			FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: strings.Split(name, "/")},
			TotalRecords:     d.rows(), TotalBytes: -1, AppMetadata: facts,
		})
	}
	s.mu.Unlock()
	slices.SortFunc(infos, func(a, b *flight.FlightInfo) int {
		return slices.Compare(a.FlightDescriptor.Path, b.FlightDescriptor.Path)
	})
	for _, info := range infos {
		if err := stream.Send(info); err != nil {
			return err
		}
	}
	return nil
}

func (s *stubServer) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	var body datasetBody
	if err := json.Unmarshal(action.Body, &body); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	result, err := s.act(action.Type, body)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: text})
}

func (s *stubServer) act(name string, body datasetBody) (any, error) {
	switch name {
	case "describe":
		d, err := s.find(body.Dataset)
		if err != nil {
			return nil, err
		}
		return d.facts(body.Dataset), nil
	case "drop":
		if _, err := s.find(body.Dataset); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.datasets, body.Dataset)
		return map[string]any{"dataset": body.Dataset}, nil
	case "server_stats":
		if body.Dataset != "" {
			if _, err := s.find(body.Dataset); err != nil {
				return nil, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return map[string]any{"puts": len(s.puts), "gets": len(s.reads), "bytes_out": 330427898, "datasets": len(s.datasets)}, nil
	}
	return nil, status.Errorf(codes.Unimplemented, "no action %q", name)
}
