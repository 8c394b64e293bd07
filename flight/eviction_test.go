package flight

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/cockroachdb/datadriven"
	"google.golang.org/grpc/status"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
)

// scene is a server that a script of testdata/eviction acts on, and what it should have: by dataset, and by lease.
type scene struct {
	*fixture
	clock  *clock
	rows   map[string][]int64
	leases map[string]*leasedRows
	next   int64 // seeds the rows of the next put
}

// leasedRows are the rows that a lease holds.
type leasedRows struct {
	dataset string
	info    *arrowflight.FlightInfo
	rows    []int64

	outlived bool // the dataset that it was taken on is gone
}

// TestEviction runs scripts of puts, reads, pins, leases, evictions and drops, and states the exact bytes after every step:
// charged, of bodies that lie in files only, and of those files. A file's own bytes change with its format; then run the test
// with -rewrite and look at the difference.
//
//	server eviction=(reject|drop|spill) memory=BYTES   a new server; it spills if it has a folder
//	put NAME [rows=N] [mode=append]                      one batch, kept as it comes, of 8 KiB for every 1,024 rows
//	get NAME, get lease=NAME                             compares every value
//	lease NAME as=NAME                                   GetFlightInfo; end NAME cancels it
//	pin, unpin, evict, drop NAME
//	wait SECONDS                                         moves the clock
func TestEviction(t *testing.T) {
	datadriven.Walk(t, "testdata/eviction", func(t *testing.T, path string) {
		var s *scene
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "server" {
				s = openScene(t, d)
				return s.state()
			}
			s.fixture = s.in(t)
			answer := s.step(t, d)
			return answer + s.state()
		})
	})
}

func openScene(t *testing.T, d *datadriven.TestData) *scene {
	var eviction string
	var memory int64
	d.ScanArgs(t, "eviction", &eviction)
	d.ScanArgs(t, "memory", &memory)
	f, c := startClocked(t, func(s *setup) {
		s.store.Memory, s.store.PutWait, s.store.Workers = memory, -1, 1
		s.service.Eviction = Eviction(eviction)
		if s.service.Eviction == EvictionSpill {
			s.store.PutWait = patience
			s.store.Dir, s.store.Spill = t.TempDir(), true
		}
	})
	return &scene{f, c, map[string][]int64{}, map[string]*leasedRows{}, 0}
}

// step carries one command out and says how it went.
func (s *scene) step(t *testing.T, d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		name = d.CmdArgs[0].Key
	}
	object := fmt.Sprintf(`{"dataset":%q}`, name)
	var err error
	switch d.Cmd {
	case "put":
		err = s.putRows(t, d, name)
	case "get":
		err = s.compare(t, d, name)
	case "lease":
		var as string
		d.ScanArgs(t, "as", &as)
		var info *arrowflight.FlightInfo
		if info, err = s.client.GetFlightInfo(s.context(), byPath(name)); err == nil {
			s.leases[as] = &leasedRows{dataset: name, info: info, rows: slices.Clone(s.rows[name])}
		}
	case "end":
		var answer arrowflight.CancelStatus
		if answer, err = s.cancel(s.leases[name].info); err == nil && answer != arrowflight.CancelStatusCancelled {
			return fmt.Sprintln(answer)
		}
	case "drop":
		if err = s.action("drop", object, new(any)); err == nil {
			delete(s.rows, name)
		}
	case "pin", "unpin":
		err = s.action(d.Cmd, object, new(any))
	case "evict":
		var result evictResult
		if err = s.action("evict", object, &result); err == nil {
			s.settled()
			return fmt.Sprintf("dropped %t, freed %d\n", result.Dropped, result.FreedBytes)
		}
	case "wait":
		seconds := 0
		fmt.Sscan(d.CmdArgs[0].Key, &seconds)
		s.clock.forward(time.Duration(seconds) * time.Second)
	default:
		d.Fatalf(t, "no such command")
	}
	if err != nil {
		return s.masked(err)
	}
	return "ok\n"
}

