package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// flips are what may be done to a byte: each bit turned, and all.
var flips = []byte{1, 2, 4, 8, 16, 32, 64, 128, 255}

// ownCount is how many rows the dataset has whose tickets are changed.
const ownCount = 1000

// A ticket with any of its bytes changed, whatever its form, gives an error or the rows of the dataset that the caller may read:
// never those of another, though there is one by each name that the change of a byte makes.
func TestChangedTickets(t *testing.T) {
	s := newSite(t)
	s.write("rules", strings.Replace(siteRules, "sales/**", "sales/a", 1))
	s.serve()
	c := s.dial()
	client := flight.NewClientFromConn(c, nil)
	const own = "sales/a"
	others := 0
	stolen := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "stolen", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer stolen.Release()
	stolen.Field(0).(*array.Int64Builder).Append(1)
	batch := stolen.NewRecordBatch()
	defer batch.Release()
	for i := range own {
		for _, flip := range flips {
			name := []byte(own)
			name[i] ^= flip
			if _, err := call(s.as("good"), c, "DoPut", messagesOf(t, byPath(string(name)), batch)...); err == nil {
				others++
			}
		}
	}
	if others < 30 {
		t.Fatalf("there are %d other datasets only", others)
	}
	whole := flatBatch(memory.DefaultAllocator, 0, ownCount)
	defer whole.Release()
	if _, err := call(s.as("good"), c, "DoPut", messagesOf(t, byPath(own), whole)...); err != nil {
		t.Fatal(err)
	}
	sealed := func(d *flight.FlightDescriptor) []byte {
		answers, err := call(s.as("reader"), c, "GetFlightInfo", d)
		if err != nil {
			t.Fatal(err)
		}
		return answered(t, answers[0], &flight.FlightInfo{}).Endpoint[0].Ticket.Ticket
	}
	command := `{"dataset":"sales/a","columns":["s"],"filters":[["id",">",10]],"limit":900}`
	for form, text := range map[string][]byte{
		"name": []byte(own), "command": []byte(command), "generation": fmt.Appendf(nil, `{"dataset":%q,"generation":"x"}`, own),
		"sealed": sealed(byPath(own)), "sealed command": sealed(byCommand("%s", command)),
	} {
		taken := 0
		for i := range text {
			for _, flip := range flips {
				changed := append([]byte{}, text...)
				changed[i] ^= flip
				err := ownRows(s.as("reader"), client, changed)
				if errors.Is(err, errNotOwn) {
					t.Fatalf("%s, byte %d ^ %d: %v", form, i, flip, err)
				}
				if err == nil {
					taken++
				}
			}
		}
		if strings.HasPrefix(form, "sealed") && taken > 0 {
			t.Errorf("%s: %d changed tickets are taken", form, taken)
		}
		if form == "command" && taken == 0 {
			t.Error("no change of a command is harmless: the test shows nothing")
		}
	}
	if err := ownRows(s.as("reader"), client, sealed(byPath(own))); err != nil {
		t.Errorf("after all of that: %v", err)
	}
}

var errNotOwn = errors.New("what came is not of the dataset")

// ownRows reads a ticket. The error is errNotOwn where the rows are not such as flatBatch makes, or the call's.
func ownRows(ctx context.Context, client flight.Client, ticket []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return err
	}
	reader, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		batch := reader.RecordBatch()
		for i, f := range batch.Schema().Fields() {
			for row := range int(batch.NumRows()) {
				switch column := batch.Column(i).(type) {
				case *array.Int64:
					if f.Name != "id" || column.IsValid(row) && column.Value(row) >= ownCount {
						return fmt.Errorf("%w: column %q", errNotOwn, f.Name)
					}
				case *array.String:
					if f.Name != "s" || !strings.HasPrefix(column.Value(row), "str_") {
						return fmt.Errorf("%w: column %q", errNotOwn, f.Name)
					}
				}
			}
		}
	}
	return reader.Err()
}
