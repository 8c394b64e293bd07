package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
)

// frameBytes is how grpc-go cuts what it sends and receives.
const frameBytes = 16 << 10

// framed is a FlightData with a body of n bytes, in the transport's pieces.
func framed(n int) (data mem.BufferSlice) {
	raw := protowire.AppendTag(nil, fieldHeader, protowire.BytesType)
	raw = protowire.AppendBytes(raw, make([]byte, 500))
	raw = protowire.AppendTag(raw, fieldBody, protowire.BytesType)
	raw = protowire.AppendBytes(raw, make([]byte, n))
	for len(raw) > 0 {
		k := min(len(raw), frameBytes)
		data = append(data, mem.SliceBuffer(raw[:k:k]))
		raw = raw[k:]
	}
	return data
}

// receiver gives a call that takes a message as a put does, and frees its body.
func receiver(t testing.TB, n int) func() {
	a, data, codec := newArena(t), framed(n), NewCodec()
	m := &incoming{alloc: func(_ []byte, n int) (arena.Block, error) { return a.Alloc(n) }}
	return func() {
		if err := codec.Unmarshal(data, m); err != nil || m.err != nil {
			t.Fatal(err, m.err)
		}
		b := m.takeBody()
		b.Free()
	}
}

// sender gives a call that makes a message with a body of pieces of n bytes, hands it to the transport, and has the
// transport let go of it.
func sender(t testing.TB, pieces, n int) func() {
	ctx := connectionTracker{&Server{}}.TagConn(context.Background(), &stats.ConnTagInfo{})
	connected(t, connectionOf(ctx))
	l, codec := connectionOf(ctx).newLease(), NewCodec()
	t.Cleanup(func() { l.end() })
	out := &batchstore.Message{Header: make([]byte, 500), BodyLength: int64(pieces * n), Owner: &holder{}}
	for range pieces {
		out.Body = append(out.Body, make([]byte, n))
	}
	return func() {
		m, err := batchMessage(l, out, nil, nil) // with a small header, which needs no memory of the store's
		if err != nil {
			t.Fatal(err)
		}
		data, err := codec.Marshal(m)
		if err != nil || data.Len() < pieces*n {
			t.Fatal(data.Len(), err)
		}
		data.Free()
	}
}

func BenchmarkReceive(b *testing.B) {
	for _, n := range []int{1 << 10, 64 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("body=%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			call := receiver(b, n)
			for b.Loop() {
				call()
			}
		})
	}
}

func BenchmarkSend(b *testing.B) {
	for _, pieces := range []int{1, 3, 100} {
		b.Run(fmt.Sprintf("pieces=%d", pieces), func(b *testing.B) {
			b.ReportAllocs()
			call := sender(b, pieces, 64<<10)
			for b.Loop() {
				call()
			}
		})
	}
}

// sizeOnly drops messages: what is measured is the server and the transport.
type sizeOnly struct{ encoding.CodecV2 }

func (c sizeOnly) Unmarshal(data mem.BufferSlice, v any) error {
	if n, ok := v.(*int); ok {
		*n = data.Len()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// unpoisoned is a server whose freed memory is not poisoned: a benchmark would measure that.
func unpoisoned(s *setup) { s.store.Arena.Poison = false }

// BenchmarkGet reads a table of 16 batches over the loopback: one op is one stream.
func BenchmarkGet(b *testing.B) {
	f := start(b, unpoisoned)
	rows := make([]int, 16)
	for i := range rows {
		rows[i] = 20_000
	}
	for _, codec := range []string{"zstd", "lz4", "none"} {
		f.put(byCommand(fmt.Sprintf(`{"dataset": %q, "codec": %q, "batching": "keep"}`, codec, codec)), mixed(1, rows...))
	}
	conn := f.dial(grpc.WithDefaultCallOptions(grpc.ForceCodecV2(sizeOnly{encoding.GetCodecV2("proto")}), grpc.MaxCallRecvMsgSize(1<<30)))
	client := arrowflight.NewFlightServiceClient(conn)
	for _, x := range []struct{ name, ticket string }{
		{"zstd/all", `{"dataset": "zstd", "wire": "stored"}`},
		{"zstd/1 column", `{"dataset": "zstd", "wire": "stored", "columns": ["id"]}`},
		{"zstd/no column", `{"dataset": "zstd", "wire": "stored", "columns": []}`},
		{"zstd/decoded", `{"dataset": "zstd", "wire": "none"}`},
		{"lz4/all", `{"dataset": "lz4", "wire": "stored"}`},
		{"none/all", `{"dataset": "none"}`},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				stream, err := client.DoGet(context.Background(), &arrowflight.Ticket{Ticket: []byte(x.ticket)})
				if err != nil {
					b.Fatal(err)
				}
				bytes = 0
				for n := 0; ; bytes += n {
					if err := stream.RecvMsg(&n); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.SetBytes(int64(bytes))
		})
	}
}

// BenchmarkSmallGet reads 1,000 rows, of one stored batch: what a call costs whatever it sends.
func BenchmarkSmallGet(b *testing.B) {
	f := start(b, unpoisoned)
	f.put(byPath("d"), mixed(1, 1000))
	conn := f.dial(grpc.WithDefaultCallOptions(grpc.ForceCodecV2(sizeOnly{encoding.GetCodecV2("proto")})))
	client := arrowflight.NewFlightServiceClient(conn)
	b.ReportAllocs()
	for b.Loop() {
		stream, err := client.DoGet(context.Background(), &arrowflight.Ticket{Ticket: []byte(`{"dataset": "d", "wire": "stored"}`)})
		if err != nil {
			b.Fatal(err)
		}
		for {
			if err := stream.RecvMsg(new(int)); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkPut puts a table of 4 batches over the loopback: one op is one put.
func BenchmarkPut(b *testing.B) {
	f := start(b, unpoisoned)
	tb := mixed(2, 20_000, 20_000, 20_000, 20_000)
	for _, codec := range []string{"zstd", "lz4", "none"} {
		b.Run(codec, func(b *testing.B) {
			messages := described(byCommand(fmt.Sprintf(`{"dataset": "d", "codec": %q}`, codec)), messagesOf(b, tb))
			b.SetBytes(wireSize(messages))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sendTo(context.Background(), f.client, messages); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGetFlightInfo calls the handler itself.
func BenchmarkGetFlightInfo(b *testing.B) {
	f := start(b, unpoisoned)
	f.put(byPath("d"), mixed(3, 100, 100, 100))
	for name, d := range map[string]*arrowflight.FlightDescriptor{
		"path":    byPath("d"),
		"columns": byCommand(`{"dataset": "d", "columns": ["id", "deep.x"]}`),
		"filter":  byCommand(`{"dataset": "d", "filters": [["id", ">=", 150]]}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.server.GetFlightInfo(context.Background(), d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSeen counts a call that has begun, sent its first message and ended: what metrics add to it.
func BenchmarkSeen(b *testing.B) {
	m := newCallMetrics()
	m.know("/arrow.flight.protocol.FlightService/DoGet")
	b.ReportAllocs()
	for b.Loop() {
		c := &call{start: time.Now(), seen: m.begin("/arrow.flight.protocol.FlightService/DoGet")}
		c.begins()
		c.seen.end(c, codes.OK, time.Since(c.start))
	}
}
