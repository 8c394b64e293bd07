package limits

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/descriptors"
)

func pattern(t interface{ Fatal(...any) }, s string) descriptors.Pattern {
	p, err := descriptors.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, ErrLimit) {
		t.Fatalf("%v, want an ErrLimit", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: want %s", err, w)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestQuotas(t *testing.T) {
	q := NewQuotas(80, []Quota{{pattern(t, "sales/**"), 100}, {pattern(t, "**"), 120}})
	a := q.Begin("sales/a", nil)
	must(t, a.Grow(60))
	refused(t, a.Grow(30), `dataset "sales/a" would have 90`, "at most 80", "--max-dataset-size")
	must(t, a.Grow(20))
	b := q.Begin("sales/b", nil)
	refused(t, b.Grow(21), `datasets "sales/**" would have 101`, "at most 100", "--quota")
	must(t, b.Grow(20))
	c := q.Begin("other", nil)
	refused(t, c.Grow(21), `datasets "**" would have 121`)
	must(t, c.Grow(20))
	b.Release()
	b.Release()
	must(t, b.Grow(1000)) // of what is over nothing counts
	must(t, q.Fits([]*Share{a}, 70))
	q.Sized("sales/a", 70, []*Share{a})
	must(t, q.Begin("sales/b", nil).Grow(30))
	if q.Begin("x", nil).account == nil || (*Quotas)(nil).Begin("x", nil) != nil {
		t.Error("shares")
	}
	must(t, (*Share)(nil).Grow(1))
	(*Share)(nil).Release()
}

// What replaces a dataset counts as far as it is larger; two that replace it count once.
func TestQuotasOfReplacements(t *testing.T) {
	q := NewQuotas(0, []Quota{{pattern(t, "**"), 100}})
	q.Sized("a", 60, nil)
	one, two := q.Begin("a", 1), q.Begin("a", 2)
	must(t, one.Grow(90))
	must(t, two.Grow(95))
	refused(t, two.Grow(6))
	more := q.Begin("a", nil) // an append may come after either
	must(t, more.Grow(5))
	refused(t, more.Grow(1))
	q.Sized("a", 90, []*Share{one})
	refused(t, more.Grow(1))
	two.Release()
	must(t, more.Grow(5))
	q.Sized("a", 0, nil) // dropped
	must(t, more.Grow(80))
	// Two of one transaction are one replacement.
	more.Release()
	q.Sized("a", 100, nil)
	three, four := q.Begin("a", 3), q.Begin("a", 3)
	must(t, three.Grow(50))
	must(t, four.Grow(50))
	refused(t, four.Grow(1))
	refused(t, q.Fits([]*Share{three, four}, 101))
	must(t, q.Fits([]*Share{three, four}, 30))
	q.Sized("a", 30, []*Share{three, four})
	if q.totals[0] != 30 || len(q.accounts) != 1 {
		t.Errorf("%d bytes of %d datasets are left", q.totals[0], len(q.accounts))
	}
}

// What was there before is counted and stays, whatever the quota.
func TestQuotasOfWhatWasThere(t *testing.T) {
	q := NewQuotas(10, []Quota{{pattern(t, "**"), 10}})
	q.Sized("a", 100, nil)
	s := q.Begin("a", "replaces")
	must(t, s.Grow(100))
	must(t, q.Fits([]*Share{s}, 100))
	refused(t, s.Grow(1))
	q.Sized("a", 5, []*Share{s})
	refused(t, q.Begin("b", nil).Grow(6))
}

func TestQuotasAtOnce(t *testing.T) {
	const most, each, puts = 1000, 7, 400
	q := NewQuotas(0, []Quota{{pattern(t, "**"), most}})
	var committed atomic.Int64
	var wg sync.WaitGroup
	for i := range puts {
		wg.Go(func() {
			name := string(rune('a' + i%7))
			s := q.Begin(name, nil)
			defer s.Release()
			for range each {
				if s.Grow(1) != nil {
					return
				}
			}
			if q.Fits([]*Share{s}, each) == nil {
				q.add(name, each, s)
				if committed.Add(each) > most {
					t.Error("more was committed than the quota")
				}
			}
		})
	}
	wg.Wait()
	if got := committed.Load(); got == 0 || q.totals[0] != got {
		t.Errorf("%d bytes were committed, %d are counted", got, q.totals[0])
	}
}

// add commits as a catalogue does, which reads and writes a dataset's size under its lock.
func (q *Quotas) add(dataset string, bytes int64, s *Share) {
	adding.Lock()
	defer adding.Unlock()
	q.mu.Lock()
	had := q.accounts[dataset].committed
	q.mu.Unlock()
	q.Sized(dataset, had+bytes, []*Share{s})
}

var adding sync.Mutex

// In any order of puts, ends and drops: what is committed is within the quotas, and counts are those of a model.
func TestQuotasModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQuotas(50, []Quota{{pattern(t, "a/*"), 60}, {pattern(t, "**"), 90}})
		sizes := map[string]int64{}
		type running struct {
			name string
			s    *Share
			has  int64
			adds bool
		}
		var puts []*running
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				p := &running{name: rapid.SampledFrom([]string{"a/x", "a/y", "b"}).Draw(t, "name"), adds: rapid.Bool().Draw(t, "adds")}
				var key any
				if !p.adds {
					key = p
				}
				p.s = q.Begin(p.name, key)
				puts = append(puts, p)
			},
			"grow": func(t *rapid.T) {
				if len(puts) == 0 {
					return
				}
				p := rapid.SampledFrom(puts).Draw(t, "put")
				n := rapid.Int64Range(1, 30).Draw(t, "bytes")
				if p.s.Grow(n) == nil {
					p.has += n
				}
			},
			"end": func(t *rapid.T) {
				if len(puts) == 0 {
					return
				}
				i := rapid.IntRange(0, len(puts)-1).Draw(t, "put")
				p := puts[i]
				puts = append(puts[:i:i], puts[i+1:]...)
				if rapid.Bool().Draw(t, "commits") {
					if err := q.Fits([]*Share{p.s}, p.has); err != nil {
						t.Fatalf("a put that was let in is refused: %v", err)
					}
					if p.adds {
						sizes[p.name] += p.has
					} else {
						sizes[p.name] = p.has
					}
					q.Sized(p.name, sizes[p.name], []*Share{p.s})
				}
				p.s.Release()
			},
			"drop": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a/x", "a/y", "b"}).Draw(t, "name")
				delete(sizes, name)
				q.Sized(name, 0, nil)
			},
			"": func(t *rapid.T) {
				for name, n := range sizes {
					if n > 50 {
						t.Fatalf("%s has %d bytes", name, n)
					}
				}
				if sizes["a/x"]+sizes["a/y"] > 60 || sizes["a/x"]+sizes["a/y"]+sizes["b"] > 90 {
					t.Fatalf("over a quota: %v", sizes)
				}
				if len(puts) == 0 && q.totals[1] != sizes["a/x"]+sizes["a/y"]+sizes["b"] {
					t.Fatalf("%d bytes are counted of %v", q.totals[1], sizes)
				}
			},
		})
	})
}
