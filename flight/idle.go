package flight

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// errIdle: a client has done nothing for too long.
var errIdle = errors.New("the client stands still")

// pressedIdle is how long a reader may take nothing while memory is short and its read holds some: decoded batches that wait for
// nobody are not to keep others from reading and putting for as long as --get-idle.
const pressedIdle = 30 * time.Second

// watchdog looks at a call of which one step takes long. Nil watches nothing.
type watchdog struct {
	timer *time.Timer
	after time.Duration
	since atomic.Int64 // when the step began, by the time since the process did; 0: there is none
}

var epoch = time.Now()

// pressedBytes is how much a read must hold to be in the way, in bytes: more than headers of messages.
const pressedBytes = 64 << 10

func newWatchdog(after time.Duration, bark func()) *watchdog {
	if after <= 0 {
		return nil
	}
	w := &watchdog{timer: time.AfterFunc(after, bark), after: after}
	w.timer.Stop()
	return w
}

// arm begins a step, and disarm ends it.
func (w *watchdog) arm() {
	if w != nil {
		w.since.Store(int64(time.Since(epoch)))
		w.timer.Reset(w.after)
	}
}

// stood is how long the step takes by now; 0: there is none.
func (w *watchdog) stood() time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(epoch) - time.Duration(since)
}

// again looks at the same step once more, later.
func (w *watchdog) again() {
	w.timer.Reset(w.after)
	if w.since.Load() == 0 { // it has ended meanwhile
		w.timer.Stop()
	}
}

func (w *watchdog) disarm() {
	if w != nil {
		w.since.Store(0)
		w.timer.Stop()
	}
}

// watch has a stream end where its client stands still: it sends nothing, or does not take what is sent to it.
func (s *Server) watch(stream *callStream, giveUp context.CancelCauseFunc) {
	stream.awaiting = newWatchdog(s.opts.Bounds.PutIdle, func() {
		giveUp(fmt.Errorf("%w: nothing came for %s (option --put-idle)", errIdle, s.opts.Bounds.PutIdle))
	})
	idle := s.opts.Bounds.GetIdle
	stream.taking = newWatchdog(min(idle, s.opts.Bounds.pressed), func() {
		var err error
		switch stood, holds := stream.taking.stood(), stream.call.holds(); {
		case stood == 0:
			return
		case stood >= idle:
			err = fmt.Errorf("%w: it has not taken a message for %s (option --get-idle)", errIdle, idle)
		case holds >= pressedBytes && s.store.Short():
			err = fmt.Errorf("%w: it has not taken a message for %s, and its read holds %d bytes of memory, which is short (option --memory); "+
				"read again, and more at once, or without having it decoded", errIdle, stood.Round(time.Millisecond), holds)
		default:
			stream.taking.again()
			return
		}
		giveUp(err)
		// What sends waits within gRPC, which ends it with the stream's context, and would then tell the client no more than
		// that. So the status is written first: the last that the client gets, if it goes on.
		if t, ok := grpc.ServerTransportStreamFromContext(stream.ctx).(interface{ WriteStatus(*status.Status) error }); ok {
			_ = t.WriteStatus(status.Convert(toStatus(err))) // it fails for a stream that is gone
		}
		stream.in.cancel()
	})
}

// SendMsg sends a message. It waits while the client does not take what was sent before.
func (s *callStream) SendMsg(m any) error {
	s.taking.arm()
	err := s.ServerStream.SendMsg(m)
	s.taking.disarm()
	if err == nil && !s.put {
		s.call.begins()
	}
	if err != nil {
		if cause := context.Cause(s.ctx); errors.Is(cause, errIdle) {
			return cause
		}
	}
	return err
}

// lingerTime is the most that a connection is left alone which holds what was sent by a read that was given up.
const lingerTime = 30 * time.Second

// linger closes a connection that sends nothing any more, and holds what a read that was given up has lent it: the status of the
// read waits behind that. While other calls go on over the connection it stays.
func (s *Server) linger(l *lease) {
	before := l.conn.intake.Sent()
	time.AfterFunc(s.opts.Bounds.linger, func() {
		switch {
		case l.idle():
		case l.conn.intake.Sent() != before:
			s.linger(l)
		default:
			s.opts.Log.Info("closed a connection that takes nothing any more", zap.Stringer("peer", l.conn.out.RemoteAddr()))
			_ = l.conn.out.Close()
		}
	})
}
