package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/flight"
	"github.com/flightcache/flightcache/flight/secure"
)

// address is one --listen, parsed.
type address struct {
	uri           string // without options
	network, addr string
	tls           bool
	clients       secure.ClientAuth // of TLS; "": what --tls-client-auth says
	mode          os.FileMode       // of a socket's file; 0: what the umask leaves
}

// parseListen reads a URI to listen on.
func parseListen(uri string) (address, error) {
	fail := func(format string, args ...any) (address, error) {
		return address{}, fmt.Errorf("--listen %s: %w", uri, fmt.Errorf(format, args...))
	}
	plain, query, _ := strings.Cut(uri, "?")
	scheme, rest, ok := strings.Cut(plain, "://")
	if !ok {
		return fail("want grpc://HOST:PORT, grpc+tls://HOST:PORT or grpc+unix:///PATH")
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return fail("%w", err)
	}
	a := address{uri: plain, network: "tcp", addr: rest}
	option := ""
	switch scheme {
	case "grpc", "grpc+tcp", "grpc+tls":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return fail("%w", err)
		}
		if a.tls = scheme == "grpc+tls"; a.tls {
			option = "client-auth"
		}
	case "grpc+unix":
		if rest == "" {
			return fail("it names no path")
		}
		a.network, option = "unix", "mode"
	default:
		return fail("scheme %q; want grpc, grpc+tls or grpc+unix", scheme)
	}
	for key, values := range options {
		if key != option || len(values) != 1 {
			return fail("option %q: want none, or once client-auth of grpc+tls, or mode of grpc+unix", key)
		}
	}
	switch value := options.Get(option); {
	case value == "":
	case option == "mode":
		mode, err := strconv.ParseUint(value, 8, 32)
		if err != nil || mode == 0 || mode > 0o777 {
			return fail("mode %q; want octal digits, as 0660", value)
		}
		a.mode = os.FileMode(mode)
	default:
		a.clients = secure.ClientAuth(value)
	}
	return a, nil
}

// exposed tells what is wrong with an address beyond the loopback, where anyone who reaches it could read and write.
func (c *serveCmd) exposed(a address) error {
	host, _, _ := net.SplitHostPort(a.addr)
	switch {
	case c.Insecure || a.network == "unix" || isLoopback(host):
		return nil
	case !a.tls:
		return fmt.Errorf("--listen %s: beyond the loopback anyone could read what is sent. Listen on 127.0.0.1, or with TLS "+
			"(grpc+tls://), or give --insecure", a.uri)
	case c.secureOptions(a).ClientAuth != secure.ClientRequire && !c.identityOptions(nil).Any():
		return fmt.Errorf("--listen %s: beyond the loopback anyone could read and write. Listen on 127.0.0.1, or let clients show "+
			"who they are (--auth-tokens, --auth-passwords, --jwt-keys, --tls-client-auth require), or give --insecure", a.uri)
	}
	return nil
}

// warnOfStrangers says in the log what --insecure has opened.
func (c *serveCmd) warnOfStrangers(log *zap.Logger) {
	safe := *c
	safe.Insecure = false
	for _, uri := range c.Listen {
		if a, err := parseListen(uri); err == nil && safe.exposed(a) != nil {
			log.Warn("--insecure: whoever reaches this address may read and write everything, or read what is sent", zap.String("address", a.uri))
		}
	}
	if err := checkHTTP(c.HTTP, c.Pprof, false); err != nil {
		log.Warn("--insecure: whoever reaches this address may read the figures", zap.String("http", c.HTTP))
	}
}

