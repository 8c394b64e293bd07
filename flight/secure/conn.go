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
	out := &records{Conn: raw}
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
type records struct {
	net.Conn

	mu         sync.Mutex
	collecting bool
	waiting    []byte
	memory     *[]byte // that what waits lies in
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
	defer r.mu.Unlock()
	r.collecting = false
	return r.flush()
}

func (r *records) flush() error {
	if r.memory == nil {
		return nil
	}
	_, err := r.Conn.Write(r.waiting)
	memories.Put(r.memory)
	r.memory, r.waiting = nil, nil
	return err
}

// Write sends or keeps p.
func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.collecting {
		if err := r.flush(); err != nil {
			return 0, err
		}
		return r.Conn.Write(p)
	}
	if r.memory == nil {
		r.memory = memories.Get().(*[]byte)
		r.waiting = (*r.memory)[:0]
	}
	r.waiting = append(r.waiting, p...)
	if len(r.waiting) < most {
		return len(p), nil
	}
	if err := r.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}
