package flight

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/flightcache/flightcache/flight/intake"
)

// methodDoPut is the call whose messages are as large as Options.MaxReceive; all others send commands.
const methodDoPut = "/arrow.flight.protocol.FlightService/DoPut"

// methodDoGet is the call that sends what readers may be slow to take.
const methodDoGet = "/arrow.flight.protocol.FlightService/DoGet"

// maxRequest is the largest message that any call but a put may send, in bytes: what gRPC takes where nobody says otherwise.
const maxRequest = 4 << 20

// maxHello is the largest message of calls that anyone may make, in bytes. It is so small that nothing is granted for it: grants are for
// those who may put.
const maxHello = 64 << 10

// largest is the largest message that a streaming call may send.
func (s *Server) largest(method string) int64 {
	switch {
	case method == methodDoPut:
		return int64(s.opts.MaxReceive) + framingRoom
	case open(method), method == methodHandshake:
		return maxHello
	}
	return maxRequest
}

// callStream is a stream of one call. Its context is the call's, which ends early when the stream is given up.
type callStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	in   *receiving
	put  bool

	awaiting, taking *watchdog // of the client's next message, and of its taking one; nil: it may take for ever
}

// Context is the call's context.
func (s *callStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message. What gRPC has to be asked for, since it is larger than the window, is asked for only with a
// grant. Nothing here waits for a client longer than the stream's data may stand still; the error then is why the stream was
// given up.
func (s *callStream) RecvMsg(m any) error {
	s.awaiting.arm()
	n, err := s.in.Next(s.ctx)
	s.awaiting.disarm()
	switch {
	case errors.Is(err, intake.ErrTooLarge) && s.put:
		return fmt.Errorf("%w (option --max-message); send smaller batches", err)
	case err != nil:
		return err
	}
	if n == 0 {
		return s.ServerStream.RecvMsg(m)
	}
	grant := func(ctx context.Context) error { return s.in.Grant(ctx, n) }
	if c := s.call.claim; c != nil {
		err = c.Wait(grant)
	} else {
		err = grant(s.ctx)
	}
	if err != nil {
		return err
	}
	return s.receive(m)
}

// receive receives a message for which the stream has a grant. gRPC waits for all of it, and can be left only by ending the
// stream: so it waits on a goroutine of its own, which goes on by itself if the stream is given up.
func (s *callStream) receive(m any) error {
	in := m
	kept, isData := m.(*incoming)
	if isData { // its owner may use it again before gRPC has ended with it
		kept.end()
		in = &incoming{alloc: kept.alloc}
	}
	result := make(chan error)
	s.in.left.Go(func() {
		err := s.ServerStream.RecvMsg(in)
		select {
		case result <- err:
		case <-s.ctx.Done():
			if late, ok := in.(*incoming); ok {
				late.end()
			}
		}
	})
	select {
	case err := <-result:
		if isData && err == nil {
			*kept = *in.(*incoming)
		}
		return err
	case <-s.ctx.Done():
	}
	return context.Cause(s.ctx)
}
