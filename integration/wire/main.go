package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/status"
)

var errUsage = errors.New("usage: wire get|put|cancel|probe|hostile [flags]")

// outcome is how a call ended, as the client saw it.
type outcome struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

func outcomeOf(err error) outcome {
	s, _ := status.FromError(err)
	return outcome{Code: s.Code().String(), Message: s.Message()}
}

func run(arguments []string) (any, error) {
	if len(arguments) == 0 {
		return nil, errUsage
	}
	switch arguments[0] {
	case "get":
		return get(arguments[1:])
	case "put":
		return put(arguments[1:], os.Stdin)
	case "cancel":
		return cancel(arguments[1:])
	case "probe":
		return probe(arguments[1:], os.Stdin)
	case "hostile":
		return hostile(arguments[1:])
	default:
		return nil, errUsage
	}
}

func main() {
	report, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(1)
	}
}
