package flight

import (
	"context"
	"errors"
	"io"
	"net"

	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"

	"github.com/flightcache/flightcache/flight/gather"
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
	"github.com/flightcache/flightcache/flight/secure"
)

// Listener is a listener whose connections are secured in a way of their own. One that is none of these encrypts nothing.
type Listener struct {
	net.Listener
	Name string // in the log
	// TLS is what encrypts; nil: nothing does. It stays the caller's, who closes it after the server has stopped.
	TLS *secure.Files
}

// listened is a connection of a listener.
type listened struct {
	net.Conn
	of    *Listener
	place *limits.Place // nil: none yet
}

// Close closes it where gRPC could make nothing of it.
func (l *listened) Close() error {
	if l.place != nil {
		l.place.Leave()
	}
	return l.Conn.Close()
}

// placed is a connection that has a place until it is closed.
type placed struct {
	net.Conn
	place *limits.Place
}

// Close closes the connection and leaves its place.
func (p placed) Close() error {
	err := p.Conn.Close()
	p.place.Leave()
	return err
}

// Accept gives the next connection, which knows its listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &listened{Conn: c, of: l}, nil
}

// handshakes are gRPC's credentials: they make each connection a counted one, behind what encrypts it.
type handshakes struct{ s *Server }

// ServerHandshake makes a connection of what a listener has accepted. What goes wrong is logged here, as gRPC tells nobody.
func (h handshakes) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	from := &Listener{Name: raw.LocalAddr().String()}
	c, ok := raw.(*listened)
	if ok {
		raw, from = c.Conn, c.of
	}
	log := h.s.opts.Log.With(zap.String("address", from.Name), zap.Stringer("peer", raw.RemoteAddr()))
	place, err := h.s.places.Enter(raw)
	if err != nil {
		h.s.strangers.tell(log, "a client was turned away", zap.Error(err))
		return nil, nil, err
	}
	if ok {
		c.place = place
	}
	if from.TLS == nil {
		counted, info := h.count(raw, nil, place)
		return &greeting{Conn: counted, tls: func() {
			h.s.strangers.tell(log, "a client with TLS came to an address without; it must use grpc://, or the server grpc+tls://")
		}}, info, nil
	}
	buffered := h.s.intake.Buffered(raw)
	conn, err := from.TLS.Server(buffered)
	if err != nil {
		_ = buffered.Close()
		place.Leave()
		switch {
		case errors.Is(err, secure.ErrPlaintext):
			h.s.strangers.tell(log, "a client without TLS came to an address with TLS; it must use grpc+tls://")
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
			log.Debug("a connection ended before its handshake", zap.Error(err))
		default:
			h.s.strangers.tell(log, "a client was turned away", zap.Error(err))
		}
		return nil, nil, err
	}
	counted, info := h.count(conn, credentials.TLSInfo{
		State:          conn.ConnectionState(),
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, place)
	return counted, info, nil
}

// count makes a counted connection, which has the place until it is closed.
func (h handshakes) count(conn net.Conn, info credentials.AuthInfo, place *limits.Place) (net.Conn, credentials.AuthInfo) {
	var counted *intake.Conn
	out := gather.New(conn, gather.Options{
		Stays: h.s.store.Stays, Took: h.s.intake.Took,
		FrameLimit: func() int { return counted.FrameLimit() },
	})
	counted = h.s.intake.Conn(conn, out)
	if info == nil {
		info = plain{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}
	}
	return placed{counted, place}, countedInfo{info, counted, out, place}
}

// ClientHandshake is not for servers.
func (handshakes) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are the credentials of a server")
}

// Info says what gRPC is to call it.
func (handshakes) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "by listener"}
}

// Clone is itself: there is nothing in it that changes.
func (h handshakes) Clone() credentials.TransportCredentials { return h }

// OverrideServerName is for clients.
func (handshakes) OverrideServerName(string) error { return nil }

// plain is what is known of a connection that nothing encrypts.
type plain struct{ credentials.CommonAuthInfo }

// AuthType is gRPC's word for it.
func (plain) AuthType() string { return "insecure" }
