package flight

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/flight/intake"
)

// Figure is one number that the server tells of itself: in the result of server_stats, and wherever else it is watched.
type Figure struct {
	Name  string // its key in server_stats
	Help  string // what it counts, as a sentence
	Total bool   // it only grows while the server runs; else it is a state of now
	Value int64
}

// snapshot is what the figures are read from.
type snapshot struct {
	counts       statsJSON
	store        batchstore.Stats
	intake       intake.Stats
	frames       int64 // that wait to be used again
	datasets     int
	transactions int
	evictions    int64
	granted      int64 // leases
	connections  int64
	accepted     int64
	goroutines   int
	mappings     int64
	resident     int64
}

// figures are all there are, in the order in which they are told.
var figures = []struct {
	Figure
	of func(*snapshot) int64
}{
	{Figure{"puts", "Puts that were committed.", true, 0}, func(s *snapshot) int64 { return s.counts.Puts }},
	{Figure{"gets", "Reads that were begun and have ended.", true, 0}, func(s *snapshot) int64 { return s.counts.Gets }},
	{Figure{"rows_in", "Rows of committed puts.", true, 0}, func(s *snapshot) int64 { return s.counts.RowsIn }},
	{Figure{"rows_out", "Rows sent to readers.", true, 0}, func(s *snapshot) int64 { return s.counts.RowsOut }},
	{Figure{"bytes_in", "Bytes of committed puts on the wire.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesIn }},
	{Figure{"bytes_out", "Bytes sent to readers on the wire.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesOut }},
	{Figure{"bytes_encoded", "Plain bytes that were encoded.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesEncoded }},
	{Figure{"bytes_decoded", "Plain bytes that compressed ones were decoded to.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesDecoded }},
	{Figure{"batches_received", "Batches of committed puts, as clients sent them.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesReceived }},
	{Figure{"batches_sent", "Messages with rows that were sent.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesSent }},
	{Figure{"batches_considered", "Stored batches of reads with a filter, whose statistics were looked at.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesConsidered }},
	{Figure{"batches_pruned", "Stored batches that reads left out by their statistics.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesPruned }},
	{Figure{"connections", "Connections that are open.", false, 0}, func(s *snapshot) int64 { return s.connections }},
	{Figure{"connections_accepted", "Connections that were made so far.", true, 0}, func(s *snapshot) int64 { return s.accepted }},
	{Figure{"compactions", "Layouts that were made by joining small batches.", true, 0}, func(s *snapshot) int64 { return s.counts.Compactions }},
	{Figure{"batches_compacted", "Stored batches that were joined.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesCompacted }},
	{Figure{"batches_joined", "Stored batches that small ones became when they were joined.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesJoined }},
	{Figure{"bytes_compacted", "Plain bytes that were written to join small batches.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesCompacted }},
	{Figure{"batches_deferred", "Stored batches that were encoded after their put.", true, 0}, func(s *snapshot) int64 { return s.counts.BatchesDeferred }},
	{Figure{"bytes_deferred", "Plain bytes of batches that were encoded after their put.", true, 0}, func(s *snapshot) int64 { return s.counts.BytesDeferred }},
	{Figure{"evictions", "Datasets that were evicted.", true, 0}, func(s *snapshot) int64 { return s.evictions }},
	{Figure{"datasets", "Datasets that are there.", false, 0}, func(s *snapshot) int64 { return int64(s.datasets) }},
	{Figure{"transactions", "Transactions that are open.", false, 0}, func(s *snapshot) int64 { return int64(s.transactions) }},
	{Figure{"leases", "Leases that run.", false, 0}, func(s *snapshot) int64 { return int64(s.counts.Leases) }},
	{Figure{"leases_granted", "Leases that were granted so far.", true, 0}, func(s *snapshot) int64 { return s.granted }},
	{Figure{"leased_bytes", "Stored bytes of what only leases keep.", false, 0}, func(s *snapshot) int64 { return s.counts.LeasedBytes }},
	{Figure{"budget_bytes", "The most that charged_bytes may come to; 0 for no limit.", false, 0}, func(s *snapshot) int64 { return s.store.Budget }},
	{Figure{"charged_bytes", "Memory that counts to the budget.", false, 0}, func(s *snapshot) int64 { return s.counts.ChargedBytes }},
	{Figure{"pinned_bytes", "Of charged_bytes, datasets that are pinned or leased.", false, 0}, func(s *snapshot) int64 { return s.store.Pinned }},
	{Figure{"staged_bytes", "Of charged_bytes, what running puts hold.", false, 0}, func(s *snapshot) int64 { return s.store.Staged }},
	{Figure{"in_flight_bytes", "Of charged_bytes, what was made for running reads, or is of datasets that are gone and still being read.", false, 0}, func(s *snapshot) int64 { return s.store.InFlight }},
	{Figure{"plain_bytes", "Stored bytes of plain batches that wait to be encoded.", false, 0}, func(s *snapshot) int64 { return s.store.Plain }},
	{Figure{"spilled_bytes", "Stored bytes that are in files only.", false, 0}, func(s *snapshot) int64 { return s.store.Spilled }},
	{Figure{"disk_bytes", "Bytes of all files of batches.", false, 0}, func(s *snapshot) int64 { return s.store.Disk }},
	{Figure{"disk_limit_bytes", "The most that disk_bytes may come to; 0 for no limit.", false, 0}, func(s *snapshot) int64 { return s.store.DiskLimit }},
	{Figure{"files", "Files of batches.", false, 0}, func(s *snapshot) int64 { return s.store.Files }},
	{Figure{"warm_bytes", "Free memory that is kept for reuse.", false, 0}, func(s *snapshot) int64 { return s.store.Warm }},
	{Figure{"transport_bytes", "Memory of what the transport has received and not handed over, of its buffers, and of those that wait to be used again.", false, 0}, func(s *snapshot) int64 { return s.intake.Received + s.intake.Buffers + s.frames }},
	{Figure{"transport_limit_bytes", "The most that the transport may have received and not handed over.", false, 0}, func(s *snapshot) int64 { return s.intake.Limit }},
	{Figure{"streams_given_up", "Calls that were ended because the transport held too much of their messages, or because these stood still.", true, 0}, func(s *snapshot) int64 { return s.intake.GivenUp }},
	{Figure{"goroutines", "Goroutines of the process.", false, 0}, func(s *snapshot) int64 { return int64(s.goroutines) }},
	{Figure{"mappings", "Mapped ranges of the process's memory; 0 where the system does not say.", false, 0}, func(s *snapshot) int64 { return s.mappings }},
	{Figure{"resident_bytes", "Memory that the process has, as the system counts it; 0 where it does not say.", false, 0}, func(s *snapshot) int64 { return s.resident }},
}

// Figures reads all figures of the server.
func (s *Server) Figures() []Figure {
	now := snapshot{
		counts: s.stats.server.json(), store: s.store.Stats(), intake: s.intake.Stats(), frames: s.frames.idle.Load(), datasets: s.catalog.Len(),
		transactions: s.catalog.Transactions(), evictions: s.catalog.Evictions(), resident: residentBytes(),
		connections: s.connections.Load(), accepted: s.accepted.Load(),
		granted:    s.catalog.LeasesGranted(),
		goroutines: runtime.NumGoroutine(), mappings: mappings(),
	}
	now.counts.ChargedBytes = now.store.Charged
	now.counts.Leases, now.counts.LeasedBytes = s.catalog.Leases()
	out := make([]Figure, len(figures))
	for i, f := range figures {
		out[i] = f.Figure
		out[i].Value = f.of(&now)
	}
	return out
}

// appendJSON writes figures as one JSON object.
func appendJSON(b []byte, figures []Figure) []byte {
	sep := byte('{')
	for _, f := range figures {
		b = append(b, sep, '"')
		b = append(append(b, f.Name...), '"', ':') // names need no escapes
		b = strconv.AppendInt(b, f.Value, 10)
		sep = ','
	}
	return append(b, '}')
}

// mappings is how many ranges of memory the process has mapped; 0 where the system does not say.
func mappings() int64 {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	return int64(bytes.Count(text, []byte("\n")))
}

// residentBytes is the memory that the process has, as the system counts it; 0 where the system does not say.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
