package flight

import (
	"cmp"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/flight/secure"
)

// greeting is a connection without TLS that looks at the first byte that its client sends.
type greeting struct {
	net.Conn
	greeted bool   // it has looked; of the reader
	tls     func() // is told of a client that begins a TLS handshake
}

// Read reads what the client has sent.
func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if !g.greeted && n > 0 {
		g.greeted = true
		if secure.GreetsTLS(p[0]) {
			g.tls()
		}
	}
	return n, err
}

// sparing logs what anybody can bring about, and so no more than a burst of lines and a few a minute.
type sparing struct {
	// Lines that may be logged at once, and how long it takes until there is one more; 0: the defaults.
	burst int
	every time.Duration

	mu      sync.Mutex
	left    int       // lines that may be logged
	since   time.Time // when one was last added
	omitted int       // lines that were not logged
}

// Defaults of sparing.
const (
	sparingBurst = 20
	sparingEvery = 3 * time.Second
)

// admit tells whether a line may be logged, and how many were not since the last one.
func (s *sparing) admit() (omitted int, ok bool) {
	burst, every := cmp.Or(s.burst, sparingBurst), cmp.Or(s.every, sparingEvery)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if more := int(min(now.Sub(s.since)/every, time.Duration(burst))); more > 0 {
		s.left, s.since = min(s.left+more, burst), now
	}
	if s.left == 0 {
		s.omitted++
		return 0, false
	}
	s.left--
	omitted, s.omitted = s.omitted, 0
	return omitted, true
}

// tell logs a line, or counts it.
func (s *sparing) tell(log *zap.Logger, line string, fields ...zap.Field) {
	omitted, ok := s.admit()
	if !ok {
		return
	}
	if omitted > 0 {
		fields = append(fields, zap.Int("omitted", omitted))
	}
	log.Warn(line, fields...)
}
