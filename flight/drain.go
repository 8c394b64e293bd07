package flight

import (
	"time"

	"google.golang.org/grpc"
)

// drain receives and forgets what a client still sends after its put was refused. A status that is sent while the
// client writes may reach it as a bare reset. It gives up after a bound of bytes and of time: a client that never ends
// gets the reset.
func (s *Server) drain(stream grpc.ServerStream) {
	drain(stream, s.opts.DrainBytes, s.opts.DrainTime)
}

// maxStrange is how much is drained of a put of which it is not known who puts.
const maxStrange = 1 << 20

func drain(stream grpc.ServerStream, bytes int64, within time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var m discarded
		for left := bytes; left > 0; left -= int64(m.bytes) {
			if stream.RecvMsg(&m) != nil {
				return
			}
		}
	}()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
		// The handler returns, which ends the stream's context and with it the RecvMsg above.
	}
}
