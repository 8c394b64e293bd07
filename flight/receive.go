package flight

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

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
	ctx    context.Context
	server *Server
	call   *call
	in     *receiving
	put    bool

	ahead            chan arrival // what comes of the message after the last; nil: nobody waits for it yet
	awaiting, taking *watchdog    // of the client's next message, and of its taking one; nil: it may take for ever
}

// arrival is what came of waiting for a message.
type arrival struct {
	needs   int64 // the grant that it needs; 0: none, gRPC has the message or will have it at once
	message *transported
	err     error
}

// Context is the call's context.
func (s *callStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message. What gRPC has to be asked for, since it is larger than the window, is asked for only with a
// grant. Nothing here waits for a client longer than the stream's data may stand still; the error then is why the stream was
// given up.
//
// While the caller reads a large message of a put, and does with it what is to be done, the next one is received: else its client,
// which may send no more than the window unasked, would stand still for as long.
func (s *callStream) RecvMsg(m any) error {
	var a arrival
	if ahead := s.ahead; ahead == nil {
		a.needs, a.err = s.await()
	} else {
		s.ahead = nil
		a = s.arrived(ahead)
	}
	switch {
	case a.err != nil:
		return s.hinted(a.err)
	case a.message == nil && a.needs == 0:
		return s.hinted(s.ServerStream.RecvMsg(m))
	case a.message == nil:
		if a = s.granted(a.needs); a.err != nil {
			return s.hinted(a.err)
		}
	}
	if s.put && s.mayBeGranted() == nil {
		s.ahead = s.receive(s.next)
	}
	defer a.message.free()
	if err := NewCodec().Unmarshal(a.message.data, m); err != nil {
		return status.Errorf(codes.Internal, "the message does not parse: %v", err)
	}
	return nil
}

// await waits until the next message can be received, and tells which grant it needs.
func (s *callStream) await() (needs int64, err error) {
	s.awaiting.arm()
	defer s.awaiting.disarm()
	return s.in.Next(s.ctx)
}

// hinted tells what can be done where a put's message is not received.
func (s *callStream) hinted(err error) error {
	switch {
	case errors.Is(err, intake.ErrTooLarge) && s.put:
		return fmt.Errorf("%w (option --max-message, and a MiB for what is around a batch); send smaller batches", err)
	case errors.Is(err, intake.ErrFull) && s.put && s.server.store.Short():
		return fmt.Errorf("%w; memory is short as well (option --memory), and what was received waits for it: drop datasets, or put again later", err)
	}
	return err
}

// granted receives a message that needs a grant, which is waited for.
func (s *callStream) granted(n int64) (a arrival) {
	if a.err = s.mayBeGranted(); a.err != nil {
		return a
	}
	grant := func(ctx context.Context) error { return s.in.Grant(ctx, s.call.who, n) }
	if c := s.call.claim; c != nil {
		a.err = c.Wait(grant)
	} else {
		a.err = grant(s.ctx)
	}
	if a.err != nil {
		return a
	}
	return s.arrived(s.receive(s.message))
}

// arrived waits for what receive receives, or until the stream is given up.
func (s *callStream) arrived(result <-chan arrival) (a arrival) {
	select {
	case a = <-result:
	case <-s.ctx.Done():
		a.err = context.Cause(s.ctx)
	}
	return a
}

// mayBeGranted tells why the call gets no grants: they are for callers that were let in, and of puts for those that may put. A first
// message, which says what is put, may itself need one: for it the caller must have the right to put something. What is drained of a put
// that is denied comes without, but for a message that is received ahead. It belongs to who receives.
func (s *callStream) mayBeGranted() error {
	switch {
	case s.call.who == "" || s.call.denied != "":
		return errDenied // it ends the draining; the call's own error goes out
	case s.put && !s.call.puts:
		return s.server.mayPutAny(s.call)
	}
	return nil
}

// next receives a message unless that takes a grant which is not there at once, or no grant: then it only tells so, as waiting for it
// is the business of the put's own goroutine, whose memory is weighed by what it waits for.
func (s *callStream) next() (a arrival) {
	if a.needs, a.err = s.await(); a.err == nil && a.needs > 0 && s.in.GrantAtOnce(s.call.who, a.needs) {
		return s.message()
	}
	return a
}

// message receives a message for which the stream has a grant, which goes with the message.
func (s *callStream) message() (a arrival) {
	m := &transported{hold: s.in.Lend()}
	if a.err = s.ServerStream.RecvMsg(m); a.err != nil {
		m.free()
		return a
	}
	a.message = m
	return a
}

// receive has something received by a goroutine of its own: gRPC waits for all of a message, and can be left only by ending the
// stream. It goes on by itself if the stream is given up.
func (s *callStream) receive(f func() arrival) chan arrival {
	result := make(chan arrival)
	s.in.left.Go(func() {
		a := f()
		select {
		case result <- a:
		case <-s.ctx.Done():
			a.message.free()
		}
	})
	return result
}

// transported is a message as the transport has it. Its owner frees it.
type transported struct {
	data mem.BufferSlice
	hold *intake.Hold
}

// free gives the message's memory and its grant back. Of no message it does nothing.
func (m *transported) free() {
	if m != nil {
		m.data.Free()
		m.hold.Release()
	}
}