// checkListen reports, all at once, what is wrong with the addresses.
func (c *serveCmd) checkListen() error {
	var errs []error
	encrypted := false
	for _, uri := range c.Listen {
		a, err := parseListen(uri)
		encrypted = encrypted || a.tls
		if err == nil {
			err = c.exposed(a)
		}
		if err == nil && a.tls {
			if wrong := c.secureOptions(a).Validate(); wrong != nil {
				err = fmt.Errorf("--listen %s: %w", uri, wrong)
			}
		}
		errs = append(errs, err)
	}
	if !encrypted && (c.TLSCert != "" || c.TLSKey != "" || c.TLSClientCA != "" || c.TLSClientAuth != string(secure.ClientNone)) {
		errs = append(errs, errors.New("--tls-cert, --tls-key, --tls-client-ca, --tls-client-auth: no address has TLS; "+
			"want one as --listen grpc+tls://127.0.0.1:8815"))
	}
	return errors.Join(errs...)
}

// secureOptions are those of TLS at an address.
func (c *serveCmd) secureOptions(a address) secure.Options {
	return secure.Options{
		CertFile: c.TLSCert, KeyFile: c.TLSKey, ClientCAFile: c.TLSClientCA, ClientAuth: cmp.Or(a.clients, secure.ClientAuth(c.TLSClientAuth)),
	}
}

// isLoopback tells whether a host is this machine only. The empty host is every interface.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listen opens the addresses of the listeners, which stay the caller's. The error has all that cannot be opened.
func (c *serveCmd) listen(listeners []*flight.Listener) error {
	var errs []error
	for i, uri := range c.Listen {
		a, err := parseListen(uri)
		l := listeners[i]
		if err == nil {
			if l.Listener, err = a.open(); err == nil {
				l.Name = a.name(l.Listener)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// closeAll closes listeners, which may be closed already, and lets go of their files.
func closeAll(listeners []*flight.Listener) {
	for _, l := range listeners {
		if l.Listener != nil {
			l.Close()
		}
		if l.TLS != nil {
			l.TLS.Close()
		}
	}
}

// openTLS reads the files of TLS, and logs what they say, now and when they change.
func (c *serveCmd) openTLS(a address, log *zap.Logger) (*secure.Files, error) {
	o := c.secureOptions(a)
	log = log.With(zap.String("address", a.uri))
	tell := func(line string, i *secure.Identity) {
		level := zap.InfoLevel
		if i.Expired(time.Now()) {
			level, line = zap.WarnLevel, line+", which has expired"
		}
		log.Log(level, line, zap.String("subject", i.Subject), zap.Strings("names", i.Names), zap.Time("expires", i.Expires),
			zap.String("clients", string(o.ClientAuth)))
	}
	o.Changed = func(i *secure.Identity) { tell("TLS: new connections get another certificate", i) }
	o.Failed = func(err error) {
		log.Error("TLS: the files have changed but are of no use; what was read before stays", zap.Error(err))
	}
	f, err := secure.Open(o)
	if err != nil {
		return nil, err
	}
	tell("TLS: certificate", f.Get())
	return f, nil
}

// open listens.
func (a address) open() (net.Listener, error) {
	if a.network == "unix" {
		if err := removeStaleSocket(a.addr); err != nil {
			return nil, err
		}
	}
	listen := func() (net.Listener, error) { return net.Listen(a.network, a.addr) }
	if a.mode != 0 {
		listen = func() (net.Listener, error) { return listenMode(a.addr, a.mode) }
	}
	l, err := listen()
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", a.uri, err)
	}
	return l, nil
}

// listenMode listens on a socket whose file never has more rights than its mode.
func listenMode(path string, mode os.FileMode) (net.Listener, error) {
	restore := privateUmask()
	l, err := net.Listen("unix", path)
	restore()
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// removeStaleSocket clears the socket file of a server that is gone; one that answers is in use.
func removeStaleSocket(path string) error {
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("--listen grpc+unix://%s: another server listens there", path)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("--listen grpc+unix://%s: a file that is no socket is there", path)
	}
	return os.Remove(path)
}

// name is an address as clients give it, of what listens there.
func (a address) name(l net.Listener) string {
	scheme, _, _ := strings.Cut(a.uri, "://")
	if scheme == "grpc+tcp" {
		scheme = "grpc"
	}
	return scheme + "://" + l.Addr().String()
}
