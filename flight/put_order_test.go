package flight

import (
	"slices"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

type messages = []*arrowflight.FlightData

// join puts streams of messages one behind the other.
func join(parts ...messages) messages { return slices.Concat(parts...) }

func alone(d *arrowflight.FlightDescriptor) messages {
	return messages{{FlightDescriptor: d}}
}

// everywhere puts the descriptor on each message.
func everywhere(d *arrowflight.FlightDescriptor, in messages) (out messages) {
	for _, m := range in {
		out = append(out, described(d, messages{m})...)
	}
	return out
}

func TestPutMessageOrders(t *testing.T) {
	path := byPath("orders", "one")
	tb := mixed(2, 100, 50)
	stream := messagesOf(t, tb)
	schema, batches := stream[:1], stream[1:]
	noRows := messagesOf(t, mixed(2, 0))[1:]
	remark := messages{{AppMetadata: []byte("a remark")}}
	cases := []struct {
		name string
		send messages
	}{
		{"descriptor alone first", join(alone(path), schema, batches)},
		{"descriptor with the schema", described(path, stream)},
		{"descriptor on every message", everywhere(path, stream)},
		{"another descriptor later", join(described(path, schema), everywhere(byPath("elsewhere"), batches))},
		{"a broken descriptor later", join(described(path, schema), everywhere(byCommand("{"), batches))},
		{"empty header with the descriptor", join(messages{{FlightDescriptor: path, DataHeader: []byte{}}}, stream)},
		{"application metadata between", join(alone(path), remark, schema, remark, batches[:1], remark, batches[1:], remark)},
		{"application metadata before the descriptor", join(remark, described(path, stream))},
		{"application metadata on a batch", join(described(path, schema), messages{withRemark(batches[0])}, batches[1:])},
		{"batches without rows between", join(described(path, schema), noRows, batches[:1], noRows, noRows, batches[1:], noRows)},
		{"command", described(byCommand(`{"dataset":"orders/one","mode":"create"}`), stream)},
		{"command with blanks", described(byCommand(" \n{ \"dataset\" : \"orders/one\" } "), stream)},
		{"expected rows", described(byCommand(`{"dataset":"orders/one","rows":150}`), stream)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t)
			facts, err := f.send(c.send)
			if err != nil {
				t.Fatal(err)
			}
			if facts.Dataset != "orders/one" || facts.Rows != 150 {
				t.Errorf("facts tell of %d rows of %q", facts.Rows, facts.Dataset)
			}
			if f.catalog.Len() != 1 {
				t.Errorf("%d datasets, want 1", f.catalog.Len())
			}
			sameTable(t, tableOf(t, f.get("orders/one")), tb)
		})
	}
}

func withRemark(m *arrowflight.FlightData) *arrowflight.FlightData {
	m = proto.Clone(m).(*arrowflight.FlightData)
	m.AppMetadata = []byte("a remark")
	return m
}

func TestPutWithoutRows(t *testing.T) {
	path := byPath("empty")
	for name, tb := range map[string]table{"no batch": mixed(3), "batches without rows": mixed(3, 0, 0)} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			if facts := f.put(path, tb); facts.Rows != 0 || facts.Batches != 0 || len(facts.Columns) != 8 {
				t.Errorf("facts %+v", facts)
			}
			got := f.get("empty")
			if len(got) != 1 {
				t.Errorf("%d messages, want the schema only", len(got))
			}
			sameTable(t, tableOf(t, got), mixed(3))
			projected := tableOf(t, f.get(`{"dataset":"empty","columns":["word"]}`))
			sameTable(t, projected, mixed(3).columns(2))
		})
	}
}

