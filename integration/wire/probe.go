package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// probed is what probe reports: of all calls, in milliseconds.
type probed struct {
	Calls  int      `json:"calls"`
	P50    float64  `json:"p50"`
	P99    float64  `json:"p99"`
	Max    float64  `json:"max"`
	Failed []string `json:"failed"`
}

// pause is between the rounds of a client that behaves.
const pause = 5 * time.Millisecond

// probe is a client that behaves, until its input ends: each round puts a small table, asks for its info, and reads it, over a
// connection of its own, which is part of the first call.
func probe(arguments []string, until io.Reader) (any, error) {
	flags := flag.NewFlagSet("probe", flag.ContinueOnError)
	address := flags.String("address", "", "host and port")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, until)
	}()
	var all []time.Duration
	var report probed
	for round := 0; ; round++ {
		if err := oneRound(*address, round, &all); err != nil && len(report.Failed) < 10 {
			report.Failed = append(report.Failed, err.Error())
		}
		select {
		case <-ended:
		case <-time.After(pause):
			continue
		}
		break
	}
	slices.Sort(all)
	at := func(part float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return float64(all[min(int(part*float64(len(all))), len(all)-1)].Microseconds()) / 1000
	}
	report.Calls, report.P50, report.P99, report.Max = len(all), at(0.5), at(0.99), at(1)
	return report, nil
}

// roundTime bounds a round of calls, of which each takes milliseconds.
const roundTime = 30 * time.Second

func oneRound(address string, round int, all *[]time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), roundTime)
	defer cancel()
	client, err := connect(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	dataset := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"probe", fmt.Sprint(round % 4)}}
	for _, call := range []func() error{
		func() error { return putSmall(ctx, client, dataset) },
		func() error {
			info, err := client.GetFlightInfo(ctx, dataset)
			if err == nil && info.GetTotalRecords() != smallRows {
				err = fmt.Errorf("the info counts %d rows", info.GetTotalRecords())
			}
			return err
		},
		func() error { return getSmall(ctx, client, dataset.Path[0]+"/"+dataset.Path[1]) },
	} {
		start := time.Now()
		if err := call(); err != nil {
			return err
		}
		*all = append(*all, time.Since(start))
	}
	return nil
}

const smallRows = 1000

func putSmall(ctx context.Context, client flight.Client, dataset *flight.FlightDescriptor) error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for n := range int64(smallRows) {
		b.Field(0).(*array.Int64Builder).Append(n)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	stream, err := client.DoPut(ctx)
	if err != nil {
		return err
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	w.SetFlightDescriptor(dataset)
	if err := errors.Join(w.Write(batch), w.Close(), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = stream.Recv()
	return err
}

func getSmall(ctx context.Context, client flight.Client, dataset string) error {
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: []byte(dataset)})
	if err != nil {
		return err
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if err := r.Err(); err != nil {
		return err
	}
	if rows != smallRows {
		return fmt.Errorf("the read has %d rows", rows)
	}
	return nil
}

// untilInputEnds is what hostile commands wait for.
func untilInputEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }
