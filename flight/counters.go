package flight

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// counts are what was done, for the server or for one dataset name. Bytes in and out are those of FlightData messages
// on the wire; encoded and decoded ones are plain sizes.
type counts struct {
	puts, gets                 atomic.Int64
	rowsIn, rowsOut            atomic.Int64
	bytesIn, bytesOut          atomic.Int64
	bytesEncoded, bytesDecoded atomic.Int64
	batchesSent, batchesPruned atomic.Int64
	batchesReceived            atomic.Int64
	batchesConsidered          atomic.Int64 // stored batches that a filter was judged on

	compactions, bytesCompacted     atomic.Int64 // layouts made, and plain bytes written for them
	batchesCompacted, batchesJoined atomic.Int64 // stored batches that were joined, and that they became
	batchesDeferred, bytesDeferred  atomic.Int64 // stored batches that were encoded after their put, and their plain bytes
}

// counters are the server's counts and those of each dataset that exists.
type counters struct {
	server counts
	exists func(dataset string) bool

	mu       sync.Mutex
	datasets map[string]*counts
}

// of gives the counts of a dataset name.
func (c *counters) of(name string) *counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.datasets[name]
	if d == nil {
		d = &counts{}
		c.datasets[name] = d
	}
	return d
}

// forget drops the counts of a dataset that is gone, so that names which come and go take no memory.
func (c *counters) forget(name string) {
	c.mu.Lock()
	delete(c.datasets, name)
	c.mu.Unlock()
}

// both calls f with the server's counts and with those of a dataset. The dataset may be gone by now: a read goes on after
// a drop.
func (c *counters) both(name string, f func(*counts)) {
	f(&c.server)
	f(c.of(name))
	if !c.exists(name) {
		c.forget(name)
	}
}

// statsJSON is the result of server_stats for one dataset.
type statsJSON struct {
	Dataset       string `json:"dataset,omitempty"`
	Puts          int64  `json:"puts"`
	Gets          int64  `json:"gets"`
	RowsIn        int64  `json:"rows_in"`
	RowsOut       int64  `json:"rows_out"`
	BytesIn       int64  `json:"bytes_in"`
	BytesOut      int64  `json:"bytes_out"`
	BytesEncoded  int64  `json:"bytes_encoded"`
	BytesDecoded  int64  `json:"bytes_decoded"`
	BatchesSent   int64  `json:"batches_sent"`
	BatchesPruned int64  `json:"batches_pruned"`

	BatchesReceived   int64 `json:"batches_received"`
	BatchesConsidered int64 `json:"batches_considered"`

	Compactions      int64 `json:"compactions"`
	BatchesCompacted int64 `json:"batches_compacted"`
	BatchesJoined    int64 `json:"batches_joined"`
	BytesCompacted   int64 `json:"bytes_compacted"`

	BatchesDeferred int64 `json:"batches_deferred"`
	BytesDeferred   int64 `json:"bytes_deferred"`

	ChargedBytes int64 `json:"charged_bytes"`
	Leases       int   `json:"leases"`
	LeasedBytes  int64 `json:"leased_bytes"`
}

func (c *counts) json() statsJSON {
	return statsJSON{
		Puts: c.puts.Load(), Gets: c.gets.Load(), RowsIn: c.rowsIn.Load(), RowsOut: c.rowsOut.Load(),
		BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(), BytesEncoded: c.bytesEncoded.Load(),
		BytesDecoded: c.bytesDecoded.Load(), BatchesSent: c.batchesSent.Load(), BatchesPruned: c.batchesPruned.Load(),
		BatchesReceived: c.batchesReceived.Load(), BatchesConsidered: c.batchesConsidered.Load(),
		Compactions: c.compactions.Load(), BatchesCompacted: c.batchesCompacted.Load(), BatchesJoined: c.batchesJoined.Load(),
		BytesCompacted: c.bytesCompacted.Load(), BatchesDeferred: c.batchesDeferred.Load(), BytesDeferred: c.bytesDeferred.Load(),
	}
}

// serverStats answers the action of that name, for the server or for one dataset.
func (s *Server) serverStats(a descriptors.ServerStats) ([]byte, error) {
	if a.Dataset == "" {
		return appendJSON(nil, s.Figures()), nil
	}
	g, err := s.catalog.Current(string(a.Dataset))
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return json.Marshal(s.datasetStats(g))
}

func (s *Server) datasetStats(g *catalog.Generation) statsJSON {
	j := s.stats.of(g.Dataset).json()
	j.Dataset, j.ChargedBytes = g.Dataset, g.Stored
	j.Leases, j.LeasedBytes = s.catalog.LeasesOf(g)
	return j
}

// hasDataset asks a catalogue whether a dataset exists.
func hasDataset(c *catalog.Catalog) func(string) bool {
	return func(name string) bool {
		g, err := c.Current(name)
		if err != nil {
			return false
		}
		g.Release()
		return true
	}
}
