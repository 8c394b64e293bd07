package flight

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// model is what a server should have.
type model struct {
	*fixture
	r        *rand.Rand
	eviction Eviction
	rows     map[string][]int64
	pinned   map[string]bool
	leases   []*leasedRows
	refused  int
	next     int64
}

// TestEvictionModel does at random what clients do, under small budgets, with every codec and in every mode of eviction, and
// compares every row that is read with a plain map. At the end all is dropped, and nothing may be left.
func TestEvictionModel(t *testing.T) {
	steps := 150
	if underRace {
		steps = 50 // one call after the other
	}
	for _, eviction := range []Eviction{EvictionReject, EvictionDrop, EvictionSpill} {
		for _, memory := range []int64{2 * mib, 3 * mib, 6 * mib} {
			t.Run(fmt.Sprint(eviction, " ", memory>>20), func(t *testing.T) {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				m := &model{r: rand.New(rand.NewPCG(seed, 1)), eviction: eviction, rows: map[string][]int64{}, pinned: map[string]bool{}}
				dir := ""
				m.fixture = start(t, func(s *setup) {
					s.store.Memory, s.store.PutWait, s.store.Workers = memory, 20*time.Millisecond, 2
					s.store.MaxMessage, s.store.MaxBatchBytes = 64<<10, 64<<10
					s.service.Eviction = eviction
					if eviction == EvictionSpill {
						dir = t.TempDir()
						s.store.Dir, s.store.Spill = dir, true
						s.store.DiskBytes = 4 * memory
						s.store.PutWait = 200 * time.Millisecond
					}
				})
				for range steps {
					m.act()
					if st := m.store.Stats(); st.Charged > memory || st.Disk > 4*memory {
						t.Fatalf("%+v", st)
					}
				}
				m.end()
				t.Logf("%d puts were refused; %d evictions", m.refused, m.catalog.Evictions())
			})
		}
	}
}

func (m *model) name() string { return string(rune('a' + m.r.IntN(8))) }

func (m *model) act() {
	name := m.name()
	switch m.r.IntN(11) {
	case 0, 1, 2:
		m.putSome(name)
	case 3, 4, 5:
		m.read(name, name, m.rows[name])
	case 6:
		if m.tell("drop", name) {
			m.forget(name)
		}
	case 7:
		if pin := m.r.IntN(3) == 0; m.tell(map[bool]string{true: "pin", false: "unpin"}[pin], name) {
			m.pinned[name] = pin
		}
	case 8:
		var result evictResult
		err := m.action("evict", fmt.Sprintf(`{"dataset":%q}`, name), &result)
		switch {
		case err == nil && result.Dropped:
			m.forget(name)
		case status.Code(err) == codes.FailedPrecondition && m.pinned[name]:
		case err == nil, m.full(err), m.absent(name, err):
		default:
			m.Fatalf("evict %s: %v", name, err)
		}
	case 9:
		m.lease(name)
	case 10:
		if err := m.action("compact", fmt.Sprintf(`{"dataset":%q}`, name), new(compactResult)); err != nil && !m.full(err) && !m.absent(name, err) {
			m.Fatalf("compact %s: %v", name, err)
		}
	}
}

func (m *model) lease(name string) {
	if len(m.leases) > 0 && m.r.IntN(2) == 0 {
		i := m.r.IntN(len(m.leases))
		l := m.leases[i]
		m.read("", string(l.info.Endpoint[0].Ticket.Ticket), l.rows)
		if _, err := m.cancel(l.info); err != nil {
			m.Fatal(err)
		}
		m.leases = slices.Delete(m.leases, i, i+1)
		return
	}
	info, err := m.client.GetFlightInfo(m.context(), byPath(name))
	if err != nil {
		if !m.absent(name, err) {
			m.Fatalf("info of %s: %v", name, err)
		}
		return
	}
	if info.Endpoint[0].ExpirationTime == nil {
		return // leases hold as much as they may
	}
	if info.TotalRecords != int64(len(m.rows[name])) {
		m.Fatalf("info of %s: %d rows, want %d", name, info.TotalRecords, len(m.rows[name]))
	}
	m.leases = append(m.leases, &leasedRows{dataset: name, info: info, rows: slices.Clone(m.rows[name])})
}

// tell carries out an action on a dataset that may be absent.
func (m *model) tell(action, name string) bool {
	err := m.action(action, fmt.Sprintf(`{"dataset":%q}`, name), new(any))
	if err != nil && !m.absent(name, err) {
		m.Fatalf("%s %s: %v", action, name, err)
	}
	return err == nil
}

