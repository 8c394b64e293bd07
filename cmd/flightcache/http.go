package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"golang.org/x/net/netutil"
)

// httpOff is the value of --http that serves nothing.
const httpOff = "off"

// checkHTTP tells what is wrong with --http and --pprof. What they serve is for those who may ask the server as well.
func checkHTTP(address string, profiles, insecure bool) error {
	if address == httpOff {
		if profiles {
			return errors.New("--pprof: profiles are served over HTTP; it needs --http")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--http %s: want HOST:PORT or off: %w", address, err)
	}
	if !insecure && !isLoopback(host) {
		return fmt.Errorf("--http %s: beyond the loopback anyone could read it: it has neither TLS nor authentication. "+
			"Listen on 127.0.0.1, or give --insecure", address)
	}
	return nil
}

// States of a server, as readyz tells them.
const (
	stateStarting int32 = iota
	stateServing
	stateStopping
)

// watch serves metrics, health and profiles over HTTP, from before the server takes calls until after. Nil serves nothing.
type watch struct {
	listener net.Listener
	server   *http.Server
	state    atomic.Int32
	registry *prometheus.Registry

	gathering sync.RWMutex // held while metrics are read
	closed    bool         // guarded by it
}

// maxWatchers is how many connections there may be: they are not to take the descriptors of those that carry data.
const maxWatchers = 100

// maxProfile is how long a profile may be taken: who takes one slows the server, and holds memory of it. All other pages, and what is
// made of a profile, are written within the time of a scrape.
const (
	maxProfile = time.Minute
	maxPage    = 30 * time.Second
)

// openHTTP listens, and serves from then on; nothing where it is off. The caller closes it.
func openHTTP(address string, profiles bool, log *zap.Logger) (*watch, error) {
	if address == httpOff {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w; give another address, or off", address, err)
	}
	w := &watch{listener: l, registry: prometheus.NewRegistry()}
	w.show(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	errorLog, _ := zap.NewStdLogAt(log, zap.WarnLevel) // fails for levels that zap does not have
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w, promhttp.HandlerOpts{ErrorLog: errorLog, MaxRequestsInFlight: 10}))
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, "ok") })
	mux.HandleFunc("GET /readyz", w.ready)
	w.server = &http.Server{
		Handler: mux, ErrorLog: errorLog, MaxHeaderBytes: 64 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: maxPage, IdleTimeout: time.Minute,
	}
	if profiles {
		w.server.WriteTimeout = maxProfile + maxPage
		addProfiles(mux)
		if host, _, _ := net.SplitHostPort(address); !isLoopback(host) {
			log.Warn("PPROF IS OPEN TO ALL WHO REACH THIS ADDRESS: profiles show names, paths and parts of memory, and taking them costs time. "+
				"Give --http an address of the loopback, or leave --pprof out", zap.String("address", l.Addr().String()))
		}
	}
	go func() {
		if err := w.server.Serve(netutil.LimitListener(l, maxWatchers)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics and health are not served any more", zap.Error(err))
		}
	}()
	return w, nil
}

// addProfiles adds Go's own profiles of the process.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", brief(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", brief(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/trace", brief(pprof.Trace))
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
}

// brief refuses what would take longer than maxProfile, or no number of seconds.
func brief(page http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		if text := in.FormValue("seconds"); text != "" {
			if seconds, err := strconv.ParseFloat(text, 64); err != nil || !(seconds >= 0 && seconds <= maxProfile.Seconds()) {
				http.Error(out, fmt.Sprintf("seconds=%s: want a number up to %g; take several profiles, one after the other",
					strconv.QuoteToASCII(text), maxProfile.Seconds()), http.StatusBadRequest)
				return
			}
		}
		page(out, in)
	}
}

// buildInfo is a metric that tells what runs.
func buildInfo() prometheus.Collector {
	v := readVersions()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flightcache_build_info", Help: "1, with what runs as its labels.",
		ConstLabels: prometheus.Labels{"version": v.Version, "revision": v.Commit, "goversion": v.Go},
	})
	g.Set(1)
	return g
}

// show has these told with the metrics, until the watch is closed.
func (w *watch) show(more ...prometheus.Collector) {
	if w != nil {
		w.registry.MustRegister(more...)
	}
}

// Gather reads all metrics; none when the watch is closed, as what they are read of goes then.
func (w *watch) Gather() ([]*dto.MetricFamily, error) {
	w.gathering.RLock()
	defer w.gathering.RUnlock()
	if w.closed {
		return nil, nil
	}
	return w.registry.Gather()
}

// ready answers as the gRPC health service does: whether the server takes calls.
func (w *watch) ready(out http.ResponseWriter, _ *http.Request) {
	switch w.state.Load() {
	case stateStarting:
		http.Error(out, "starting", http.StatusServiceUnavailable)
	case stateServing:
		fmt.Fprintln(out, "ok")
	default:
		http.Error(out, "stopping", http.StatusServiceUnavailable)
	}
}

// address is where it listens, as HOST:PORT; "" for nothing.
func (w *watch) address() string {
	if w == nil {
		return ""
	}
	return w.listener.Addr().String()
}

// serving tells that the server takes calls.
func (w *watch) serving() {
	if w != nil {
		w.state.Store(stateServing)
	}
}

// notServing tells that the server is about to stop.
func (w *watch) notServing() {
	if w != nil {
		w.state.Store(stateStopping)
	}
}

// close ends it, and waits until nobody reads metrics. It may be called again.
func (w *watch) close() {
	if w == nil {
		return
	}
	w.server.Close()
	w.gathering.Lock()
	w.closed = true
	w.gathering.Unlock()
}
