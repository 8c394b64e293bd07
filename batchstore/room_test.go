package batchstore

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// framing is what FlightData adds around header and body: tags and lengths.
const framing = 32

// TestHeadersCount shows that a message's header is a part of it: with thousands of columns it takes hundreds of
// kilobytes, and the whole must still pass clients that take 4 MiB, and be no more than a read has asked for.
func TestHeadersCount(t *testing.T) {
	const stock = DefaultMaxMessage + HeaderRoom
	for _, columns := range []int{10, 5000} {
		types := slices.Repeat([]arrow.DataType{i64, vstr}, columns/2)
		schema := schemaOf(t, types...)
		all := make([]arrowipc.Pick, columns)
		for i := range all {
			all[i].Ordinal = i
		}
		p, err := schema.Project(all)
		if err != nil {
			t.Fatal(err)
		}
		values := 600_000
		if underRace {
			values = 300_000
		}
		source := randomPlain(seeded(t), schema.Layout, int64(values/columns))
		for _, c := range []compress.Codec{compress.None, compress.LZ4} {
			s := newStore(t, Options{})
			batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
			if err != nil {
				t.Fatal(err)
			}
			for _, most := range []int64{stock, 1 << 20} {
				for _, accept := range []bool{true, false} {
					r := s.Reader(schema.Layout, p, ReadOptions{
						Accept: func(compress.Codec) bool { return accept }, Encode: compress.None, MaxMessage: most,
					})
					sent, decoded := 0, int64(0)
					for _, b := range batches {
						err := r.Read(b, b.Rows(), func(m *Message) error {
							if n := int64(len(m.Header)) + m.BodyLength + framing; n > most && m.Rows > 1 {
								t.Errorf("%d columns as %v: a message of %d bytes, at most %d were asked for", columns, c, n, most)
							}
							sent, decoded = sent+1, decoded+m.Decoded
							return nil
						})
						if err != nil {
							t.Fatal(err)
						}
					}
					r.Close()
					if most == stock && accept && (sent != len(batches) || decoded != 0) {
						t.Errorf("%d columns as %v: %d stored batches became %d messages, %d bytes decoded", columns, c, len(batches), sent, decoded)
					}
				}
			}
			for _, b := range batches {
				b.Release()
			}
		}
	}
}
