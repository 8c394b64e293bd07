package flight

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/identity"
	"github.com/flightcache/flightcache/flight/intake"
	"github.com/flightcache/flightcache/flight/limits"
	"github.com/flightcache/flightcache/flight/permissions"
)

// Options configures a [Server]. A zero field means its default.
type Options struct {
	Codec compress.Codec // of puts that name none; the zero value is LZ4, so set it
	// Encode is when the batches of puts that do not say are encoded; default now.
	Encode descriptors.Encode
	Wire   Wire // of reads that name none; default auto

	// MaxReceive is the most bytes of a received message, at most the store's budget; default 256 MiB, or the budget where
	// that is less.
	MaxReceive int
	// Eviction is what becomes of datasets when a put finds no memory; default reject.
	Eviction Eviction
	// Compact is whether small batches are joined without being asked for; default auto.
	Compact Compaction
	// DrainBytes and DrainTime bound how much of a put that was refused is still received, so that its client sees the
	// status and not a reset; defaults 64 MiB and 5 s.
	DrainBytes int64
	DrainTime  time.Duration

	// TransportBytes bounds what the transport may hold of messages that were not received as a whole or not taken yet, apart
	// from one message of MaxReceive; default 64 MiB, or a quarter of the store's budget where that is more.
	TransportBytes int64
	// MessageWait is the longest that a large message waits until the transport may hold it; default 10 s, negative: it never
	// waits.
	MessageWait time.Duration
	// StallTime is how long nothing may come of a message that has begun; default 30 s.
	StallTime time.Duration

	Bounds Bounds // of what clients may have
	// Quotas bound stored bytes; nil: nothing does. They are the catalogue's ledger too: see [LedgerOf].
	Quotas *limits.Quotas

	// LeaseTime is how long the generation that a FlightInfo counted stays readable, whatever becomes of its dataset;
	// default 60 s. A negative one takes no leases.
	LeaseTime time.Duration
	// TransactionTime is how long a transaction may take whose begin does not say; default 10 minutes.
	TransactionTime time.Duration

	// TicketKey seals opaque tickets; nil makes a random one, and tickets then die with the server.
	TicketKey *[descriptors.KeyBytes]byte

	// Identity tells who calls; nil: nobody is asked. It stays the caller's, who closes it after the gRPC server has stopped.
	Identity *identity.Authority
	// Permissions say what callers may do; nil: everything. They need Identity, and stay the caller's in the same way.
	Permissions *permissions.File

	Log *zap.Logger // one line a call; nil logs nothing
	// Audit gets a line for each call that changes datasets, or tries to, each login, and each call that is denied; nil: none.
	Audit *zap.Logger
	// Tracer makes a span for each call; nil: none.
	Tracer trace.Tracer
	// TracesAlone has each of them begin a trace of its own, whatever its client says (traceparent).
	TracesAlone bool
}

// Defaults of [Options].
const (
	DefaultMaxReceive = 256 << 20
	DefaultDrainBytes = 64 << 20
	DefaultDrainTime  = 5 * time.Second

	DefaultTransportBytes = 64 << 20 // at least
	DefaultMessageWait    = 10 * time.Second
	DefaultStallTime      = 30 * time.Second

	DefaultLeaseTime       = time.Minute
	DefaultTransactionTime = 10 * time.Minute
)

// framingRoom is what a message may have beside its body and still pass the receive limit: the limit is about the data.
const framingRoom = 1 << 20

func (o Options) withDefaults() Options {
	if o.Wire == "" {
		o.Wire = WireAuto
	}
	if o.MaxReceive == 0 {
		o.MaxReceive = DefaultMaxReceive
	}
	if o.Encode == "" {
		o.Encode = descriptors.EncodeNow
	}
	if o.Eviction == "" {
		o.Eviction = EvictionReject
	}
	if o.Compact == "" {
		o.Compact = CompactAuto
	}
	if o.DrainBytes == 0 {
		o.DrainBytes = DefaultDrainBytes
	}
	if o.DrainTime == 0 {
		o.DrainTime = DefaultDrainTime
	}
	if o.LeaseTime == 0 {
		o.LeaseTime = DefaultLeaseTime
	}
	if o.TransactionTime == 0 {
		o.TransactionTime = DefaultTransactionTime
	}
	if o.MessageWait == 0 {
		o.MessageWait = DefaultMessageWait
	}
	if o.StallTime == 0 {
		o.StallTime = DefaultStallTime
	}
	o.Bounds = o.Bounds.withDefaults()
	if o.TicketKey == nil {
		o.TicketKey = new([descriptors.KeyBytes]byte)
		rand.Read(o.TicketKey[:]) // never fails, by its documentation
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o
}

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	var errs []error
	if !o.Codec.Valid() {
		errs = append(errs, fmt.Errorf("codec %d: want none, lz4 or zstd", o.Codec))
	}
	switch o.Encode {
	case "", descriptors.EncodeNow, descriptors.EncodeDeferred:
	default:
		errs = append(errs, fmt.Errorf("encode %q: want now or deferred", o.Encode))
	}
	switch o.Wire {
	case "", WireAuto, WireNone, WireStored:
	default:
		errs = append(errs, fmt.Errorf("wire %q: want auto, none or stored", o.Wire))
	}
	if o.MaxReceive != 0 && (o.MaxReceive < 64<<10 || o.MaxReceive > 1<<31-1-framingRoom) {
		errs = append(errs, fmt.Errorf("max message %d: want 64 KiB to 2 GiB less 1 MiB", o.MaxReceive))
	}
	if err := o.Eviction.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := o.Compact.validate(); err != nil {
		errs = append(errs, err)
	}
	if o.DrainBytes < 0 || o.DrainTime < 0 {
		errs = append(errs, errors.New("drain bytes and drain time: want no negative ones"))
	}
	if o.TransportBytes < 0 || o.StallTime < 0 {
		errs = append(errs, errors.New("transport bytes and stall time: want no negative ones"))
	}
	if err := o.Bounds.Validate(); err != nil {
		errs = append(errs, err)
	}
	if o.TransactionTime < 0 {
		errs = append(errs, fmt.Errorf("transaction time %s: want none below 0", o.TransactionTime))
	}
	if o.Permissions != nil && o.Identity == nil {
		errs = append(errs, errors.New("permissions: nobody is known whom they could be for (options --auth-tokens, --auth-passwords, --jwt-keys, --auth-certificates)"))
	}
	return errors.Join(errs...)
}

// intake are the bounds of what the transport receives, under a budget (0: none). The options have their defaults.
func (o Options) intake(budget int64) intake.Options {
	return intake.Options{
		Bytes: cmp.Or(o.TransportBytes, max(DefaultTransportBytes, budget/4)), Message: int64(o.MaxReceive) + framingRoom,
		Window: streamWindow, Wait: o.MessageWait, Stall: o.StallTime,
	}
}
