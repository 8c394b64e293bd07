package flight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/flightcache/flightcache/arrowipc"
)

// In which form a read goes out: the command decides, else the header, else the server's default and who asks.
func TestWireOfARead(t *testing.T) {
	const cpp, golang = "grpc-c++/1.60.0 grpc-c/37.0.0 (linux; chttp2)", "grpc-go/1.85.0"
	cases := []struct {
		name   string
		server Wire
		agent  string
		accept []string
		wire   string
		want   map[string]arrowipc.Compression // by stored codec; what is absent stays as stored
	}{
		{name: "Arrow C++", agent: cpp},
		{name: "another client", agent: golang, want: plainFor("lz4", "zstd")},
		{name: "one that names C++ later", agent: "x grpc-c++/1.60.0", want: plainFor("lz4", "zstd")},
		{name: "another client of a storing server", server: WireStored, agent: golang},
		{name: "Arrow C++ of a plain server", server: WireNone, agent: cpp, want: plainFor("lz4", "zstd")},
		{name: "header", agent: golang, accept: []string{"zstd"}, want: plainFor("lz4")},
		{name: "header with two", agent: golang, accept: []string{"zstd, lz4"}},
		{name: "header in capitals with blanks", agent: golang, accept: []string{"  ZSTD ,   Lz4 "}},
		{name: "header with unknown names", agent: golang, accept: []string{"snappy,,lz4;q=1, zstd"}, want: plainFor("lz4")},
		{name: "several headers", agent: golang, accept: []string{"lz4", "zstd"}},
		{name: "empty header", agent: cpp, accept: []string{""}, want: plainFor("lz4", "zstd")},
		{name: "header over the default", server: WireStored, agent: cpp, accept: []string{"lz4"}, want: plainFor("zstd")},
		{name: "command none", agent: cpp, accept: []string{"zstd,lz4"}, wire: "none", want: plainFor("lz4", "zstd")},
		{name: "command stored", server: WireNone, agent: golang, accept: []string{""}, wire: "stored"},
		{name: "command zstd", agent: golang, wire: "zstd", want: everyAs(arrowipc.Zstd)},
		{name: "command lz4", agent: golang, wire: "lz4", want: everyAs(arrowipc.LZ4Frame)},
	}
	tb := mixed(10, 2000, 1500)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, func(s *setup) { s.service.Wire = c.server })
			client := f.agent(c.agent)
			for _, codec := range []string{"none", "lz4", "zstd"} {
				f.put(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q,"batching":"keep"}`, codec)), tb)
				want, ok := c.want[codec]
				if !ok {
					want = map[string]arrowipc.Compression{"none": arrowipc.Uncompressed, "lz4": arrowipc.LZ4Frame, "zstd": arrowipc.Zstd}[codec]
				}
				ticket := `{"dataset":"d"}`
				if c.wire != "" {
					ticket = fmt.Sprintf(`{"dataset":"d","wire":%q}`, c.wire)
				}
				ctx := f.context()
				for _, a := range c.accept {
					ctx = metadata.AppendToOutgoingContext(ctx, acceptHeader, a)
				}
				got, err := read(ctx, client, ticket)
				if err != nil {
					t.Fatal(err)
				}
				_, batches := wireBatches(t, got)
				for i, b := range batches {
					if b.Batch.Compression != want {
						t.Errorf("stored as %s: batch %d is sent with compression %v, want %v", codec, i, b.Batch.Compression, want)
					}
				}
				sameTable(t, tableOf(t, got), tb)
			}
		})
	}
}

func plainFor(stored ...string) map[string]arrowipc.Compression {
	out := map[string]arrowipc.Compression{}
	for _, s := range stored {
		out[s] = arrowipc.Uncompressed
	}
	return out
}

func everyAs(c arrowipc.Compression) map[string]arrowipc.Compression {
	return map[string]arrowipc.Compression{"none": c, "lz4": c, "zstd": c}
}

func TestUnknownWire(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 1))
	_, err := read(f.context(), f.client, `{"dataset":"d","wire":"snappy"}`)
	wantStatus(t, err, codes.InvalidArgument, `"snappy"`, "none, stored, zstd, lz4")
}

// stockLimit is what a Go client takes as one message when nobody tells it otherwise.
const stockLimit = 4 << 20

// flatLike makes batches of the shape that producers like: 65,536 rows of six columns, 4.1 MiB.
func flatLike(batches int) table {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64,
		arrow.BinaryTypes.String, arrow.FixedWidthTypes.Timestamp_us, arrow.PrimitiveTypes.Int32}
	var fields []arrow.Field
	for i, dt := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true})
	}
	out := table{schema: arrow.NewSchema(fields, nil)}
	for n := range batches {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), out.schema)
		for i := range 65_536 {
			row := n*65_536 + i
			b.Field(0).(*array.Int64Builder).Append(int64(row))
			b.Field(1).(*array.Float64Builder).Append(float64(row%977) / 8)
			b.Field(2).(*array.Int64Builder).Append(int64(row) * 7919)
			b.Field(3).(*array.StringBuilder).Append([]string{"amsterdam", "berlin", "copenhagen", "dublin"}[row%4] + " and more besides")
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(row * 1000))
			b.Field(5).(*array.Int32Builder).Append(int32(row % 12))
		}
		out.batches = append(out.batches, b.NewRecordBatch())
	}
	return out
}

func longStrings(rows, length int) table {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.NewGoAllocator())
	for i := range rows {
		b.Append(strings.Repeat(string(rune('a'+i%26)), length))
	}
	return table{schema: schema, batches: []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(rows))}}
}

// A stock client refuses messages of more than 4 MiB: it is sent none, whatever was put.
func TestStockClientsGetNoLargeMessage(t *testing.T) {
	for name, c := range map[string]struct {
		tb     table
		codecs []string
	}{
		"common batches":  {flatLike(1), []string{"none", "zstd"}},
		"long strings":    {longStrings(100, 1<<20), []string{"zstd"}},
		"one large batch": {noise(700_000), []string{"none", "zstd"}},
	} {
		tb := c.tb
		for _, codec := range c.codecs {
			t.Run(name+" as "+codec, func(t *testing.T) {
				f := start(t, func(s *setup) { s.store.Arena.Poison = false }) // it costs seconds here
				f.put(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q}`, codec)), tb)
				stock := arrowflight.NewFlightServiceClient(f.stock())
				got, err := read(f.context(), stock, "d")
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range got {
					if n := protoSize(m); n > stockLimit {
						t.Errorf("message %d has %d bytes", i, n)
					}
				}
				sameTable(t, tableOf(t, got), tb)
			})
		}
	}
}

