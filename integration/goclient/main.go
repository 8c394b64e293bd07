package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var errUsage = errors.New("usage: goclient ADDRESS FOLDER put|get PREFIX")

// failure is the error of one step: file, call, schema or values.
type failure struct {
	step string
	why  error
}

func (f failure) Error() string { return f.step + ": " + f.why.Error() }

func (f failure) Unwrap() error { return f.why }

// line is the report on one dataset.
type line struct {
	Dataset string `json:"dataset"`
	Outcome string `json:"outcome"`
	Why     string `json:"why,omitempty"`
}

// attempt puts or gets one dataset. Where the library panics, that is the outcome of the dataset.
func attempt(client flight.Client, action, prefix, path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure{"call", fmt.Errorf("panic: %v", p)}
		}
	}()
	written, err := readFile(path)
	if err != nil {
		return failure{"file", err}
	}
	defer written.release()
	place := []string{prefix, nameOf(path)}
	if action == "put" {
		if err := put(client, place, written); err != nil {
			return failure{"call", err}
		}
		return nil
	}
	read, err := get(client, place)
	if err != nil {
		return failure{"call", err}
	}
	defer read.release()
	return compare(written, read)
}

func run(arguments []string) error {
	if len(arguments) < 4 || arguments[2] != "put" && arguments[2] != "get" {
		return errUsage
	}
	address, folder, action, prefixes := arguments[0], arguments[1], arguments[2], arguments[3:]
	paths, err := tables(folder)
	if err != nil {
		return err
	}
	transport := grpc.WithTransportCredentials(insecure.NewCredentials())
	client, err := flight.NewClientWithMiddleware(strings.TrimPrefix(address, "grpc://"), nil, nil, transport)
	if err != nil {
		return err
	}
	defer client.Close()
	out := json.NewEncoder(os.Stdout)
	for _, prefix := range prefixes {
		for _, path := range paths {
			report := line{Dataset: prefix + "/" + nameOf(path), Outcome: "ok"}
			var f failure
			if err := attempt(client, action, prefix, path); errors.As(err, &f) {
				report.Outcome, report.Why = f.step, f.why.Error()
			}
			if err := out.Encode(report); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		os.Exit(1)
	}
}
