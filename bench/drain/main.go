package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// window is the HTTP/2 flow-control window: large, so that the reader never holds the server up.
const window = 16 << 20

// dropped receives the size of a message in place of the message.
type dropped int

type dropCodec struct{ encoding.CodecV2 }

func (c dropCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if size, ok := v.(*dropped); ok {
		*size = dropped(data.Len())
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

type totals struct {
	messages int
	bytes    int64
}

func drain(ctx context.Context, client flight.FlightServiceClient, ticket []byte) (t totals, err error) {
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return t, err
	}
	for {
		var size dropped
		if err := stream.RecvMsg(&size); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return t, err
		}
		t.messages++
		t.bytes += int64(size)
	}
}

func connect(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(strings.TrimPrefix(address, "grpc://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(dropCodec{encoding.GetCodecV2(proto.Name)}),
			grpc.MaxCallRecvMsgSize(1<<30)),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(1<<20))
}

func run() error {
	address := flag.String("address", "", "where the server listens")
	readers := flag.Int("readers", 1, "how many streams at once")
	ticket := flag.String("ticket", "", "the ticket of every stream")
	flag.Parse()

	ctx := context.Background()
	clients := make([]flight.FlightServiceClient, *readers)
	for i := range clients {
		connection, err := connect(*address)
		if err != nil {
			return err
		}
		defer connection.Close()
		connection.Connect()
		clients[i] = flight.NewFlightServiceClient(connection)
	}
	all := make([]totals, *readers)
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i, client := range clients {
		group.Go(func() (err error) {
			all[i], err = drain(ctx, client, []byte(*ticket))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	var sum totals
	for _, t := range all {
		sum.messages += t.messages
		sum.bytes += t.bytes
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"readers": *readers, "seconds": seconds, "messages": sum.messages, "bytes": sum.bytes,
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "drain:", err)
		os.Exit(1)
	}
}
