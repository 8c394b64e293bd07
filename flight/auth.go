package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/flight/identity"
	"github.com/flightcache/flightcache/flight/permissions"
)

// Headers of a call that show who calls: the second is that of clients that use the older handshake.
const (
	headerAuthorization = "authorization"
	headerToken         = "auth-token-bin"
)

// methodHandshake is the call by which a client logs in.
const methodHandshake = "/arrow.flight.protocol.FlightService/Handshake"

// errDenied: a caller may see a dataset, and may not do what it asks with it.
var errDenied = errors.New("not permitted")

// open tells whether a call is for anyone: whether the server lives, which probes ask without credentials, and which services
// it has.
func open(method string) bool {
	return strings.HasPrefix(method, "/grpc.health.v1.") || strings.HasPrefix(method, "/grpc.reflection.")
}

// identify tells who calls, and answers a password with a token in the response's header. It is the first that is done with
// a call, whatever the call is.
func (s *Server) identify(ctx context.Context, c *call, method string) error {
	if s.opts.Identity == nil || open(method) || method == methodHandshake {
		return nil
	}
	token, err := s.known(ctx, c, shown(ctx))
	if err != nil || token == "" {
		return err
	}
	return grpc.SetHeader(ctx, bearer(token))
}

// known notes who calls. The token is the answer to a password, or "".
func (s *Server) known(ctx context.Context, c *call, what identity.Shown) (token string, err error) {
	caller, token, err := s.opts.Identity.Identify(ctx, what)
	if err != nil {
		c.reason = identity.Reason(err)
		return "", err
	}
	c.caller = &caller
	return token, nil
}

// shown is what a call and its connection show.
func shown(ctx context.Context) (out identity.Shown) {
	headers, _ := metadata.FromIncomingContext(ctx)
	out.Authorization, out.Tokens = headers.Get(headerAuthorization), headers.Get(headerToken)
	p, ok := peer.FromContext(ctx)
	if !ok {
		return out
	}
	out.From = p.Addr.String()
	if host, _, err := net.SplitHostPort(out.From); err == nil {
		out.From = host
	}
	if info, ok := p.AuthInfo.(countedInfo); ok {
		if t, ok := info.AuthInfo.(credentials.TLSInfo); ok && len(t.State.VerifiedChains) > 0 {
			out.Certificate = t.State.VerifiedChains[0][0]
		}
	}
	return out
}

func bearer(token string) metadata.MD { return metadata.Pairs(headerAuthorization, "Bearer "+token) }

// Handshake logs a client in: by the header of the call, which is answered at once, as some clients wait for the answer before
// they end their side; or by a BasicAuth in the first message. The token is in the response's header, and of the second form in
// the payload too.
func (s *Server) Handshake(stream arrowflight.FlightService_HandshakeServer) error {
	if s.opts.Identity == nil {
		return fmt.Errorf("%w: Handshake; there is no authentication to shake hands for", errUnsupported)
	}
	ctx := stream.Context()
	c, what := callOf(ctx), shown(ctx)
	if len(what.Authorization) > 0 || len(what.Tokens) > 0 {
		token, err := s.known(ctx, c, what)
		if err != nil {
			return err
		}
		if token == "" { // what was shown is a token already
			if _, token, _ = strings.Cut(what.Authorization[0], " "); token == "" {
				token = what.Tokens[0]
			}
		}
		if err := stream.SendHeader(bearer(strings.TrimSpace(token))); err != nil {
			return err
		}
		return stream.Send(&arrowflight.HandshakeResponse{})
	}
	request, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		c.reason = "a handshake that shows nothing"
		return identity.ErrUnauthenticated
	}
	if err != nil {
		return err
	}
	var login arrowflight.BasicAuth
	if err := proto.Unmarshal(request.GetPayload(), &login); err != nil {
		login.Reset() // no user
	}
	caller, token, err := s.opts.Identity.Login(ctx, login.GetUsername(), login.GetPassword(), what.From)
	if err != nil {
		c.reason = identity.Reason(err)
		return err
	}
	c.caller = &caller
	if err := stream.SendHeader(bearer(token)); err != nil {
		return err
	}
	return stream.Send(&arrowflight.HandshakeResponse{ProtocolVersion: request.GetProtocolVersion(), Payload: []byte(token)})
}

// may tells whether the caller has a right on a dataset. Where it may not even see the dataset, the error is that of one that
// is not there, whether it is or not; only who would put something learns that it may not.
func (s *Server) may(c *call, right permissions.Right, dataset string) error {
	if s.allows(c, right, dataset) {
		return nil
	}
	c.denied = right.String()
	if right > permissions.Read && s.allows(c, permissions.Read, dataset) {
		return s.denied(c, right, dataset)
	}
	return fmt.Errorf("%w: %q", catalog.ErrNotFound, dataset)
}

// mayPut is may of who would put something: it is told that it may not, whatever is there.
func (s *Server) mayPut(c *call, dataset string) error {
	if s.allows(c, permissions.Write, dataset) {
		return nil
	}
	c.denied = permissions.Write.String()
	return s.denied(c, permissions.Write, dataset)
}

// mayPutAny tells whether the caller may put anything at all.
func (s *Server) mayPutAny(c *call) error {
	if s.opts.Permissions == nil || c.caller != nil && s.opts.Permissions.Get().AllowAny(c.caller.Name, c.caller.Roles, permissions.Write) {
		return nil
	}
	c.denied = permissions.Write.String()
	return fmt.Errorf("%w: %q may not %s any dataset", errDenied, c.caller.Name, permissions.Write)
}

func (s *Server) denied(c *call, right permissions.Right, dataset string) error {
	return fmt.Errorf("%w: %q may not %s dataset %q", errDenied, c.caller.Name, right, dataset)
}

func (s *Server) allows(c *call, right permissions.Right, dataset string) bool {
	if s.opts.Permissions == nil {
		return true
	}
	return c.caller != nil && s.opts.Permissions.Get().Allow(c.caller.Name, c.caller.Roles, right, dataset)
}

// mayAll tells whether the caller has a right on all datasets, whatever their names.
func (s *Server) mayAll(c *call, right permissions.Right) error {
	if s.opts.Permissions == nil || c.caller != nil && s.opts.Permissions.Get().AllowAll(c.caller.Name, c.caller.Roles, right) {
		return nil
	}
	c.denied = right.String()
	return fmt.Errorf("%w: %q may not %s all datasets", errDenied, c.caller.Name, right)
}