// varying is what changes from run to run: times and the ids of generations.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z|[0-9a-f]{16}-`)

// masked is an error without it.
func (s *scene) masked(err error) string {
	return status.Code(err).String() + ": " + varying.ReplaceAllString(status.Convert(err).Message(), "…") + "\n"
}

func (s *scene) putRows(t *testing.T, d *datadriven.TestData, name string) error {
	rows, mode := 64<<10, "replace"
	d.MaybeScanArgs(t, "rows", &rows)
	d.MaybeScanArgs(t, "mode", &mode)
	s.next += 1 << 40
	base := s.next
	tb := numbers(func(row int64) int64 { return (base + row) * 0x5851F42D4C957F2D }, rows)
	command := fmt.Sprintf(`{"dataset":%q,"codec":"none","batching":"keep","mode":%q}`, name, mode)
	if _, err := s.send(described(byCommand(command), messagesOf(t, tb))); err != nil {
		return err
	}
	if mode != "append" {
		s.rows[name] = nil
	}
	s.rows[name] = append(s.rows[name], tb.int64s()...)
	return nil
}

// compare reads a dataset, or what a lease holds, and compares every value.
func (s *scene) compare(t *testing.T, d *datadriven.TestData, name string) error {
	ticket, want := name, s.rows[name]
	var lease string
	if d.MaybeScanArgs(t, "lease", &lease); lease != "" {
		l := s.leases[lease]
		ticket, want = string(l.info.Endpoint[0].Ticket.Ticket), l.rows
	}
	messages, err := read(s.context(), s.client, ticket)
	if err != nil {
		return err
	}
	if got := tableOf(t, messages).int64s(); !slices.Equal(got, want) {
		d.Fatalf(t, "%d rows that differ from the %d put", len(got), len(want))
	}
	return nil
}

// settled waits until what goes on behind calls is over: bodies leave memory, and what was sent is given back.
func (s *scene) settled() batchstore.Stats {
	last, same := s.store.Stats(), 0
	s.eventually("the store comes to rest", func() bool {
		time.Sleep(2 * time.Millisecond)
		now := s.store.Stats()
		now.Warm = 0
		// Room is made ahead: an eighth of the budget is always left, and a sixteenth is made free beside it.
		if ahead := now.Budget * 3 / 16; s.store.Spills() && now.Charged > now.Budget-ahead {
			same = 0
		} else if now == last {
			same++
		} else {
			last, same = now, 0
		}
		return same >= 10
	})
	return last
}

// described is what describe tells of a generation.
func (s *scene) described(g *catalog.Generation) (d catalog.Description) {
	text, err := s.catalog.Describe(g)
	if err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		s.Fatal(err)
	}
	return d
}

// state is the exact bytes, and where each dataset's are.
func (s *scene) state() string {
	st := s.settled()
	var w strings.Builder
	fmt.Fprintf(&w, "charged %d, spilled %d, on disk %d in %d files\n", st.Charged, st.Spilled, st.Disk, st.Files)
	if st.Budget > 0 && st.Charged > st.Budget {
		s.Errorf("%d bytes are charged of %d", st.Charged, st.Budget)
	}
	for _, g := range s.catalog.List("") {
		resident, filed := 0, 0
		for _, b := range wholeBatches(g) {
			if b.Resident() {
				resident++
			}
			if b.Filed() {
				filed++
			}
		}
		told := s.described(g)
		fmt.Fprintf(&w, "  %s: %d rows, %d batches, %d in memory (%d bytes), %d in files (%d bytes)",
			g.Dataset, g.Rows, len(g.Batches), resident, told.MemoryBytes, filed, told.FileBytes)
		if g.Pinned() {
			w.WriteString(", pinned")
		}
		w.WriteString("\n")
		g.Release()
	}
	return w.String()
}
