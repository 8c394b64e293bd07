package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// address is one --listen, parsed.
type address struct{ network, addr string }

// parseListen reads a URI to listen on. Beyond the loopback it must be asked for: there is neither TLS nor
// authentication.
func parseListen(uri string, insecure bool) (address, error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return address{}, fmt.Errorf("--listen %s: want grpc://HOST:PORT or grpc+unix:///PATH", uri)
	}
	switch scheme {
	case "grpc", "grpc+tcp":
		host, _, err := net.SplitHostPort(rest)
		if err != nil {
			return address{}, fmt.Errorf("--listen %s: %w", uri, err)
		}
		if !insecure && !isLoopback(host) {
			return address{}, fmt.Errorf("--listen %s: beyond the loopback anyone could read and write; there is no TLS and no "+
				"authentication yet. Listen on 127.0.0.1, or give --insecure", uri)
		}
		return address{"tcp", rest}, nil
	case "grpc+unix":
		if rest == "" {
			return address{}, fmt.Errorf("--listen %s: it names no path", uri)
		}
		return address{"unix", rest}, nil
	case "grpc+tls":
		return address{}, fmt.Errorf("--listen %s: TLS is not yet supported", uri)
	}
	return address{}, fmt.Errorf("--listen %s: scheme %q; want grpc or grpc+unix", uri, scheme)
}

// isLoopback tells whether a host is this machine only. The empty host is every interface.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listen opens all addresses, or none.
func listen(uris []string, insecure bool) (out []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range out {
				l.Close()
			}
		}
	}()
	for _, uri := range uris {
		a, err := parseListen(uri, insecure)
		if err != nil {
			return out, err
		}
		if a.network == "unix" {
			if err := removeStaleSocket(a.addr); err != nil {
				return out, err
			}
		}
		l, err := net.Listen(a.network, a.addr)
		if err != nil {
			return out, fmt.Errorf("--listen %s: %w", uri, err)
		}
		out = append(out, l)
	}
	return out, nil
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

// uriOf is the address of a listener as clients give it.
func uriOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "grpc+unix://" + l.Addr().String()
	}
	return "grpc://" + l.Addr().String()
}

// readiness is the content of the ready file.
type readiness struct {
	PID    int      `json:"pid"`
	Listen []string `json:"listen"`
	HTTP   string   `json:"http"` // "" if it is off
}

func writeReadyFile(path string, listeners []net.Listener, web string) error {
	r := readiness{PID: os.Getpid(), HTTP: web}
	for _, l := range listeners {
		r.Listen = append(r.Listen, uriOf(l))
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	beside := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(beside, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		os.Remove(beside)
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}

// newLogger logs to w.
func newLogger(w io.Writer, format, level string) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(config)
	if format == "console" {
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), l)), nil
}
