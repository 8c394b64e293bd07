package flight

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc/codes"
)

func TestPutModes(t *testing.T) {
	one, two := numbers(constant(1), 10), numbers(constant(2), 20)
	cases := []struct {
		name, mode string
		exists     bool
		code       codes.Code
		rows       int64
	}{
		{"replace nothing", "replace", false, codes.OK, 20},
		{"replace", "replace", true, codes.OK, 20},
		{"append to nothing", "append", false, codes.OK, 20},
		{"append", "append", true, codes.OK, 30},
		{"create", "create", false, codes.OK, 20},
		{"create what exists", "create", true, codes.AlreadyExists, 10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t)
			if c.exists {
				f.put(byPath("d"), one)
			}
			_, err := f.send(described(byCommand(`{"dataset":"d","mode":"`+c.mode+`"}`), messagesOf(t, two)))
			wantStatus(t, err, c.code)
			if got := tableOf(t, f.get("d")); got.rows() != c.rows {
				t.Errorf("%d rows, want %d", got.rows(), c.rows)
			}
		})
	}
}

func TestAppendOfAnotherSchema(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	other := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.PrimitiveTypes.Int64}}, nil)
	_, err := f.send(described(byCommand(`{"dataset":"d","mode":"append"}`), messagesOf(t, table{schema: other})))
	wantStatus(t, err, codes.InvalidArgument, `"d"`, `"m"`, "mode replace")
}

func TestAppendKeepsTheFirstMetadata(t *testing.T) {
	f := start(t)
	tb := mixed(5, 10)
	f.put(byPath("d"), tb)
	md := arrow.MetadataFrom(map[string]string{"origin": "another"})
	renamed := table{schema: arrow.NewSchema(tb.schema.Fields(), &md), batches: nil}
	f.put(byCommand(`{"dataset":"d","mode":"append"}`), renamed)
	sameTable(t, tableOf(t, f.get("d")), tb)
}

func TestSchemaChangedDuringAppend(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	before := f.charged()
	stream, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range described(byCommand(`{"dataset":"d","mode":"append"}`), messagesOf(t, noise(100_000))) {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	f.eventually("the append has begun", func() bool { return f.charged() > before })
	f.put(byPath("d"), mixed(6, 5))
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantStatus(t, err, codes.Aborted, `"d"`)
	sameTable(t, tableOf(t, f.get("d")), mixed(6, 5))
}