// A row that is larger by itself cannot be cut: the client's own limit tells.
func TestOneRowMayPassTheLimit(t *testing.T) {
	f := start(t)
	tb := longStrings(3, 5<<20)
	f.put(byPath("d"), tb)
	got := f.get("d")
	if len(got) != 4 {
		t.Errorf("%d messages, want the schema and one a row", len(got))
	}
	sameTable(t, tableOf(t, got), tb)
	_, err := read(f.context(), arrowflight.NewFlightServiceClient(f.stock()), "d")
	wantStatus(t, err, codes.ResourceExhausted)
}

func TestMaxMessageBytes(t *testing.T) {
	const most = 64 << 10
	tb := mixed(11, 12_000)
	for _, codec := range []string{"none", "lz4", "zstd"} {
		for _, wire := range []string{"none", "stored", "lz4"} {
			t.Run(codec+" as "+wire, func(t *testing.T) {
				f := start(t)
				f.put(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q}`, codec)), tb)
				whole := f.get(fmt.Sprintf(`{"dataset":"d","wire":%q}`, wire))
				cut := f.get(fmt.Sprintf(`{"dataset":"d","wire":%q,"max_message_bytes":%d}`, wire, most))
				if len(cut) <= len(whole) {
					t.Errorf("%d messages, %d without a limit", len(cut), len(whole))
				}
				for i, m := range cut {
					if n := len(m.DataBody); n > most {
						t.Errorf("message %d has a body of %d bytes", i, n)
					}
				}
				sameTable(t, tableOf(t, cut), tb)
			})
		}
	}
}
