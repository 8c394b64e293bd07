package flight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/flight/limits"
)

// Bounds are limits of what clients may have of a [Server]. A zero field means its default; where a field says so, a negative one
// means none.
type Bounds struct {
	Connections int // open at once; default 16,000, negative: any number
	Streams     int // calls at once on one connection; default 1,000: clients wait with further ones, as HTTP/2 has it
	HeaderBytes int // of the headers of one call; default 64 KiB

	// Gets and Puts are how many may run at once for one caller, and Rate is how many calls it may make a second, as many of
	// which may come at once. A caller is a name where callers are known, else an address without its port, and all who come by
	// a socket. Defaults 1,000, 1,000 and none; negative: none.
	Gets, Puts int
	Rate       float64

	// Fields (children included), Depth (their nesting) and MetadataBytes bound the schemas of puts; defaults, and the most,
	// are those of arrowipc.Limits.
	Fields, Depth, MetadataBytes int

	// PutIdle is how long a call may wait for its client's next message, default 5 minutes; GetIdle is how long a reader may
	// take for one message, default an hour, and half a minute where memory is short that the read holds. Negative: for ever.
	PutIdle, GetIdle time.Duration

	pressed time.Duration // GetIdle of a read that holds memory while it is short; default pressedIdle
	linger  time.Duration // see Server.linger; default lingerTime, or GetIdle where that is less
}

// Defaults of [Bounds].
const (
	DefaultConnections = 16_000
	DefaultStreams     = 1000
	DefaultHeaderBytes = 64 << 10
	DefaultGets        = 1000
	DefaultPuts        = 1000
	DefaultPutIdle     = 5 * time.Minute
	DefaultGetIdle     = time.Hour
)

func (b Bounds) withDefaults() Bounds {
	b.Connections = cmp.Or(b.Connections, DefaultConnections)
	b.Streams = cmp.Or(b.Streams, DefaultStreams)
	b.HeaderBytes = cmp.Or(b.HeaderBytes, DefaultHeaderBytes)
	b.Gets = cmp.Or(b.Gets, DefaultGets)
	b.Puts = cmp.Or(b.Puts, DefaultPuts)
	b.Fields = cmp.Or(b.Fields, arrowipc.DefaultFields)
	b.Depth = cmp.Or(b.Depth, arrowipc.DefaultDepth)
	b.MetadataBytes = cmp.Or(b.MetadataBytes, arrowipc.DefaultMetadataBytes)
	b.PutIdle = cmp.Or(b.PutIdle, DefaultPutIdle)
	b.GetIdle = cmp.Or(b.GetIdle, DefaultGetIdle)
	b.pressed = cmp.Or(b.pressed, pressedIdle)
	b.linger = cmp.Or(b.linger, min(lingerTime, b.GetIdle))
	return b
}

// Validate reports every field that is out of its range.
func (b Bounds) Validate() error {
	var errs []error
	check := func(option string, n, least, most int) {
		if n != 0 && (n < least || n > most) {
			errs = append(errs, fmt.Errorf("%d: want %d to %d (option --%s)", n, least, most, option))
		}
	}
	check("max-streams", b.Streams, 1, 1<<20)
	check("max-headers", b.HeaderBytes, 4<<10, 16<<20)
	check("max-columns", b.Fields, 1, arrowipc.DefaultFields)
	check("max-nesting", b.Depth, 1, arrowipc.DefaultDepth)
	check("max-metadata", b.MetadataBytes, 1, arrowipc.DefaultMetadataBytes)
	return errors.Join(errs...)
}

// callers are the limits of one caller. The fields have their defaults.
func (b Bounds) callers() limits.CallerOptions {
	return limits.CallerOptions{Gets: max(b.Gets, 0), Puts: max(b.Puts, 0), Rate: max(b.Rate, 0)}
}

// schema are the limits of a put's messages.
func (b Bounds) schema() arrowipc.Limits {
	return arrowipc.Limits{Fields: b.Fields, Depth: b.Depth, MetadataBytes: b.MetadataBytes}.WithDefaults()
}

// withOption names the option of the limit that a message is over.
func withOption(err error) error {
	for _, x := range []struct {
		limit  error
		option string
	}{{arrowipc.ErrFields, "max-columns"}, {arrowipc.ErrDepth, "max-nesting"}, {arrowipc.ErrMetadata, "max-metadata"}} {
		if errors.Is(err, x.limit) {
			return fmt.Errorf("%w (option --%s)", err, x.option)
		}
	}
	return err
}

// admit lets a call in: its connection is within the limit, it is known who calls, and the caller may call once more. The call
// leaves when it has ended.
func (s *Server) admit(ctx context.Context, c *call, method string) (leave func(), err error) {
	if open(method) {
		return func() {}, nil
	}
	if err := connectionOf(ctx).place.Over(); err != nil {
		return nil, err
	}
	if err := s.identify(ctx, c, method); err != nil {
		return nil, err
	}
	kind := limits.Other
	switch method {
	case methodDoGet:
		kind = limits.Get
	case methodDoPut:
		kind = limits.Put
	}
	by := who(ctx, c)
	if leave, err = s.callers.Begin(by, kind); err == nil {
		c.who = by
	}
	return leave, err
}

// who is a caller as limits count it, in words.
func who(ctx context.Context, c *call) string {
	if c.caller != nil {
		return fmt.Sprintf("caller %q", c.caller.Name)
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "a caller without an address"
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return "the callers by the socket"
	}
	return "address " + host
}
