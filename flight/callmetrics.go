package flight

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// callMetrics count calls as they begin and end: by method, which are those that the server has, and by code.
type callMetrics struct {
	ended   *prometheus.CounterVec
	denied  *prometheus.CounterVec
	running *prometheus.GaugeVec
	whole   *prometheus.HistogramVec
	first   *prometheus.HistogramVec

	methods map[string]*methodMetrics // by full name; before the server serves
	other   func() *methodMetrics     // of all that the server does not have: their names are their clients'
}

// methodMetrics are those of one method.
type methodMetrics struct {
	name    string // without the service's
	of      *callMetrics
	ok      prometheus.Counter
	running prometheus.Gauge
	whole   prometheus.Observer
	first   prometheus.Observer // nil: nobody waits for a first message
}

// otherMethod is how methods are called that there are not.
const otherMethod = "other"

// Reasons for which calls are denied.
const (
	deniedLogin      = "login"
	deniedPermission = "permission"
)

// callBuckets are bounds of a call's time, in seconds: from an answer out of memory to a read of a whole table by a slow client.
var callBuckets = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300}

func newCallMetrics() *callMetrics {
	m := &callMetrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "calls_total", Help: "Calls that have ended, by their gRPC code.",
		}, []string{"method", "code"}),
		denied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "calls_denied_total",
			Help: "Calls of clients that did not show who they are (login), or that may not do what they asked for (permission), whatever they were told.",
		}, []string{"reason"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: metricPrefix + "calls_running", Help: "Calls that are being answered.",
		}, []string{"method"}),
		whole: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricPrefix + "call_seconds", Help: "Time from a call's arrival to its end.", Buckets: callBuckets,
		}, []string{"method"}),
		first: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricPrefix + "call_first_message_seconds",
			Help: "Time from a call's arrival until its first message was sent (DoGet) or had come (DoPut).", Buckets: callBuckets,
		}, []string{"method"}),
		methods: map[string]*methodMetrics{},
	}
	m.other = sync.OnceValue(func() *methodMetrics { return m.make(otherMethod) })
	m.denied.WithLabelValues(deniedLogin)
	m.denied.WithLabelValues(deniedPermission)
	return m
}

// know makes the metrics of a method, given its full name. Services that have a method of the same name share them.
func (m *callMetrics) know(method string) {
	m.methods[method] = m.make(shortName(method))
}

func (m *callMetrics) make(name string) *methodMetrics {
	x := &methodMetrics{
		name: name, of: m, ok: m.ended.WithLabelValues(name, codes.OK.String()), running: m.running.WithLabelValues(name),
		whole: m.whole.WithLabelValues(name),
	}
	if name == "DoGet" || name == "DoPut" {
		x.first = m.first.WithLabelValues(name)
	}
	return x
}

// begin counts a call that has come.
func (m *callMetrics) begin(method string) *methodMetrics {
	x := m.methods[method]
	if x == nil {
		x = m.other()
	}
	x.running.Inc()
	return x
}

// end counts a call that has ended.
func (x *methodMetrics) end(c *call, code codes.Code, took time.Duration) {
	x.running.Dec()
	x.whole.Observe(took.Seconds())
	if code == codes.OK {
		x.ok.Inc()
	} else {
		x.of.ended.WithLabelValues(x.name, code.String()).Inc() // a status may have a number that is no code: Code(99)
	}
	if c.reason != "" {
		x.of.denied.WithLabelValues(deniedLogin).Inc()
	}
	if c.denied != "" {
		x.of.denied.WithLabelValues(deniedPermission).Inc()
	}
}

func (m *callMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.ended, m.denied, m.running, m.whole, m.first}
}