// absent tells whether an error is that a dataset is not there, which is right if it never was or may have been evicted.
func (m *model) absent(name string, err error) bool {
	if status.Code(err) != codes.NotFound {
		return false
	}
	if m.rows[name] == nil {
		return true
	}
	leased := slices.ContainsFunc(m.leases, func(l *leasedRows) bool { return l.dataset == name && !l.outlived })
	if m.eviction != EvictionDrop || m.pinned[name] || leased && strings.Contains(err.Error(), "to make room") {
		m.Fatalf("%s is gone, pinned %t, leased %t: %v", name, m.pinned[name], leased, err)
	}
	m.forget(name)
	return true
}

// forget notes that a dataset is gone. Leases outlive it; they are none on one that is put under its name later.
func (m *model) forget(name string) {
	delete(m.rows, name)
	delete(m.pinned, name)
	for _, l := range m.leases {
		if l.dataset == name {
			l.outlived = true
		}
	}
}

// full tells whether an error is that there is no room.
func (m *model) full(err error) bool {
	if status.Code(err) != codes.ResourceExhausted {
		return false
	}
	m.refused++
	return true
}

func (m *model) putSome(name string) {
	m.next += 1 << 40
	base, repeat := m.next, int64(1+m.r.IntN(3)*m.r.IntN(100))
	var rows []int
	for range 1 + m.r.IntN(12) {
		rows = append(rows, 1+m.r.IntN(12_000))
	}
	tb := numbers(func(row int64) int64 { return (base + row/repeat) * 0x5851F42D4C957F2D }, rows...)
	mode := []string{"replace", "append", "append"}[m.r.IntN(3)]
	command := fmt.Sprintf(`{"dataset":%q,"codec":%q,"encode":%q,"batching":%q,"mode":%q}`, name,
		[]string{"none", "lz4", "zstd"}[m.r.IntN(3)], []string{"now", "deferred"}[m.r.IntN(2)], []string{"auto", "keep"}[m.r.IntN(2)], mode)
	if _, err := m.send(described(byCommand(command), messagesOf(m, tb))); err != nil {
		if !m.full(err) {
			m.Fatalf("put %s: %v", name, err)
		}
		return
	}
	if mode == "replace" {
		m.rows[name] = nil
	} else if m.eviction == EvictionDrop && m.rows[name] != nil {
		// It may have been evicted before the append began, which then made it anew.
		info, err := m.client.GetFlightInfo(m.context(), byPath(name))
		if err != nil {
			if m.rows[name] = append(m.rows[name], tb.int64s()...); !m.absent(name, err) {
				m.Fatal(err)
			}
			return
		}
		if _, err := m.cancel(info); err != nil && info.Endpoint[0].ExpirationTime != nil {
			m.Fatal(err)
		}
		if info.TotalRecords == tb.rows() && !m.pinned[name] {
			m.rows[name] = nil
		}
	}
	m.rows[name] = append(m.rows[name], tb.int64s()...)
}

// read compares all rows of a ticket with what they should be. The name of a lease's is "".
func (m *model) read(name, ticket string, want []int64) {
	messages, err := read(m.context(), m.client, ticket)
	if err != nil {
		if m.full(err) || name != "" && m.absent(name, err) {
			return
		}
		m.Fatalf("get %s: %v", name, err)
	}
	if got := tableOf(m, messages).int64s(); !slices.Equal(got, want) {
		m.Fatalf("get %q: %d rows that differ from the %d put", name, len(got), len(want))
	}
}

func (m *model) end() {
	for _, l := range m.leases {
		m.read("", string(l.info.Endpoint[0].Ticket.Ticket), l.rows)
		if answer, err := m.cancel(l.info); err != nil || answer != arrowflight.CancelStatusCancelled {
			m.Errorf("end a lease: %v %v", answer, err)
		}
	}
	for name, rows := range m.rows {
		m.read(name, name, rows)
	}
	for _, g := range m.catalog.List("") {
		if err := m.action("drop", fmt.Sprintf(`{"dataset":%q}`, g.Dataset), new(any)); err != nil {
			m.Error(err)
		}
		g.Release()
	}
	m.settles(0)
	if st := m.store.Stats(); st.Plain != 0 || st.Spilled != 0 || st.Disk != 0 || st.Files != 0 {
		m.Errorf("at the end: %+v", st)
	}
}
