package flight

import (
	"math/rand/v2"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Damaged streams are refused as what they are, or stored and then readable: never a fault of the server's, and never
// a byte that stays.
func TestDamagedPuts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := start(t)
	two := [2][]string{{"ams", "ber", "cph"}, {"smith", "cook"}}
	streams := []messages{
		messagesOf(t, mixed(20, 40, 30)),
		messagesOf(t, mixed(20, 40, 30), ipc.WithZstd()),
		messagesOf(t, mixed(20, 40, 30), ipc.WithLZ4()),
		messagesOf(t, categories(30, two, two)),
	}
	stored, refused := 0, 0
	for range 400 {
		in := described(byPath("d"), streams[r.IntN(len(streams))])
		for range 1 + r.IntN(3) {
			i := r.IntN(len(in))
			m := proto.Clone(in[i]).(*arrowflight.FlightData)
			part := m.DataHeader
			if r.IntN(2) == 0 && len(m.DataBody) > 0 {
				part = m.DataBody
			}
			switch at := r.IntN(len(part)); r.IntN(3) {
			case 0:
				part[at] ^= 1 << r.IntN(8)
			case 1:
				part[at] = byte(r.Uint32())
			case 2:
				copy(part[at:], []byte{0xff, 0xff, 0xff, 0x7f})
			}
			in[i] = m
		}
		_, err := f.send(in)
		switch status.Code(err) {
		case codes.OK:
			stored++
			for _, ticket := range []string{`{"dataset":"d","wire":"none"}`, `{"dataset":"d","wire":"stored","columns":[1,0]}`, `{"dataset":"d","wire":"lz4","limit":35}`} {
				if _, err := read(f.context(), f.client, ticket); err != nil {
					t.Errorf("what was stored cannot be read: %v", err)
				}
			}
			if err := f.action("drop", `{"dataset":"d"}`, new(any)); err != nil {
				t.Fatal(err)
			}
		case codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented:
			refused++
		default:
			t.Errorf("a damaged put ends with %v", err)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d stored, %d refused", stored, refused)
	if n := f.logs.FilterMessage("panic in a handler").Len(); n > 0 {
		t.Errorf("%d panics", n)
	}
	f.settles(0)
}
