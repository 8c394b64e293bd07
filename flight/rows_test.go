package flight

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/arrowipc"
)

// Columns without buffers let a few bytes claim any number of rows. Such batches cost what their bytes cost: they are
// refused beyond a bound, or kept without work for every row.
func TestRowsWithoutBytes(t *testing.T) {
	nothing := arrow.NewSchema(nil, nil)
	nulls := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.Null, Nullable: true}}, nil)
	for name, schema := range map[string]*arrow.Schema{"no columns": nothing, "nulls": nulls} {
		for _, rows := range []int64{1 << 20, 1 << 40, 1<<63 - 1} {
			t.Run(fmt.Sprintf("%s, %d rows", name, rows), func(t *testing.T) {
				f := start(t)
				b := arrowipc.RecordBatch{Rows: rows, Compression: arrowipc.Uncompressed}
				for range schema.Fields() {
					b.Nodes = append(b.Nodes, arrowipc.FieldNode{Length: rows, Nulls: rows})
				}
				var h arrowipc.HeaderBuilder
				batch := &arrowflight.FlightData{DataHeader: h.RecordBatch(&b, 0, nil)}
				facts, err := f.send(join(described(byPath("d"), messagesOf(t, table{schema: schema})), messages{batch, batch}))
				if rows > 1<<30 {
					wantStatus(t, err, codes.ResourceExhausted, `dataset "d"`, "record batch 0", "rows")
					return
				}
				if err != nil || facts.Rows != 2*rows {
					t.Fatalf("%d rows, %v", facts.Rows, err)
				}
				if got := tableOf(t, f.get("d")).rows(); got != 2*rows {
					t.Errorf("%d rows come back", got)
				}
			})
		}
	}
}