func TestPutRefusesMessages(t *testing.T) {
	path := byPath("bad", "one")
	stream := messagesOf(t, mixed(2, 100, 50))
	schema, batches := stream[:1], stream[1:]
	garbage := messages{{DataHeader: []byte("no flatbuffer at all"), DataBody: []byte{1}}}
	body := messages{{DataBody: make([]byte, 4096)}}
	cases := []struct {
		name  string
		send  messages
		code  codes.Code
		parts []string
	}{
		{"nothing", nil, codes.InvalidArgument, []string{"ended before a schema", "descriptor, a schema"}},
		{"descriptor only", alone(path), codes.InvalidArgument, []string{`dataset "bad/one"`, "ended before a schema"}},
		{"no descriptor", stream, codes.InvalidArgument, []string{"no descriptor", "naming the dataset"}},
		{"descriptor after the schema", join(schema, alone(path), batches), codes.InvalidArgument, []string{"no descriptor"}},
		{"batch before the schema", described(path, batches), codes.InvalidArgument, []string{`dataset "bad/one"`, "no schema"}},
		{"two schemas", join(described(path, schema), batches, schema), codes.InvalidArgument,
			[]string{`dataset "bad/one"`, "second schema", "stream of its own"}},
		{"body without a header", join(described(path, schema), body), codes.InvalidArgument, []string{`dataset "bad/one"`, "no header"}},
		{"body without a header first", body, codes.InvalidArgument, []string{"no header"}},
		{"garbage for a header", join(described(path, schema), garbage), codes.InvalidArgument, []string{`dataset "bad/one"`, "malformed"}},
		{"garbage for a schema", described(path, garbage), codes.InvalidArgument, []string{`dataset "bad/one"`, "malformed"}},
		{"batch without its body", join(described(path, schema), messages{{DataHeader: batches[0].DataHeader}}), codes.InvalidArgument,
			[]string{`dataset "bad/one"`, "record batch 0", "0 came"}},
		{"body cut short", join(described(path, schema), batches[:1], messages{{DataHeader: batches[1].DataHeader, DataBody: batches[1].DataBody[:8]}}),
			codes.InvalidArgument, []string{`dataset "bad/one"`, "record batch 1", "8 came"}},
		{"batch of another schema", join(described(path, schema), messagesOf(t, noise(10))[1:]), codes.InvalidArgument,
			[]string{`dataset "bad/one"`, "record batch 0"}},
		{"fewer rows than expected", described(byCommand(`{"dataset":"bad/one","rows":151}`), stream), codes.InvalidArgument,
			[]string{`dataset "bad/one"`, "150 came", "expects 151", "nothing was stored"}},
		{"more rows than expected", described(byCommand(`{"dataset":"bad/one","rows":0}`), stream), codes.InvalidArgument,
			[]string{`dataset "bad/one"`, "150 came", "expects 0"}},
		{"command that is no JSON", described(byCommand("SELECT 1"), stream), codes.InvalidArgument, []string{"put command", "JSON object"}},
		{"command cut short", described(byCommand(`{"dataset":"bad`), stream), codes.InvalidArgument, []string{"ends too early"}},
		{"unknown key", described(byCommand(`{"datasett":"d"}`), stream), codes.InvalidArgument, []string{`"datasett"`, `"dataset"`}},
		{"durable without a place for it", described(byCommand(`{"dataset":"d","durable":true}`), stream), codes.FailedPrecondition,
			[]string{`dataset "d"`, "no data directory", "--data-dir"}},
		{"no dataset", described(byCommand(`{}`), stream), codes.InvalidArgument, []string{`"dataset" is missing`}},
		{"bad name", described(byPath("a", ""), stream), codes.InvalidArgument, []string{"segment"}},
		{"empty path", described(byPath(), stream), codes.InvalidArgument, []string{"name"}},
		{"descriptor of no type", described(&arrowflight.FlightDescriptor{}, stream), codes.InvalidArgument, []string{"UNKNOWN", "PATH or CMD"}},
		{"descriptor of a new type", described(&arrowflight.FlightDescriptor{Type: 77}, stream), codes.InvalidArgument, []string{"77", "PATH or CMD"}},
	}
	f := start(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := f.in(t)
			_, err := f.send(c.send)
			wantStatus(t, err, c.code, c.parts...)
			f.settles(0)
			if n := f.catalog.Len(); n != 0 {
				t.Errorf("%d datasets are visible", n)
			}
		})
	}
}

func TestPutTakesCompressedBatches(t *testing.T) {
	tb := mixed(4, 2000, 3)
	for _, stored := range []string{"none", "lz4", "zstd"} {
		for name, option := range map[string]ipc.Option{"lz4": ipc.WithLZ4(), "zstd": ipc.WithZstd()} {
			t.Run(name+" kept as "+stored, func(t *testing.T) {
				f := start(t)
				if _, err := f.send(described(byCommand(`{"dataset":"d","codec":"`+stored+`"}`), messagesOf(t, tb, option))); err != nil {
					t.Fatal(err)
				}
				sameTable(t, tableOf(t, f.get(`{"dataset":"d","wire":"stored"}`)), tb)
				sameTable(t, tableOf(t, f.get(`{"dataset":"d","wire":"none"}`)), tb)
			})
		}
	}
}
