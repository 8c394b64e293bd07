package flight

import (
	"slices"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/arrowipc"
)

// withIDs gives the dictionaries of a put's messages other ids, by the columns of the schema.
func withIDs(t *testing.T, messages []*arrowflight.FlightData, ids ...int64) []*arrowflight.FlightData {
	t.Helper()
	schema, err := arrowipc.ParseSchema(messages[0].DataHeader, arrowipc.Limits{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	renamed := map[int64]int64{}
	var fields []*arrowipc.Field
	for i, f := range schema.Fields {
		x := *f
		if f.Dictionary != nil {
			d := *f.Dictionary
			renamed[d.ID] = ids[i]
			d.ID = ids[i]
			x.Dictionary = &d
		}
		fields = append(fields, &x)
	}
	if schema, err = arrowipc.BuildSchema(fields, nil); err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(messages)
	var b arrowipc.HeaderBuilder
	for i, m := range out {
		out[i] = proto.Clone(m).(*arrowflight.FlightData)
		if i == 0 {
			out[i].DataHeader = schema.Message()
			continue
		}
		h, err := arrowipc.ReadMessage(m.DataHeader, arrowipc.Limits{}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if h.Type == arrowipc.HeaderDictionaryBatch {
			out[i].DataHeader = slices.Clone(b.DictionaryBatch(renamed[h.Dictionary], h.Delta, h.Batch, h.BodyLength))
		}
	}
	return out
}

// Clients number dictionaries as they like. What is appended under other ids is read under those of the dataset, and
// joined with what is there; where other columns share a dictionary, the append is refused.
func TestDictionaryIDs(t *testing.T) {
	f := start(t)
	want := categories(20, [2][]string{{"ams", "ber"}, {"smith"}})
	stream := messagesOf(t, want)
	put := func(mode string, ids ...int64) error {
		_, err := f.send(described(byCommand(`{"dataset":"d","mode":"`+mode+`"}`), withIDs(t, stream, ids...)))
		return err
	}
	if err := put("replace", 0, 5, 9); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]int64{{0, 5, 9}, {0, 9, 5}, {0, 1 << 40, 7}} {
		if err := put("append", ids...); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		for _, ticket := range []string{"d", `{"dataset":"d","columns":["trade","city"]}`, `{"dataset":"d","dictionaries":"decode"}`} {
			got := tableOf(t, f.get(ticket))
			for _, column := range got.schema.Fields() {
				i, j := got.schema.FieldIndices(column.Name)[0], want.schema.FieldIndices(column.Name)[0]
				if column.Name == "id" {
					continue
				}
				once := words(want, j)
				if all := words(got, i); !slices.Equal(all, slices.Concat(once, once, once, once)) {
					t.Errorf("%s: column %q has %v", ticket, column.Name, all)
				}
			}
		}
	}
	check()
	facts := f.describe("d")
	if info := f.info(byPath("d")); info.TotalBytes != facts.DecodedBytes {
		t.Errorf("%d bytes told, the facts say %d", info.TotalBytes, facts.DecodedBytes)
	}
	if r := f.compact("d"); r.BatchesBefore != 4 || r.Batches != 1 {
		t.Errorf("compact says %+v", r)
	}
	check()
	wantStatus(t, put("append", 0, 3, 3), codes.InvalidArgument, "other columns share its dictionary", `"trade"`)
	check()
}
