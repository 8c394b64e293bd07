package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight"
	"github.com/flightcache/flightcache/flight/limits"
)

// limitFlags are what clients may have of the server at most. 0 is no limit where the help says so.
type limitFlags struct {
	MaxConnections int           `help:"Connections that may be open at once; 0 is no limit." default:"16000"`
	MaxStreams     int           `help:"Calls at once on one connection; clients wait with further ones." default:"1000"`
	MaxGets        int           `help:"Gets of one caller that may run at once; 0 is no limit. A caller is a name where callers are known, else an address." default:"1000"`
	MaxPuts        int           `help:"Puts of one caller that may run at once; 0 is no limit." default:"1000"`
	MaxRate        float64       `help:"Calls a second of one caller; as many may come at once. 0 is no limit." default:"0" placeholder:"NUMBER"`
	MaxHeaders     sizeFlag      `help:"Headers of one call." default:"64KiB" placeholder:"SIZE"`
	MaxMetadata    sizeFlag      `help:"Metadata of the schema or of a batch of a put." default:"16MiB" placeholder:"SIZE"`
	MaxColumns     int           `help:"Fields of the schema of a put, those within others included." default:"20000"`
	MaxNesting     int           `help:"Nesting of the fields of a put." default:"64"`
	MaxDatasets    int           `help:"Datasets that puts may make; 0 is no limit." default:"100000"`
	MaxDatasetSize sizeFlag      `help:"Stored bytes of one dataset, as 10GiB. 0 is no limit." default:"0" placeholder:"SIZE"`
	Quota          []quotaFlag   `help:"Stored bytes of all datasets that a pattern names, as sales/**=10GiB: * is any text within a segment, ** any number of segments. Repeatable." placeholder:"PATTERN=SIZE" sep:"none"`
	PutIdle        time.Duration `help:"How long a call may wait for its client's next message; 0 is for ever." default:"5m"`
	GetIdle        time.Duration `help:"How long a reader may take for one message; 0 is for ever." default:"1h"`
}

// quotaFlag is one --quota.
type quotaFlag limits.Quota

// UnmarshalText reads a quota such as sales/**=10GiB.
func (q *quotaFlag) UnmarshalText(text []byte) error {
	s := string(text)
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return fmt.Errorf("%q: want PATTERN=SIZE, as sales/**=10GiB", s)
	}
	names, err := descriptors.ParsePattern(s[:at])
	if err != nil {
		return fmt.Errorf("%q: pattern %q: %w", s, s[:at], err)
	}
	var size sizeFlag
	if err := size.UnmarshalText(text[at+1:]); err != nil {
		return err
	}
	*q = quotaFlag{Names: names, Bytes: int64(size)}
	return nil
}

// validateLimits reports, all at once, what is wrong with the flags.
func (f *limitFlags) validateLimits() error {
	var errs []error
	for _, x := range []struct {
		option string
		value  float64
	}{
		{"max-connections", float64(f.MaxConnections)}, {"max-gets", float64(f.MaxGets)}, {"max-puts", float64(f.MaxPuts)}, {"max-rate", f.MaxRate},
		{"max-datasets", float64(f.MaxDatasets)}, {"put-idle", float64(f.PutIdle)}, {"get-idle", float64(f.GetIdle)},
	} {
		if x.value < 0 || math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			errs = append(errs, fmt.Errorf("--%s: want 0 (no limit) or more", x.option))
		}
	}
	for _, x := range []struct {
		option string
		value  int64
	}{
		{"max-streams", int64(f.MaxStreams)}, {"max-headers", int64(f.MaxHeaders)}, {"max-columns", int64(f.MaxColumns)},
		{"max-nesting", int64(f.MaxNesting)}, {"max-metadata", int64(f.MaxMetadata)},
	} {
		if x.value == 0 {
			errs = append(errs, fmt.Errorf("--%s 0: want at least 1", x.option))
		}
	}
	return errors.Join(errs...)
}

// bounds are those of the service.
func (f *limitFlags) bounds() flight.Bounds {
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return flight.Bounds{
		Connections: none(f.MaxConnections), Streams: f.MaxStreams, HeaderBytes: int(f.MaxHeaders),
		Gets: none(f.MaxGets), Puts: none(f.MaxPuts), Rate: f.MaxRate,
		Fields: f.MaxColumns, Depth: f.MaxNesting, MetadataBytes: int(f.MaxMetadata),
		PutIdle: orNone(f.PutIdle), GetIdle: orNone(f.GetIdle),
	}
}

// quotas are those of the flags; nil where there are none.
func (f *limitFlags) quotas() *limits.Quotas {
	if f.MaxDatasetSize == 0 && len(f.Quota) == 0 {
		return nil
	}
	all := make([]limits.Quota, len(f.Quota))
	for i, q := range f.Quota {
		all[i] = limits.Quota(q)
	}
	return limits.NewQuotas(int64(f.MaxDatasetSize), all)
}

// otherFiles is how many files and connections to others the server may have open beside those of its clients.
const otherFiles = 512

// withinFiles lowers the limit of connections to what the system lets a process open: where there are no descriptors left,
// nobody could come any more, nor any file be read.
func (f *limitFlags) withinFiles(log *zap.Logger) {
	files, ok := openFiles()
	if !ok {
		return
	}
	most := int(min(files-min(otherFiles, files/2), math.MaxInt32))
	if f.MaxConnections == 0 || f.MaxConnections > most {
		log.Warn("fewer connections than --max-connections may be open: the system's limit of open files (ulimit -n) is lower",
			zap.Int("asked", f.MaxConnections), zap.Int("connections", most), zap.Uint64("open files", files))
		f.MaxConnections = most
	}
}
