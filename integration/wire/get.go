package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// received is what get reports: sizes are those of whole FlightData messages, in bytes.
type received struct {
	outcome
	Messages int `json:"messages"`
	Largest  int `json:"largest"`
	Bytes    int `json:"bytes"`
}

func get(arguments []string) (report received, err error) {
	flags := flag.NewFlagSet("get", flag.ContinueOnError)
	address := flags.String("address", "", "host and port")
	ticket := flags.String("ticket", "", "the ticket, as it is")
	codecs := flags.String("accept-codecs", "", "the request header flightcache-accept-codecs")
	out := flags.String("out", os.DevNull, "where the Arrow IPC stream goes")
	if err := flags.Parse(arguments); err != nil {
		return report, err
	}
	client, err := connect(*address)
	if err != nil {
		return report, err
	}
	defer client.Close()
	ctx := context.Background()
	if *codecs != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "flightcache-accept-codecs", *codecs)
	}
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: []byte(*ticket)})
	if err != nil {
		return report, err
	}
	file, err := os.Create(*out)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(file, 1<<20)
	for {
		message, err := stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				report.outcome = outcomeOf(err)
			} else {
				report.outcome = outcomeOf(nil)
			}
			break
		}
		size := proto.Size(message)
		report.Messages++
		report.Bytes += size
		report.Largest = max(report.Largest, size)
		if err := writeMessage(w, message); err != nil {
			return report, err
		}
	}
	// The end mark of an IPC stream: a continuation with the length zero.
	if _, err := w.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		return report, err
	}
	return report, w.Flush()
}

// writeMessage frames one message as the IPC stream format has it: continuation, padded header length, header, body.
func writeMessage(w io.Writer, message *flight.FlightData) error {
	header := message.GetDataHeader()
	padded := (len(header) + 7) &^ 7
	prefix := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(padded))
	for _, part := range [][]byte{prefix, header, make([]byte, padded-len(header)), message.GetDataBody()} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
