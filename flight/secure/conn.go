package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// ErrPlaintext is the error of a client that speaks HTTP without TLS.
var ErrPlaintext = errors.New("the client speaks without TLS; it must use grpc+tls://")

// ErrNoCertificate is the error of a client that shows no certificate where one is required.
var ErrNoCertificate = errors.New("the client shows no certificate, which is required here; some do not send " +
	"theirs when they do not verify the server's (pyarrow: disable_server_verification)")

// Conn is the server's side of a TLS connection.
type Conn struct {
	*tls.Conn
	out *records
}

// Server shakes hands over a connection, with what the files say now. The connection stays the caller's if it fails. An error
// is [ErrPlaintext] where the client does not speak TLS at all, or [ErrNoCertificate].
func (f *Files) Server(raw net.Conn) (*Conn, error) {
	out := newRecords(raw)
	c := tls.Server(out, f.Get().config)
	if err := c.Handshake(); err != nil {
		var header tls.RecordHeaderError
		if errors.As(err, &header) && speaksHTTP(header.RecordHeader) {
			return nil, ErrPlaintext
		}
		if strings.Contains(err.Error(), "client didn't provide a certificate") { // crypto/tls has no name for it
			return nil, ErrNoCertificate
		}
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, errors.New("TLS handshake: the client does not ask for HTTP/2 (ALPN h2)")
	}
	return &Conn{c, out}, nil
}

// speaksHTTP tells whether the first bytes of a client are those of HTTP.
func speaksHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "PRI *", "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

// GreetsTLS tells whether the first byte that a client has sent is the beginning of a TLS handshake.
func GreetsTLS(first byte) bool { return first == 22 }

// Write sends p in full records, together.
func (c *Conn) Write(p []byte) (int, error) {
	c.out.collect()
	n, err := c.Conn.Write(p)
	if sent := c.out.send(); err == nil {
		err = sent
	}
	return n, err
}

// ReadsFromMemory says that reads need no buffer: what is read lies in memory already, a record at a time.
func (c *Conn) ReadsFromMemory() {}

// most is how much of collected records is sent at once, in bytes.
const most = 512 << 10

// records is a connection whose writes may be collected. A reader's own, as an alert, go out behind what was collected before.
// One writes to the connection at a time, and holds no lock then: the others wait until it is done.
type records struct {
	net.Conn

	mu         sync.Mutex
	written    sync.Cond // sending was true and is not any more
	sending    bool      // somebody writes to the connection
	collecting bool
	waiting    []byte
	memory     *[]byte // that what waits lies in; nil: nothing waits
}

func newRecords(c net.Conn) *records {
	r := &records{Conn: c}
	r.written.L = &r.mu
	return r
}

var memories = sync.Pool{New: func() any { b := make([]byte, 0, most+32<<10); return &b }}

// collect keeps what is written from now on.
func (r *records) collect() {
	r.mu.Lock()
	r.collecting = true
	r.mu.Unlock()
}

// send sends what was collected.
func (r *records) send() error {
	r.mu.Lock()
	r.collecting = false
	return r.unlockAndWrite(nil)
}

// unlockAndWrite writes what waits and then p. The lock is held before, and not after.
func (r *records) unlockAndWrite(p []byte) (err error) {
	for r.sending {
		r.written.Wait()
	}
	waiting, memory := r.waiting, r.memory
	r.waiting, r.memory = nil, nil
	r.sending = true
	r.mu.Unlock()
	if memory != nil {
		_, err = r.Conn.Write(waiting)
		memories.Put(memory)
	}
	if err == nil && len(p) > 0 {
		_, err = r.Conn.Write(p)
	}
	r.mu.Lock()
	r.sending = false
	r.written.Broadcast()
	r.mu.Unlock()
	return err
}

// Write sends or keeps p.
func (r *records) Write(p []byte) (n int, err error) {
	r.mu.Lock()
	switch {
	case !r.collecting:
		err = r.unlockAndWrite(p)
	case r.keep(p):
		err = r.unlockAndWrite(nil)
	default:
		r.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// keep collects p, and tells whether enough has come. The lock is held.
func (r *records) keep(p []byte) (enough bool) {
	if r.memory == nil {
		r.memory = memories.Get().(*[]byte)
		r.waiting = (*r.memory)[:0]
	}
	r.waiting = append(r.waiting, p...)
	return len(r.waiting) >= most
}
