package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight"
)

// serveCmd runs the server.
type serveCmd struct {
	Listen        []string `help:"Addresses to serve on, grpc://HOST:PORT, grpc+tls://HOST:PORT[?client-auth=KIND] or grpc+unix:///PATH[?mode=0660]; port 0 picks one. Repeatable." default:"grpc://127.0.0.1:8815" placeholder:"URI" sep:"none"`
	TLSCert       string   `name:"tls-cert" help:"The server's certificate with those between it and a root, PEM. Read again when it changes." type:"path" placeholder:"FILE"`
	TLSKey        string   `name:"tls-key" help:"The certificate's key, PEM." type:"path" placeholder:"FILE"`
	TLSClientCA   string   `name:"tls-client-ca" help:"Certificates by which those of clients are verified, PEM." type:"path" placeholder:"FILE"`
	TLSClientAuth string   `name:"tls-client-auth" help:"Whether clients are to show certificates: none, request or require. An address may say so itself (?client-auth=KIND)." enum:"none,request,require" default:"none"`

	authFlags
	seenFlags
	limitFlags

	ReadyFile  string        `help:"Write the process id and the addresses here, as JSON, once the server serves." type:"path" placeholder:"PATH"`
	HTTP       string        `name:"http" help:"Address for /metrics (Prometheus), /healthz and /readyz over HTTP, or off. Port 0 picks one." default:"127.0.0.1:8816" placeholder:"HOST:PORT"`
	Codec      string        `help:"Codec of puts that name none: zstd, lz4 or none." enum:"zstd,lz4,none" default:"zstd"`
	ZstdLevel  int           `help:"Level of zstd where a put names none, 1 to 22." default:"1"`
	Encode     string        `help:"When batches of puts that do not say are encoded: now, or deferred (after the put is answered, while there is nothing else to do)." enum:"now,deferred" default:"now"`
	Wire       string        `help:"Form of reads that name none: auto (stored bytes to Arrow C++, plain to others), none (plain) or stored." enum:"auto,none,stored" default:"auto"`
	MaxMessage sizeFlag      `help:"Largest message to receive, as 64MiB; not more than the memory. Default: 256MiB, or the memory if that is less." placeholder:"SIZE"`
	Memory     sizeFlag      `help:"Budget of the data's memory, as 4GiB: datasets, running puts and what reads decode. 0 is no limit." default:"4GiB" placeholder:"SIZE"`
	PutWait    time.Duration `help:"How long a put may wait for memory; 0 is not at all." default:"10s"`
	DataDir    string        `help:"Keep data in this folder, which no other server may use. Default: in memory only." type:"path" placeholder:"DIR"`
	Disk       sizeFlag      `help:"Most bytes of files of batches in the data folder, as 200GiB. 0 is no limit." default:"0" placeholder:"SIZE"`
	Durable    bool          `help:"Let datasets outlive the server unless their puts say otherwise; needs --data-dir."`
	Load       string        `help:"Serve the Arrow IPC files in this folder (.arrow, .feather, .ipc) where they are, as datasets named after them." type:"path" placeholder:"DIR"`
	Eviction   string        `help:"What to do when a put finds no memory: reject (let it fail), drop (drop the least recently used datasets) or spill (move what was used least recently to files; needs --data-dir). Default: spill with --data-dir, else reject." enum:",reject,drop,spill" default:"" placeholder:"KIND"`
	Compact    string        `help:"Whether small batches of a dataset that grew by small appends are joined by themselves: auto, or off (only flightcache compact joins them)." enum:"auto,off" default:"auto"`
	Lease      time.Duration `help:"How long what a GetFlightInfo counted stays readable, whatever becomes of its dataset; 0 for no longer than that." default:"60s"`
	Drain      time.Duration `help:"How long running calls may go on after a signal." default:"15s"`
	Insecure   bool          `help:"Listen beyond the loopback although anyone who gets there could read or write."`
	LogFormat  string        `help:"Form of the log on stderr: console or json." enum:"console,json" default:"console"`
	LogLevel   string        `help:"Least level of the log: debug, info, warn or error." enum:"debug,info,warn,error" default:"info"`
}

// Validate reports, all at once, what is wrong with the options taken together.
func (c *serveCmd) Validate() error {
	var errs []error
	if err := checkHTTP(c.HTTP, c.Pprof, c.Insecure); err != nil {
		errs = append(errs, err)
	}
	if c.Drain < 0 {
		errs = append(errs, fmt.Errorf("--drain %s: want no negative time", c.Drain))
	}
	if c.Lease < 0 {
		errs = append(errs, fmt.Errorf("--lease %s: want no negative time", c.Lease))
	}
	if c.PutWait < 0 {
		errs = append(errs, fmt.Errorf("--put-wait %s: want no negative time", c.PutWait))
	}
	if c.DataDir == "" && c.Durable {
		errs = append(errs, errors.New("--durable: it needs --data-dir"))
	}
	if c.DataDir == "" && c.Disk > 0 {
		errs = append(errs, errors.New("--disk: it needs --data-dir"))
	}
	if c.DataDir == "" && c.Eviction == string(flight.EvictionSpill) {
		errs = append(errs, errors.New("--eviction spill: it needs --data-dir"))
	}
	if c.Memory > 0 && c.MaxMessage > c.Memory {
		errs = append(errs, fmt.Errorf("--max-message %d: want at most --memory, %d", c.MaxMessage, c.Memory))
	}
	return errors.Join(append(errs, c.checkListen(), c.validateAuth(), c.validateLimits(), c.storeOptions().Validate(), c.flightOptions(nil).Validate())...)
}

