package batchstore

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// Options configures a [Store]. A zero field means its default.
type Options struct {
	Arena     arena.Options // the zero value means arena.DefaultOptions
	ZstdLevel int           // level of a put that gives none, 1 to 22; default 1
	Workers   int           // goroutines that check and encode, shared by all puts, and as many for slow codecs; default GOMAXPROCS

	// MaxMessage is the most bytes of a stored body; of a wide schema it is less, by what its header needs beyond
	// HeaderRoom. The default, 4 MiB less HeaderRoom, keeps messages under the 4 MiB that stock Go, Rust and .NET
	// clients take.
	MaxMessage int64
	// MaxBatchBytes (decoded) and MaxBatchRows bound a stored batch; defaults 16 MiB and 131,072. A batch is not cut to
	// less than 4 KiB decoded for its rows' sake: a few bytes may stand for any number of them.
	MaxBatchBytes int64
	MaxBatchRows  int64
	// JoinBelow is the decoded size under which batches that follow each other are joined; default 1 MiB, or
	// MaxMessage where that is less.
	JoinBelow int64
	// MaxDecoded bounds what one received batch may decode to, in bytes; default 1 GiB.
	MaxDecoded int64

	// Memory is the budget: the most bytes of bodies, facts and statistics, of stored, staged and sent batches together. 0
	// is no limit, else it is 1 MiB or more.
	Memory int64
	// PutWait is the longest that a put waits for memory; default 10 s, negative: it never waits. Reads wait at most 2 s.
	PutWait time.Duration

	// Dir is a folder for files of batches; "": there are none. Nobody else may use it.
	Dir string
	// Spill has bodies move to files when the budget is full. Without it only batches that were persisted leave memory.
	Spill bool
	// DiskBytes is the most that all files may take; 0 is no limit.
	DiskBytes int64
	// SegmentBytes is about how many bytes of bodies go into one file; default 64 MiB, or a sixteenth of Memory where that
	// is less, but no less than 64 KiB.
	SegmentBytes int64
	// Load lets files be served in place: see [Store.Load].
	Load bool
	// Report is told of faults of files that no caller hears of, such as a disk that is full; nil is told nothing.
	Report func(error)

	Limits arrowipc.Limits // of message headers

	// Panic is told of a panic in a worker, which is a fault of the store's code: the put fails, the store goes on. Nil is
	// told nothing.
	Panic func(value any, stack []byte)
}

// MaxRows is the most rows of a received batch: columns without bytes, as those of type null, may say any number.
const MaxRows = 1<<31 - 1

// segmentBytes is the default of Options.SegmentBytes.
const segmentBytes = 64 << 20

// minMemory is the least budget: the allocator takes a quarter of it for the first small block.
const minMemory = 1 << 20

// DefaultMaxMessage is the default of Options.MaxMessage, in bytes.
const DefaultMaxMessage = 4<<20 - HeaderRoom

// WithDefaults is o with its zero fields filled in.
func (o Options) WithDefaults() Options {
	if o.Arena == (arena.Options{}) {
		o.Arena = arena.DefaultOptions()
	}
	if o.ZstdLevel == 0 {
		o.ZstdLevel = 1
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	fill := func(p *int64, d int64) {
		if *p == 0 {
			*p = d
		}
	}
	fill(&o.MaxMessage, DefaultMaxMessage)
	fill(&o.MaxBatchBytes, 16<<20)
	fill(&o.MaxBatchRows, 128<<10)
	fill(&o.JoinBelow, min(1<<20, o.MaxMessage))
	fill(&o.MaxDecoded, 1<<30)
	if o.PutWait == 0 {
		o.PutWait = 10 * time.Second
	}
	fill(&o.SegmentBytes, segmentBytes)
	if o.Memory > 0 {
		o.SegmentBytes = max(min(o.SegmentBytes, o.Memory/16), 64<<10)
	}
	o.Limits = o.Limits.WithDefaults()
	if o.Panic == nil {
		o.Panic = func(any, []byte) {}
	}
	return o
}

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	o = o.WithDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.ZstdLevel >= 1 && o.ZstdLevel <= 22, "zstd level %d: want 1 to 22", o.ZstdLevel)
	check(o.Workers >= 1, "workers %d: want at least 1", o.Workers)
	check(o.MaxMessage >= 64<<10 && o.MaxMessage < 1<<31, "max message %d: want 64 KiB to 2 GiB", o.MaxMessage)
	check(o.MaxBatchBytes >= o.MaxMessage, "max batch bytes %d: want at least max message, %d", o.MaxBatchBytes, o.MaxMessage)
	check(o.MaxBatchRows >= 1, "max batch rows %d: want at least 1", o.MaxBatchRows)
	check(o.JoinBelow >= 0 && o.JoinBelow <= o.MaxMessage, "join below %d: want 0 to max message, %d", o.JoinBelow, o.MaxMessage)
	check(o.MaxDecoded >= o.MaxBatchBytes, "max decoded %d: want at least max batch bytes, %d", o.MaxDecoded, o.MaxBatchBytes)
	check(!o.Spill || o.Dir != "", "spill: want a folder for the files, Dir")
	check(o.DiskBytes >= 0, "disk bytes %d: want 0 (no limit) or more", o.DiskBytes)
	check(o.SegmentBytes >= 1, "segment bytes %d: want at least 1", o.SegmentBytes)
	check(o.Memory == 0 || o.Memory >= minMemory, "memory %d: want 0 (no limit) or at least 1 MiB", o.Memory)
	return errors.Join(append(errs, o.Arena.Validate(), compress.Options{ZstdLevel: o.ZstdLevel}.Validate())...)
}
