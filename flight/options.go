package flight

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
)

// Options configures a [Server]. A zero field means its default.
type Options struct {
	Codec compress.Codec // of puts that name none; the zero value is LZ4, so set it
	Wire  Wire           // of reads that name none; default auto

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

	// LeaseTime is how long the generation that a FlightInfo counted stays readable, whatever becomes of its dataset;
	// default 60 s. A negative one takes no leases.
	LeaseTime time.Duration
	// TransactionTime is how long a transaction may take whose begin does not say; default 10 minutes.
	TransactionTime time.Duration

	// TicketKey seals opaque tickets; nil makes a random one, and tickets then die with the server.
	TicketKey *[descriptors.KeyBytes]byte

	Log *zap.Logger // one line a call; nil logs nothing
}

// Defaults of [Options].
const (
	DefaultMaxReceive = 256 << 20
	DefaultDrainBytes = 64 << 20
	DefaultDrainTime  = 5 * time.Second

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
	if o.TransactionTime < 0 {
		errs = append(errs, fmt.Errorf("transaction time %s: want none below 0", o.TransactionTime))
	}
	return errors.Join(errs...)
}
