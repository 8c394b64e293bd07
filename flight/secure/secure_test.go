package secure

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flightcache/flightcache/flight/secure/securetest"
)

// files are those of one server in a folder.
func files(t *testing.T, folder string, a *securetest.Authority, name string) Options {
	t.Helper()
	cert, key := a.Issue(t, name)
	return Options{
		CertFile: securetest.Write(t, folder, "cert.pem", cert), KeyFile: securetest.Write(t, folder, "key.pem", key),
		ClientCAFile: securetest.Write(t, folder, "ca.pem", a.PEM),
	}
}

func open(t *testing.T, o Options) *Files {
	t.Helper()
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// pair gives both ends of a TCP connection, which are closed with the test.
func pair(t *testing.T) (raw, accepted net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close(); accepted.Close() })
	return raw, accepted
}

// meet has a client and the server shake hands over TCP. Both ends are closed with the test.
func meet(t *testing.T, f *Files, config *tls.Config) (server *Conn, client *tls.Conn, serverErr, clientErr error) {
	t.Helper()
	raw, accepted := pair(t)
	client = tls.Client(raw, config)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if server, serverErr = f.Server(accepted); serverErr != nil {
			accepted.Close()
		}
	}()
	if clientErr = client.Handshake(); clientErr != nil {
		raw.Close()
	}
	<-done
	return server, client, serverErr, clientErr
}

func TestClientCertificates(t *testing.T) {
	ours, others := securetest.New(t, "ours"), securetest.New(t, "others")
	stranger := others.Client(t, "stranger")
	stranger.RootCAs = ours.Pool()
	// A client leaves out a certificate of which the server does not know the signer. This one does not.
	stranger.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stranger.Certificates[0], nil }
	for _, c := range []struct {
		auth                 ClientAuth
		none, good, stranger bool
	}{
		{"", true, true, true}, {ClientNone, true, true, true}, {ClientRequest, true, true, false}, {ClientRequire, false, true, false},
	} {
		o := files(t, t.TempDir(), ours, "server")
		o.ClientAuth = c.auth
		f := open(t, o)
		for name, x := range map[string]struct {
			config *tls.Config
			works  bool
		}{"none": {ours.Client(t, ""), c.none}, "good": {ours.Client(t, "client"), c.good}, "stranger": {stranger, c.stranger}} {
			server, _, err, _ := meet(t, f, x.config)
			if (err == nil) != x.works {
				t.Errorf("%q, %s: %v", c.auth, name, err)
			}
			if missing := c.auth == ClientRequire && name == "none"; errors.Is(err, ErrNoCertificate) != missing {
				t.Errorf("%q, %s: the reason is %v", c.auth, name, err)
			}
			if err == nil && name == "good" {
				known := len(server.ConnectionState().VerifiedChains) > 0
				if asked := c.auth == ClientRequest || c.auth == ClientRequire; known != asked {
					t.Errorf("%q: the client is known: %t", c.auth, known)
				}
			}
		}
	}
}

func TestVersionsAndProtocol(t *testing.T) {
	a := securetest.New(t, "ours")
	f := open(t, files(t, t.TempDir(), a, "server"))
	old := a.Client(t, "")
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, _, err, _ := meet(t, f, old); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("TLS 1.1: %v", err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		now := a.Client(t, "")
		now.MaxVersion = version
		server, _, err, _ := meet(t, f, now)
		if err != nil || server.ConnectionState().Version != version {
			t.Errorf("version %x: %v", version, err)
		}
	}
	without := a.Client(t, "")
	without.NextProtos = nil
	if _, _, err, _ := meet(t, f, without); err == nil || !strings.Contains(err.Error(), "ALPN") {
		t.Errorf("without ALPN: %v", err)
	}
}

func TestPlaintextIsTold(t *testing.T) {
	f := open(t, files(t, t.TempDir(), securetest.New(t, "ours"), "server"))
	for text, plain := range map[string]bool{
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": true, "GET / HTTP/1.1\r\n\r\n": true, "POST /x HTTP/1.1\r\n\r\n": true,
		"\x00\x01\x02\x03\x04\x05\x06": false, "SSH-2.0-x": false,
	} {
		client, server := net.Pipe()
		go func() {
			client.Write([]byte(text))
			io.Copy(io.Discard, client)
		}()
		_, err := f.Server(server)
		if err == nil || errors.Is(err, ErrPlaintext) != plain {
			t.Errorf("%q: %v", text, err)
		}
		client.Close()
		server.Close()
	}
}

