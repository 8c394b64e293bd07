package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// oneLine writes an error as one line: lines are joined by "; ", and control characters, which a server's message or a
// file's name may carry, are escaped so that they cannot reach the terminal.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return printable(strings.Join(parts, "; "))
}

// rpcError turns an RPC's error into text for a person: the status message alone, with a hint where the code says more
// than the message does. Errors that carry no status pass unchanged.
func rpcError(address string, err error) error {
	if err == nil {
		return nil
	}
	var carrier interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &carrier) {
		return err
	}
	st := carrier.GRPCStatus()
	switch st.Code() {
	case codes.OK:
		return err
	case codes.Unavailable:
		return fmt.Errorf("cannot reach the server at %s: %s (is `flightcache serve` running there?)", address, dialReason(st.Message()))
	case codes.Unimplemented:
		return fmt.Errorf("the server at %s does not do this: %s", address, st.Message())
	case codes.Unauthenticated:
		return fmt.Errorf("the server at %s wants authentication: %s", address, st.Message())
	case codes.Canceled:
		return fmt.Errorf("%w: %s", context.Canceled, st.Message())
	}
	if st.Message() == "" {
		return fmt.Errorf("the server answered %s without a message", st.Code())
	}
	return errors.New(st.Message())
}

// dialReason takes the cause of a failed dial out of the layers that gRPC's transport puts around it. Another message
// passes unchanged.
func dialReason(message string) string {
	const dialing = "Error while dialing: "
	if i := strings.LastIndex(message, dialing); i >= 0 {
		return strings.TrimSuffix(message[i+len(dialing):], `"`)
	}
	return message
}
