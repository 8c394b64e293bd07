package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// call makes the calls of one caller and gives the time of each. All must tell so many rows.
func call(ctx context.Context, client flight.FlightServiceClient, d *flight.FlightDescriptor, calls int, rows int64) ([]time.Duration, error) {
	taken := make([]time.Duration, calls)
	for i := range taken {
		start := time.Now()
		info, err := client.GetFlightInfo(ctx, d)
		if err != nil {
			return nil, err
		}
		taken[i] = time.Since(start)
		if info.GetTotalRecords() != rows {
			return nil, fmt.Errorf("told %d rows, there are %d", info.GetTotalRecords(), rows)
		}
	}
	return taken, nil
}

func run() error {
	address := flag.String("address", "", "where the server listens")
	dataset := flag.String("dataset", "", "the dataset, a path of one part")
	rows := flag.Int64("rows", 0, "its rows")
	callers := flag.Int("callers", 1, "how many callers at once")
	calls := flag.Int("calls", 100, "the calls of each")
	flag.Parse()

	ctx := context.Background()
	descriptor := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{*dataset}}
	clients := make([]flight.FlightServiceClient, *callers)
	for i := range clients {
		connection, err := grpc.NewClient(strings.TrimPrefix(*address, "grpc://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer connection.Close()
		clients[i] = flight.NewFlightServiceClient(connection)
		// The connection is made before the clock runs.
		if _, err := call(ctx, clients[i], descriptor, 1, *rows); err != nil {
			return err
		}
	}
	each := make([][]time.Duration, *callers)
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i, client := range clients {
		group.Go(func() (err error) {
			each[i], err = call(ctx, client, descriptor, *calls, *rows)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	all := slices.Concat(each...)
	slices.Sort(all)
	at := func(share float64) float64 { return all[min(int(share*float64(len(all))), len(all)-1)].Seconds() }
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"callers": *callers, "calls": len(all), "seconds": seconds, "median": at(0.5), "p99": at(0.99), "largest": at(1),
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "callers:", err)
		os.Exit(1)
	}
}
