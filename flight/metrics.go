package flight

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are all that the server tells of itself to Prometheus: its figures, and what it counts by kinds. No label has a value
// that a client chooses.
func (s *Server) Metrics() []prometheus.Collector {
	return append(s.calls.collectors(), figureMetrics{s}, kindMetrics{s})
}

// Metric is the figure's name as a metric, whose last words are its unit and, where it only grows, `total`. It is "" for a figure
// that a metric tells in more detail.
func (f Figure) Metric() string {
	name, renamed := metricNames[f.Name]
	switch {
	case !renamed:
		name = f.Name
	case name == "":
		return ""
	}
	if f.Total {
		name += "_total"
	}
	return metricPrefix + name
}

const metricPrefix = "flightcache_"

// metricNames are the figures whose names as metrics are not those of their keys in server_stats.
var metricNames = map[string]string{
	"bytes_in":        "received_bytes",
	"bytes_out":       "sent_bytes",
	"rows_in":         "received_rows",
	"rows_out":        "sent_rows",
	"bytes_encoded":   "encoded_bytes",
	"bytes_decoded":   "decoded_bytes",
	"bytes_compacted": "compacted_bytes",
	"bytes_deferred":  "deferred_bytes",
	"evictions":       "", // by reason
}

// figureMetrics gives the figures as metrics.
type figureMetrics struct{ s *Server }

// Describe names them all.
func (m figureMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, f := range figures {
		if f.Metric() != "" {
			out <- f.desc()
		}
	}
}

// Collect reads them all.
func (m figureMetrics) Collect(out chan<- prometheus.Metric) {
	for _, f := range m.s.Figures() {
		if f.Metric() == "" {
			continue
		}
		kind := prometheus.GaugeValue
		if f.Total {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(f.desc(), kind, float64(f.Value))
	}
}

func (f Figure) desc() *prometheus.Desc { return prometheus.NewDesc(f.Metric(), f.Help, nil, nil) }

// kindMetrics are what is counted elsewhere, by kinds.
type kindMetrics struct{ s *Server }

var (
	evictionsDesc = kindDesc("evictions_total",
		"Datasets that were evicted: for room (memory), or by the action evict (action).", "reason")
	expirationsDesc = kindDesc("expirations_total", "Datasets that were dropped because their time (ttl) was over.")
	unloadsDesc     = kindDesc("unloads_total",
		"Bodies of batches that left memory and are read from files: for room (memory), or by the action evict (action).", "reason")
	reloadsDesc = kindDesc("reloads_total", "Bodies of batches that came back from files into memory.")

	auditDesc = kindDesc("audit_lines_total",
		"Lines of the audit: told (written), or left out as too many calls were denied at once (omitted).", "result")

	codecSecondsDesc = kindDesc("codec_seconds_total", "Time that codecs took, of all processors together.", "codec", "operation")
	codecPlainDesc   = kindDesc("codec_plain_bytes_total", "Plain bytes that codecs took or made.", "codec", "operation")
	codecStoredDesc  = kindDesc("codec_stored_bytes_total", "Encoded bytes that codecs made or took.", "codec", "operation")
	codecBuffersDesc = kindDesc("codec_buffers_total", "Buffers that codecs encoded or decoded.", "codec", "operation")
)

func kindDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+name, help, labels, nil)
}

// Describe names them all.
func (m kindMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		evictionsDesc, expirationsDesc, unloadsDesc, reloadsDesc, auditDesc, codecSecondsDesc, codecPlainDesc, codecStoredDesc, codecBuffersDesc,
	} {
		out <- d
	}
}

// Collect reads them all.
func (m kindMetrics) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	gone, store := m.s.catalog.Departures(), m.s.store.Stats()
	tell(evictionsDesc, float64(gone.Evicted), "memory")
	tell(evictionsDesc, float64(gone.Asked), "action")
	tell(expirationsDesc, float64(gone.Expired))
	tell(unloadsDesc, float64(store.MadeRoom), "memory")
	tell(unloadsDesc, float64(store.Unloaded), "action")
	tell(reloadsDesc, float64(store.Returned))
	tell(auditDesc, float64(m.s.audit.lines.Load()), "written")
	tell(auditDesc, float64(m.s.audit.spared.Load()), "omitted")
	for _, u := range m.s.store.Codecs() {
		operation := "decode"
		if u.Encodes {
			operation = "encode"
		}
		codec := u.Codec.String()
		tell(codecSecondsDesc, u.Time.Seconds(), codec, operation)
		tell(codecPlainDesc, float64(u.Plain), codec, operation)
		tell(codecStoredDesc, float64(u.Stored), codec, operation)
		tell(codecBuffersDesc, float64(u.Buffers), codec, operation)
	}
}
