package intake

import (
	"context"
	"fmt"
)

// Stream is what has come on one stream and was not taken yet. It belongs to its connection.
type Stream struct {
	conn *Conn
	age  uint64 // the larger, the younger

	// Guarded by the connection's lock.
	held     int64   // memory of what came and was not taken
	loose    int64   // of it, what no grant covers
	bytes    int64   // the data of what is held
	coming   message // that is not complete
	complete int     // messages that came as a whole and were not taken
	moved    int64   // the meter's tick when data came last
	half     bool    // the client has ended its data
	ended    bool    // one side has ended the stream
	grant    int64   // bytes of the message that was granted; 0: none was, and the next three say nothing
	holder   *holder // who has the grant
	granted  int64   // the meter's tick of the grant
	had      int64   // bytes, at the grant
	most     int64   // the largest message that is taken; 0: any
	fail     func(error)
	lent     *Hold // gets what is taken next
	failed   bool
	waiting  bool

	wake chan struct{} // of one place
}

// footprint is the memory that a transport keeps for a data frame of n bytes: a buffer, which is up to an eighth larger, and
// records of the buffer and of the queues that it is in.
func footprint(n int) int64 { return int64(n) + int64(n)/8 + 112 }

// most is what a granted message of n bytes may take. A client whose frames are so small that they take more is given up.
func most(n int64) int64 { return n + n/4 }

func (m *Meter) newStream(c *Conn) *Stream {
	return &Stream{conn: c, age: m.ages.Add(1), wake: make(chan struct{}, 1)}
}

// hold counts the memory of a frame. It gives the error for a stream that takes more than its grant. The connection's lock is
// held.
func (s *Stream) hold(n int64) (tooMuch error) {
	m := s.conn.meter
	s.held += n
	m.held.Add(n)
	switch {
	case s.grant == 0 || s.complete > 0:
		s.loose += n
		m.loose.Add(n)
	case s.held-s.loose > most(s.grant):
		return fmt.Errorf("%w: in frames so small a message of %d bytes takes %d; send larger frames", ErrFull, s.grant, s.held)
	}
	return nil
}

// let takes n bytes of memory off the count, of which some are loose. The connection's lock is held.
func (s *Stream) let(n, loose int64) {
	m := s.conn.meter
	s.held -= n
	s.loose -= loose
	m.held.Add(-n)
	m.loose.Add(-loose)
}

// feed takes data. It gives the error for a message that is larger than the stream takes. The connection's lock is held.
func (s *Stream) feed(p []byte) (tooLarge error) {
	if s.ended {
		return nil
	}
	m := s.conn.meter
	s.bytes += int64(len(p))
	s.moved = m.tick.Load()
	sized := s.coming.sized()
	n := s.coming.feed(p)
	s.complete += n
	if s.coming.begun() {
		m.watch()
	}
	large := s.coming.sized() && (n > 0 || !sized) && s.coming.length > m.alone()
	if large && s.most > 0 && s.coming.length > s.most {
		tooLarge = s.tooLarge()
	}
	if n > 0 || large {
		s.signal()
	}
	return tooLarge
}

func (s *Stream) tooLarge() error {
	return fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, s.coming.length, s.most)
}

// signal has whoever waits for the stream look again. The connection's lock is held.
func (s *Stream) signal() {
	if s.waiting {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// end gives up the count of all that the stream holds. The connection's lock is held.
func (s *Stream) end() {
	s.ended = true
	s.let(s.held, s.loose)
	s.bytes, s.complete, s.coming = 0, 0, message{}
	s.release()
	s.signal()
}

// release gives a grant back. The connection's lock is held.
func (s *Stream) release() {
	if s.grant > 0 {
		s.conn.meter.release(s.holder, s.grant)
		s.grant, s.holder = 0, nil
	}
}

// Limit sets the largest message that is taken, in bytes, and what is called when the stream is given up, once and with the
// reason: it should make the stream's handler return. Until then nothing of the stream is refused.
func (s *Stream) Limit(most int64, fail func(error)) {
	s.conn.mu.Lock()
	s.most, s.fail = most, fail
	var err error
	if s.coming.sized() && s.most > 0 && s.coming.length > s.most {
		err = s.tooLarge()
	}
	s.conn.mu.Unlock()
	if err != nil {
		s.giveUp(err)
	}
}

// giveUp tells the stream's handler that its stream is not received any more. No lock is held.
func (s *Stream) giveUp(err error) {
	s.conn.mu.Lock()
	fail := s.fail
	if s.failed || s.ended {
		fail = nil
	}
	s.failed = s.failed || fail != nil
	s.conn.mu.Unlock()
	if fail != nil {
		s.conn.meter.given.Add(1)
		fail(err)
	}
}

// Took tells that a message was handed over, of n bytes with its prefix: the transport keeps nothing of it. What it held stays counted
// where it was asked for by [Stream.Lend].
func (s *Stream) Took(n int64) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	n = min(n, s.bytes)
	if s.ended || n == 0 {
		return
	}
	held := s.held
	switch {
	case n == s.bytes:
		s.let(s.held, s.loose)
	case s.grant > 0:
		s.let(s.held-s.loose, 0)
	default: // what small frames take beside their data goes with the data
		part := int64(float64(s.held) * float64(n) / float64(s.bytes))
		s.let(part, part)
	}
	s.bytes -= n
	s.complete = max(s.complete-1, 0)
	s.moved = s.conn.meter.tick.Load() // only now may the client have room to go on
	if s.lent != nil {
		s.lent.take(held-s.held, s.holder, s.grant)
		s.lent, s.holder, s.grant = nil, nil, 0
	}
	s.release()
}

// Next waits until the next message of the stream can be received. It gives the length of one that is so large that it comes
// only when the transport is asked for it, which needs a Grant first. Of all others, and where the stream has ended, it gives
// 0: the transport has the answer or will have it at once. The error is ErrTooLarge, or the cause of the context.
func (s *Stream) Next(ctx context.Context) (int64, error) {
	for {
		if length, ready, err := s.look(); ready || err != nil {
			return length, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (s *Stream) look() (length int64, ready bool, err error) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.waiting = true
	switch {
	case s.complete > 0 || s.ended || s.half:
		return 0, true, nil
	case !s.coming.sized():
		return 0, false, nil
	case s.most > 0 && s.coming.length > s.most:
		return 0, false, s.tooLarge()
	case s.coming.length > s.conn.meter.alone():
		return s.coming.length, true, nil
	}
	return 0, false, nil
}

// Grant waits for the grant of a message of n bytes, for a caller of any name, which has its share of all grants; it is given back when
// the message is taken or the stream ends. The error is ErrFull after Options.Wait, or the cause of the context.
func (s *Stream) Grant(ctx context.Context, who string, n int64) error {
	m := s.conn.meter
	h, err := m.acquire(ctx, who, n)
	if err != nil {
		return err
	}
	s.begin(h, n)
	return nil
}

// GrantAtOnce is Grant for who does not wait. It tells whether the message is granted.
func (s *Stream) GrantAtOnce(who string, n int64) bool {
	h := s.conn.meter.acquireAtOnce(who, n)
	if h == nil {
		return false
	}
	s.begin(h, n)
	return true
}

// begin begins to receive a message of n bytes for which somebody has a grant.
func (s *Stream) begin(h *holder, n int64) {
	m := s.conn.meter
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.moved = m.tick.Load() // its time begins now
	s.grant, s.holder, s.granted, s.had = n, h, s.moved, s.bytes
	m.loose.Add(-s.loose)
	s.loose = 0
	if s.ended {
		s.release()
	}
}
