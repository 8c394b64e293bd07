package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// What callers of a site may do. Who is known and has no role may do nothing.
const siteRules = `
roles:
  reader: {read: ["sales/**"]}
  other: {admin: ["else/**"]}
  good: {admin: ["**"]}
callers: {reader: [reader], other: [other], good: [good], alice: [reader]}
`

// site is a server with TLS that knows its callers, and the files that it knows them by.
type site struct {
	*testing.T
	folder, address string
	stop            func()            // asks the server to end
	tokens          map[string]string // by the callers' names
}

// startSite makes a site and starts its server.
func startSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.serve()
	return s
}

// newSite makes the files of a server that knows reader, other and good by tokens and alice by the password pw, and takes signed
// tokens.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, folder: t.TempDir(), tokens: map[string]string{}}
	s.run("", certificates, s.folder, "server", "client")
	var lines strings.Builder
	for _, name := range []string{"reader", "other", "good"} {
		token, line := s.run("", binary, "secret", "token", name)
		s.tokens[name] = strings.TrimSpace(token)
		lines.WriteString(line)
	}
	password, _ := s.run("pw\n", binary, "secret", "password", "alice")
	key, _ := s.run("", binary, "secret", "key")
	s.write("tokens", lines.String())
	s.write("passwords", password)
	s.write("key", key)
	s.write("rules", siteRules)
	return s
}

// serve starts the server.
func (s *site) serve(flags ...string) {
	s.Helper()
	s.address, s.stop = startStoppable(s.T, "grpc+tls://127.0.0.1:0", append([]string{
		"--tls-cert", s.path("server.pem"), "--tls-key", s.path("server.key"), "--auth-tokens", s.path("tokens"),
		"--auth-passwords", s.path("passwords"), "--auth-key", s.path("key"), "--permissions", s.path("rules"),
	}, flags...)...)
}

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// run runs a program to its end, and gives what it wrote to both of its outputs.
func (s *site) run(stdin, program string, arguments ...string) (stdout, stderr string) {
	s.Helper()
	c := exec.Command(program, arguments...)
	var out, err strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &err
	if e := c.Run(); e != nil {
		s.Fatalf("%s %q: %v: %s", program, arguments, e, err.String())
	}
	return out.String(), err.String()
}

// trust is the client's side of TLS.
func (s *site) trust() *tls.Config {
	s.Helper()
	text, err := os.ReadFile(s.path("ca.pem"))
	if err != nil {
		s.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
}

// dial makes a connection that is closed with the test.
func (s *site) dial() *grpc.ClientConn {
	s.Helper()
	c, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(s.trust())))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	return c
}

// dialRaw makes a connection of which the test sees each frame.
func (s *site) dialRaw() *rawConn {
	s.Helper()
	c, err := tls.Dial("tcp", s.address, s.trust())
	if err != nil {
		s.Fatal(err)
	}
	return rawOver(s.T, c)
}

// header is a context whose calls have authorization headers of these values.
func header(ctx context.Context, values ...string) context.Context {
	for _, v := range values {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", v)
	}
	return ctx
}

// as is a context of a caller's calls.
func (s *site) as(caller string) context.Context {
	return header(s.Context(), "Bearer "+s.tokens[caller])
}

// call makes a call of Flight's, sends the messages, and reads what comes to its end.
func call(ctx context.Context, c *grpc.ClientConn, method string, messages ...proto.Message) (answers []*emptypb.Empty, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/arrow.flight.protocol.FlightService/"+method)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if err := stream.SendMsg(m); err != nil {
			break // the next receive says why
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	for {
		answer := &emptypb.Empty{} // with what it does not know: the whole message
		err := stream.RecvMsg(answer)
		if errors.Is(err, io.EOF) {
			return answers, nil
		}
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
}

// answered reads an answer of call as what it is.
func answered[T proto.Message](t *testing.T, answer *emptypb.Empty, into T) T {
	t.Helper()
	if err := proto.Unmarshal(answer.ProtoReflect().GetUnknown(), into); err != nil {
		t.Fatal(err)
	}
	return into
}