// eviction is the kind that was asked for, or the default.
func (c *serveCmd) eviction() flight.Eviction {
	switch {
	case c.Eviction != "":
		return flight.Eviction(c.Eviction)
	case c.DataDir != "":
		return flight.EvictionSpill
	}
	return flight.EvictionReject
}

// orNone is the time as an option whose zero is its default, and which has none below zero.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func (c *serveCmd) storeOptions() batchstore.Options {
	o := batchstore.Options{ZstdLevel: c.ZstdLevel, Memory: int64(c.Memory), PutWait: orNone(c.PutWait)}
	o.Load = c.Load != ""
	if c.DataDir != "" {
		o.Dir, o.Spill, o.DiskBytes = segmentsOf(c.DataDir), c.eviction() == flight.EvictionSpill, int64(c.Disk)
	}
	return o
}

// catalogOptions leave leases a quarter of the memory for what only they keep, and put_ids a small part of it, which is not
// charged. The keeper may be nil.
func (c *serveCmd) catalogOptions(s *stores, keeper *flight.Durable) catalog.Options {
	o := catalog.Options{MaxLeasedBytes: int64(c.Memory / 4), Charge: flight.ChargeTo(s.store), Ledger: flight.LedgerOf(s.quotas), MaxDatasets: c.MaxDatasets}
	if c.Memory > 0 {
		o.MaxPutBytes = min(max(int64(c.Memory/64), 1<<20), 64<<20)
	}
	if keeper != nil {
		o.Keeper, o.Durable = keeper, c.Durable
	}
	return o
}

func (c *serveCmd) flightOptions(log *zap.Logger) flight.Options {
	codec, _ := compress.ParseCodec(c.Codec) // kong's enum lets none but codecs through
	return flight.Options{
		Codec: codec, Encode: descriptors.Encode(c.Encode), Wire: flight.Wire(c.Wire), MaxReceive: int(c.MaxMessage), MessageWait: orNone(c.PutWait), LeaseTime: orNone(c.Lease),
		Eviction: c.eviction(), Compact: flight.Compaction(c.Compact), Log: log, Bounds: c.bounds(),
	}
}

// Run serves until a signal, then drains.
func (c *serveCmd) Run(e *env) (err error) {
	e.serves = true
	logs, err := newLogs(e.stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		return err
	}
	log := logs.log
	defer log.Sync()
	audit, auditFile, err := openAudit(c.Audit, logs)
	if err != nil {
		return err
	}
	defer auditFile.close()
	tracer, tracing, endTraces, err := openTraces(e.ctx, log)
	if err != nil {
		return err
	}
	defer endTraces()
	defer startPacing().stop()
	web, err := openHTTP(c.HTTP, c.Pprof, log)
	if err != nil {
		return err
	}
	defer web.close()
	c.withinFiles(log)
	who, listeners, err := c.openAll(log)
	if err != nil {
		return err
	}
	defer who.close()
	defer closeAll(listeners)
	data, err := c.openStores(log)
	if err != nil {
		return err
	}
	log.Info(c.restartLine())
	options := c.flightOptions(log)
	options.Identity, options.Permissions, options.Audit = who.identity, who.permissions, audit
	options.Tracer, options.TracesAlone, options.Quotas = tracer, tracing.alone, data.quotas
	service, err := flight.New(data.store, data.names, options)
	if err != nil {
		return errors.Join(err, data.close())
	}
	server := service.GRPC()
	web.show(append(service.Metrics(), auditFile.metric())...)
	defer func() {
		web.close()
		server.Stop() // returns when every handler has, so nothing below is still in use
		service.Close()
		err = errors.Join(err, data.close())
	}()
	if err := c.load(e.ctx, data, log); err != nil {
		return err
	}
	if err := c.listen(listeners); err != nil {
		return err
	}
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- server.Serve(l) }()
	}
	web.serving()
	if err := c.ready(listeners, web); err != nil {
		return err
	}
	c.warnOfStrangers(log)
	for _, l := range listeners {
		log.Info("serving", zap.String("address", l.Name), zap.String("version", readVersions().Version))
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-e.ctx.Done():
	}
	web.notServing()
	return c.stop(service, server, log)
}

// stop lets running calls go on for the drain time; a second signal ends them at once.
func (c *serveCmd) stop(service *flight.Server, server *grpc.Server, log *zap.Logger) error {
	log.Info("stopping", zap.Duration("drain", c.Drain))
	service.NotServing()
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.GracefulStop()
	}()
	timeout, cancel := context.WithTimeout(context.Background(), c.Drain)
	defer cancel()
	select {
	case <-done:
		log.Info("stopped")
		return nil
	case <-timeout.Done():
	case <-again:
	}
	server.Stop()
	<-done
	return errors.New("stopped before every call had ended")
}

// ready writes the ready file: beside its place first, then renamed, so that who waits for it never reads half.
func (c *serveCmd) ready(listeners []*flight.Listener, web *watch) error {
	if c.ReadyFile == "" {
		return nil
	}
	return writeReadyFile(c.ReadyFile, listeners, web.address())
}
