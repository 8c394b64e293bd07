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
)

// window is the HTTP/2 flow-control window: large, so that the reader never holds the server up.
const window = 16 << 20

// totals are what one reader received.
type totals struct {
	messages int
	bytes    int64 // of the messages
	bodies   int64 // of them in bodies of record batches
	seconds  float64
}

func drain(ctx context.Context, client flight.FlightServiceClient, ticket []byte, times int) (t totals, err error) {
	start := time.Now()
	for range times {
		if err := t.read(ctx, client, ticket); err != nil {
			return t, err
		}
	}
	t.seconds = time.Since(start).Seconds()
	return t, nil
}

func (t *totals) read(ctx context.Context, client flight.FlightServiceClient, ticket []byte) error {
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return err
	}
	for {
		var m dropped
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		t.messages++
		t.bytes += int64(m.size)
		t.bodies += int64(m.body)
	}
}

func connect(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(strings.TrimPrefix(strings.TrimPrefix(address, "grpc://"), "grpc+"),
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
	times := flag.Int("times", 1, "how often each reads")
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
			all[i], err = drain(ctx, client, []byte(*ticket), *times)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	var sum totals
	each := make([]float64, len(all))
	for i, t := range all {
		if t.messages != all[0].messages || t.bytes != all[0].bytes {
			return fmt.Errorf("reader %d got %d messages of %d bytes, reader 0 %d of %d", i, t.messages, t.bytes, all[0].messages, all[0].bytes)
		}
		sum.messages += t.messages
		sum.bytes += t.bytes
		sum.bodies += t.bodies
		each[i] = t.seconds
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"readers": *readers, "seconds": seconds, "each": each, "messages": sum.messages, "bytes": sum.bytes, "bodies": sum.bodies,
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "drain:", err)
		os.Exit(1)
	}
}
