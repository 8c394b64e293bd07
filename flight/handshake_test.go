package flight

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/flightcache/flightcache/flight/secure"
	"github.com/flightcache/flightcache/flight/secure/securetest"
)

// certified is a server with TLS, and the folder of its files.
func certified(t *testing.T, a *securetest.Authority, clients secure.ClientAuth) (f *fixture, folder string) {
	t.Helper()
	folder = t.TempDir()
	cert, key := a.Issue(t, "server")
	files, err := secure.Open(secure.Options{
		CertFile: securetest.Write(t, folder, "cert.pem", cert), KeyFile: securetest.Write(t, folder, "key.pem", key),
		ClientCAFile: securetest.Write(t, folder, "ca.pem", a.PEM), ClientAuth: clients,
	})
	if err != nil {
		t.Fatal(err)
	}
	files.Close() // tests look themselves
	f = start(t, func(s *setup) { s.tls = files })
	f.tls = files
	return f, folder
}

// encrypted connects a client with TLS.
func (f *fixture) encrypted(config *tls.Config) arrowflight.FlightServiceClient {
	return arrowflight.NewFlightServiceClient(f.dial(grpc.WithTransportCredentials(credentials.NewTLS(config))))
}

// The certificate, its signer and that of the clients change while a get runs: it ends well, and new connections have the new.
func TestRotationAmidAGet(t *testing.T) {
	first, second := securetest.New(t, "first"), securetest.New(t, "second")
	f, folder := certified(t, first, secure.ClientRequire)
	f.client = f.encrypted(first.Client(t, "client"))
	tb := noise(repeat(40, 100_000)...)
	f.put(byCommand(`{"dataset":"d","batching":"keep"}`), tb)

	stream, err := f.client.DoGet(f.context(), &arrowflight.Ticket{Ticket: []byte("d")})
	if err != nil {
		t.Fatal(err)
	}
	var got messages
	for range 3 {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	cert, key := second.Issue(t, "server")
	securetest.Write(t, folder, "cert.pem", cert)
	securetest.Write(t, folder, "key.pem", key)
	securetest.Write(t, folder, "ca.pem", second.PEM)
	f.tls.Look()
	if _, err := read(f.context(), f.encrypted(second.Client(t, "client")), "d"); err != nil {
		t.Errorf("a new client with the new certificates: %v", err)
	}
	_, err = read(f.context(), f.encrypted(first.Client(t, "client")), "d")
	wantStatus(t, err, codes.Unavailable, "certificate")
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	sameTable(t, tableOf(t, got), tb)
	if _, err := read(f.context(), f.client, "d"); err != nil {
		t.Errorf("another call over the old connection: %v", err)
	}
}

// lines are those of the log that have a part.
func (f *fixture) lines(part string) (n int) {
	for _, e := range f.logs.All() {
		if strings.Contains(e.Message, part) {
			n++
		}
	}
	return n
}

func TestStrangersAreLogged(t *testing.T) {
	a := securetest.New(t, "ours")
	f, _ := certified(t, a, secure.ClientRequire)
	once := func(what, part string, call func()) {
		t.Helper()
		before := f.logs.FilterLevelExact(zap.WarnLevel).Len() // warnings
		call()
		f.eventually(what, func() bool { return f.lines(part) == 1 })
		if n := f.logs.FilterLevelExact(zap.WarnLevel).Len() - before; n != 1 {
			t.Errorf("%s: %d lines", what, n)
		}
	}
	talk := func(address, text string) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if text == "" {
			return
		}
		c.Write([]byte(text))
		c.SetReadDeadline(time.Now().Add(patience))
		io.Copy(io.Discard, c) // until the server closes
	}
	once("HTTP/2 without TLS", "without TLS came to an address with TLS", func() { talk(f.address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") })
	once("no certificate", "a client was turned away", func() {
		c, err := tls.Dial("tcp", f.address, a.Client(t, ""))
		if err == nil {
			c.SetReadDeadline(time.Now().Add(patience))
			c.Read(make([]byte, 1))
			c.Close()
		}
	})
	talk(f.address, "")
	f.eventually("nothing was said", func() bool { return f.lines("ended before its handshake") == 1 })

	p := start(t)
	f = p
	once("TLS without TLS", "with TLS came to an address without", func() {
		if _, err := tls.Dial("tcp", p.address, a.Client(t, "")); err == nil {
			t.Error("a handshake with a server without TLS")
		}
	})
	conn := p.dial(grpc.WithTransportCredentials(insecure.NewCredentials()))
	if _, err := arrowflight.NewFlightServiceClient(conn).ListActions(p.context(), &arrowflight.Empty{}); err != nil {
		t.Error(err)
	}
}

// Connections with TLS that say nothing hold no buffers of ours, and give back those that they held.
func TestIdleConnectionsWithTLS(t *testing.T) {
	a := securetest.New(t, "ours")
	f, _ := certified(t, a, secure.ClientNone)
	f.client = f.encrypted(a.Client(t, ""))
	tb := noise(repeat(8, 100_000)...)
	f.put(byPath("d"), tb)
	sameTable(t, tableOf(t, f.get("d")), tb)
	for range 50 {
		c, err := tls.Dial("tcp", f.address, a.Client(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	}
	f.eventually("no buffers are held", func() bool { return f.server.intake.Stats().Buffers == 0 })
}

func TestSparing(t *testing.T) {
	f := start(t)
	var s sparing
	for range 3 * sparingBurst {
		s.tell(f.server.opts.Log, "knock")
	}
	if n := f.lines("knock"); n < sparingBurst || n > sparingBurst+2 {
		t.Errorf("%d lines", n)
	}
	s.since = time.Now().Add(-sparingEvery)
	s.left = 0
	s.tell(f.server.opts.Log, "again")
	last := f.logs.FilterMessage("again").All()
	if len(last) != 1 || last[0].ContextMap()["omitted"] == nil {
		t.Errorf("%v", last)
	}
}
