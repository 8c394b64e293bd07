package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/flightcache/flightcache/flight"
)

// httpOff is the value of --http that serves nothing.
const httpOff = "off"

// checkHTTP tells what is wrong with --http. What it serves is for those who may ask the server as well.
func checkHTTP(address string, insecure bool) error {
	if address == httpOff {
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

// watch serves figures and health over HTTP. Nil serves nothing.
type watch struct {
	listener net.Listener
	server   *http.Server
	stopping atomic.Bool
}

// openHTTP listens, and serves from then on; nothing where it is off. The caller closes it.
func openHTTP(address string, of figures, log *zap.Logger) (*watch, error) {
	if address == httpOff {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w; give another address, or off", address, err)
	}
	w := &watch{listener: l}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		of, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	errorLog, _ := zap.NewStdLogAt(log, zap.WarnLevel) // fails for levels that zap does not have
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: errorLog, MaxRequestsInFlight: 10}))
	mux.HandleFunc("GET /healthz", w.health)
	w.server = &http.Server{
		Handler: mux, ErrorLog: errorLog, MaxHeaderBytes: 64 << 10,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
	}
	go func() {
		if err := w.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics and health are not served any more", zap.Error(err))
		}
	}()
	return w, nil
}

// health answers as the gRPC health service does: whether the server takes calls.
func (w *watch) health(out http.ResponseWriter, _ *http.Request) {
	if w.stopping.Load() {
		http.Error(out, "stopping", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(out, "ok")
}

// address is where it listens, as HOST:PORT; "" for nothing.
func (w *watch) address() string {
	if w == nil {
		return ""
	}
	return w.listener.Addr().String()
}

// notServing turns health, for good: the server is about to stop.
func (w *watch) notServing() {
	if w != nil {
		w.stopping.Store(true)
	}
}

func (w *watch) close() {
	if w != nil {
		w.server.Close()
	}
}

// figures reads a service's figures, and gives them as metrics.
type figures func() []flight.Figure

// Describe names them all.
func (f figures) Describe(out chan<- *prometheus.Desc) {
	for _, x := range f() {
		out <- describe(x)
	}
}

// Collect reads them all.
func (f figures) Collect(out chan<- prometheus.Metric) {
	for _, x := range f() {
		kind := prometheus.GaugeValue
		if x.Total {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(describe(x), kind, float64(x.Value))
	}
}

func describe(f flight.Figure) *prometheus.Desc {
	name := "flightcache_" + f.Name
	if f.Total {
		name += "_total"
	}
	return prometheus.NewDesc(name, f.Help, nil, nil)
}