// New connections get the new certificate, and those that are there go on. Files that do not fit change nothing.
func TestRotation(t *testing.T) {
	folder, a, b := t.TempDir(), securetest.New(t, "a"), securetest.New(t, "b")
	o := files(t, folder, a, "first")
	o.ClientAuth = ClientRequire
	var changed, failed []string
	o.Changed = func(i *Identity) { changed = append(changed, i.Subject) }
	o.Failed = func(err error) { failed = append(failed, err.Error()) }
	f := open(t, o)
	server, client, err, _ := meet(t, f, a.Client(t, "client"))
	if err != nil {
		t.Fatal(err)
	}

	cert, key := b.Issue(t, "second")
	securetest.Write(t, folder, "cert.pem", cert)
	f.Look()
	if len(failed) != 1 || !strings.Contains(failed[0], o.CertFile) || !strings.Contains(failed[0], "private key does not match") {
		t.Errorf("a certificate without its key failed as %q", failed)
	}
	if _, _, err, _ := meet(t, f, a.Client(t, "client")); err != nil {
		t.Errorf("with the old certificate: %v", err)
	}
	securetest.Write(t, folder, "key.pem", key)
	securetest.Write(t, folder, "ca.pem", b.PEM)
	f.Look()
	if !slices.Equal(changed, []string{"CN=second,O=Flights"}) {
		t.Errorf("changed: %q", changed)
	}
	if _, _, err, _ := meet(t, f, b.Client(t, "client")); err != nil {
		t.Errorf("with the new certificate: %v", err)
	}
	if _, _, _, err := meet(t, f, a.Client(t, "client")); err == nil {
		t.Error("a client of the old authority takes the new certificate")
	}
	old := a.Client(t, "client")
	old.RootCAs = b.Pool()
	if _, _, err, _ := meet(t, f, old); err == nil {
		t.Error("a client with a certificate of the old authority is taken")
	}

	go server.Write([]byte("still here"))
	got := make([]byte, 10)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "still here" {
		t.Errorf("over the old connection: %q, %v", got, err)
	}
}

func TestOpenTellsAll(t *testing.T) {
	_, err := Open(Options{ClientAuth: "maybe"})
	for _, want := range []string{"--tls-cert", "--tls-key", `"maybe": want none, request or require`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
	if _, err := Open(Options{CertFile: "c", KeyFile: "k", ClientAuth: ClientRequire}); err == nil || !strings.Contains(err.Error(), "--tls-client-ca") {
		t.Errorf("without an authority: %v", err)
	}
	a, folder := securetest.New(t, "a"), t.TempDir()
	o := files(t, folder, a, "server")
	securetest.Write(t, folder, "ca.pem", []byte("no PEM"))
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "ca.pem: there is no certificate") {
		t.Errorf("of an authority that is none: %v", err)
	}
	o.KeyFile = filepath.Join(folder, "absent")
	if _, err := Open(o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a missing key: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	a, folder := securetest.New(t, "a"), t.TempDir()
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	cert, key := a.Expiring(t, "old", at)
	i := open(t, Options{CertFile: securetest.Write(t, folder, "c", cert), KeyFile: securetest.Write(t, folder, "k", key)}).Get()
	if i.Subject != "CN=old,O=Flights" || !slices.Equal(i.Names, []string{"localhost", "127.0.0.1"}) || !i.Expires.Equal(at) {
		t.Errorf("%+v", i)
	}
	if !i.Expired(time.Now()) || i.Expired(at) {
		t.Error("when it has expired")
	}
}

// writes counts what reaches a connection.
type writes struct {
	net.Conn
	mu sync.Mutex
	n  int
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.n++
	w.mu.Unlock()
	return w.Conn.Write(p)
}

func (w *writes) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// A large write is few system calls, and its bytes are all there in order.
func TestRecordsGoTogether(t *testing.T) {
	a := securetest.New(t, "a")
	f := open(t, files(t, t.TempDir(), a, "server"))
	raw, accepted := pair(t)
	client, counted := tls.Client(raw, a.Client(t, "")), &writes{Conn: accepted}
	go client.Handshake()
	server, err := f.Server(counted)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	sent := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{1}).Read(sent)
	before := counted.count()
	go func() {
		server.Write(sent[:1<<20])
		server.Write(sent[1<<20:])
		server.Write(nil)
		server.CloseWrite()
	}()
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d of %d bytes came: %v", len(got), len(sent), err)
	}
	if n := counted.count() - before; n > 2*len(sent)/most+4 {
		t.Errorf("%d writes of %d bytes", n, len(sent))
	}
}

// gated is a connection that writes only when it may.
type gated struct {
	net.Conn
	began, may chan struct{}
	mu         sync.Mutex
	all        bytes.Buffer
}

func (g *gated) Write(p []byte) (int, error) {
	g.began <- struct{}{}
	<-g.may
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Write(p)
}

// While one writes to the connection nothing is locked: others may collect, and what they write comes behind it.
func TestRecordsAreNotLockedWhileTheyAreSent(t *testing.T) {
	g := &gated{began: make(chan struct{}, 10), may: make(chan struct{}, 10)}
	r := newRecords(g)
	write := func(s string) {
		if _, err := r.Write([]byte(s)); err != nil {
			t.Error(err)
		}
	}
	r.collect()
	write("a")
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.send(); err != nil {
			t.Error(err)
		}
	})
	<-g.began
	r.collect() // would wait for the lock
	write("b")
	wg.Go(func() {
		if err := r.send(); err != nil {
			t.Error(err)
		}
	})
	g.may <- struct{}{}
	<-g.began
	wg.Go(func() { write("c") }) // a reader's alert
	g.may <- struct{}{}
	<-g.began
	g.may <- struct{}{}
	wg.Wait()
	if got := g.all.String(); got != "abc" {
		t.Errorf("sent %q", got)
	}
}
