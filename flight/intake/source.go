package intake

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// source reads a connection through a buffer that it holds only while there is something in it: a thousand connections that
// say nothing take none.
type source struct {
	meter *Meter
	conn  net.Conn
	raw   syscall.RawConn // nil: the connection cannot tell when there is something to read
	plain bool            // there is no buffer: the connection reads from memory

	buffer   *[]byte
	from, to int
	counted  atomic.Bool // the buffer is

	n   int // of one read of raw
	err error
	try func(fd uintptr) bool
}

// readBuffer is how much is read at once: it was measured to be enough.
const readBuffer = 256 << 10

var buffers = sync.Pool{New: func() any {
	b := make([]byte, readBuffer)
	return &b
}}

func newSource(c net.Conn, m *Meter) *source {
	s := &source{meter: m, conn: c}
	// Only the system's own: another connection may have a SyscallConn that leads past what it does to the bytes.
	switch c := c.(type) {
	case *net.TCPConn:
		s.raw, _ = c.SyscallConn()
	case *net.UnixConn:
		s.raw, _ = c.SyscallConn()
	case interface{ ReadsFromMemory() }:
		s.plain = true
	}
	s.try = func(fd uintptr) bool {
		s.take()
		for {
			s.n, s.err = syscall.Read(int(fd), *s.buffer)
			if !errors.Is(s.err, syscall.EINTR) {
				break
			}
		}
		if s.err != nil {
			s.n = 0
		}
		if errors.Is(s.err, syscall.EAGAIN) {
			s.give()
			return false
		}
		return true
	}
	return s
}

func (s *source) take() {
	s.buffer = buffers.Get().(*[]byte)
	s.counted.Store(true)
	s.meter.buffers.Add(readBuffer)
}

func (s *source) give() {
	buffers.Put(s.buffer)
	s.buffer = nil
	s.uncount()
}

// uncount takes a buffer out of the count. It may be called by another goroutine than the reader's, when the connection is
// closed: nobody reads what the buffer still has, and the collector finds it.
func (s *source) uncount() {
	if s.counted.Swap(false) {
		s.meter.buffers.Add(-readBuffer)
	}
}

// read is that of an io.Reader. The buffer goes back when it is empty, or the connection has failed.
func (s *source) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if s.plain {
		return s.conn.Read(p)
	}
	if s.from == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, (*s.buffer)[s.from:s.to])
	if s.from += n; s.from == s.to {
		s.give()
	}
	return n, nil
}

// fill waits until something has come. On an error no buffer is held.
func (s *source) fill() error {
	s.from, s.to = 0, 0
	if s.raw == nil {
		s.take()
		s.n, s.err = s.conn.Read(*s.buffer)
		if s.n > 0 {
			s.err = nil // it comes again
		} else if s.err == nil {
			s.err = io.ErrNoProgress
		}
	} else if err := s.raw.Read(s.try); err != nil {
		if s.buffer != nil {
			s.give()
		}
		return err
	} else if s.n == 0 && s.err == nil {
		s.err = io.EOF
	}
	if s.err != nil {
		s.give()
		return s.err
	}
	s.to = s.n
	return nil
}

// Buffered is a connection that reads through a buffer, which it holds only while there is something in it. It is for what
// decrypts a connection: that reads a record at a time.
type Buffered struct {
	net.Conn
	in *source
}

// Buffered gives a connection a buffer, which is counted. It takes over the connection.
func (m *Meter) Buffered(c net.Conn) *Buffered { return &Buffered{c, newSource(c, m)} }

// Read reads what has come.
func (b *Buffered) Read(p []byte) (int, error) { return b.in.read(p) }

// Close closes the connection.
func (b *Buffered) Close() error {
	err := b.Conn.Close()
	b.in.uncount()
	return err
}
