package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// message is one line of put's input. Byte fields are base64, as encoding/json has them.
type message struct {
	Path     []string `json:"path"`
	Command  []byte   `json:"command"`
	Header   []byte   `json:"header"`
	Metadata []byte   `json:"metadata"`
	Body     []byte   `json:"body"`
}

func (m message) flightData() *flight.FlightData {
	data := &flight.FlightData{DataHeader: m.Header, AppMetadata: m.Metadata, DataBody: m.Body}
	switch {
	case m.Path != nil:
		data.FlightDescriptor = &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: m.Path}
	case m.Command != nil:
		data.FlightDescriptor = &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: m.Command}
	}
	return data
}

// sent is what put reports: Results are the app_metadata of the PutResults.
type sent struct {
	outcome
	Results [][]byte `json:"results"`
}

func put(arguments []string, input io.Reader) (report sent, err error) {
	flags := flag.NewFlagSet("put", flag.ContinueOnError)
	address := flags.String("address", "", "host and port")
	if err := flags.Parse(arguments); err != nil {
		return report, err
	}
	client, err := connect(*address)
	if err != nil {
		return report, err
	}
	defer client.Close()
	stream, err := client.DoPut(context.Background())
	if err != nil {
		return report, err
	}
	lines := json.NewDecoder(input)
	for {
		var m message
		if err := lines.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return report, fmt.Errorf("a message on standard input: %w", err)
		}
		// A refused stream answers Send with io.EOF; Recv below then has the reason.
		if err := stream.Send(m.flightData()); err != nil {
			break
		}
	}
	if err := stream.CloseSend(); err != nil {
		return report, err
	}
	for {
		result, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			report.outcome = outcomeOf(nil)
			return report, nil
		}
		if err != nil {
			report.outcome = outcomeOf(err)
			return report, nil
		}
		report.Results = append(report.Results, result.GetAppMetadata())
	}
}
