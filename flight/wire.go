package flight

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/plan"
)

// Wire is the server's default form of reads.
type Wire string

// The defaults that a server may have. Auto sends stored bytes to clients that are known to read compressed IPC, and
// plain ones to all others.
const (
	WireAuto   Wire = "auto"
	WireNone   Wire = "none"
	WireStored Wire = "stored"
)

// acceptHeader is the request header by which a client lists the codecs it reads.
const acceptHeader = "flightcache-accept-codecs"

// stockMessageBytes is what stock Go, Rust and .NET clients take as one message.
const stockMessageBytes = batchstore.DefaultMaxMessage + batchstore.HeaderRoom

// dictionaryRoom is what a dictionary's message needs beside its body: a header of one column, and framing.
const dictionaryRoom = 4 << 10

// client is what a plan has to know of the caller, whose read goes out under these options.
func client(ctx context.Context, o batchstore.ReadOptions) plan.Client {
	md, _ := metadata.FromIncomingContext(ctx)
	return plan.Client{
		MaxMessage: max(o.MaxMessage-dictionaryRoom, 0), Plain: !o.Accept(compress.Zstd) && o.Encode == compress.None,
		DecodeDictionaries: hasAgent(md, "grpc-dotnet/"),
	}
}

// readOptions decides in which form a read goes out: the command's word first, then the request header, then the
// server's default.
func (s *Server) readOptions(ctx context.Context, c *descriptors.ReadCommand) batchstore.ReadOptions {
	md, _ := metadata.FromIncomingContext(ctx)
	arrowCPP := fromArrowCPP(md)
	var o batchstore.ReadOptions
	o.Encode = compress.None
	switch accepted, listed := acceptedCodecs(md); {
	case c.Wire == descriptors.WireNone:
		o.Accept = never
	case c.Wire == descriptors.WireStored:
		o.Accept = always
	case c.Wire == descriptors.WireZstd:
		o.Accept, o.Encode = only(compress.Zstd), compress.Zstd
	case c.Wire == descriptors.WireLZ4:
		o.Accept, o.Encode = only(compress.LZ4), compress.LZ4
	case listed:
		o.Accept = accepted
	case s.opts.Wire == WireStored, s.opts.Wire == WireAuto && arrowCPP:
		o.Accept = always
	default:
		o.Accept = never
	}
	o.MaxMessage = int64(c.MaxMessageBytes)
	if o.MaxMessage == 0 && !arrowCPP {
		o.MaxMessage = stockMessageBytes
	}
	return o
}

func always(compress.Codec) bool { return true }
func never(compress.Codec) bool  { return false }

func only(c compress.Codec) func(compress.Codec) bool {
	return func(d compress.Codec) bool { return c == d }
}

// fromArrowCPP tells whether the client is Arrow C++ (pyarrow, R and others built on it): gRPC C++ names itself first in
// the user agent. Arrow C++ always reads compressed IPC and sets no limit to a message.
func fromArrowCPP(md metadata.MD) bool { return hasAgent(md, "grpc-c++/") }

func hasAgent(md metadata.MD, prefix string) bool {
	for _, agent := range md.Get("user-agent") {
		if strings.HasPrefix(agent, prefix) {
			return true
		}
	}
	return false
}

// acceptedCodecs reads the header; listed says whether there is one. Names that are no codec are passed over: a client
// may read more than this server has.
func acceptedCodecs(md metadata.MD) (accept func(compress.Codec) bool, listed bool) {
	values := md.Get(acceptHeader)
	if len(values) == 0 {
		return nil, false
	}
	set := map[compress.Codec]bool{}
	for _, v := range values {
		for _, name := range strings.Split(v, ",") {
			if c, err := compress.ParseCodec(strings.ToLower(strings.TrimSpace(name))); err == nil {
				set[c] = true
			}
		}
	}
	return func(c compress.Codec) bool { return set[c] }, true
}
