package batchstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flightcache/flightcache/batchstore/arena"
)

const mib = 1 << 20

// budgeted is a store of 8 MiB, of which received bodies may take 7.
func budgeted(t testing.TB) *Store {
	t.Helper()
	s, err := New(Options{Memory: 8 * mib, Workers: 1, Arena: arena.Options{ReserveBytes: 64 * mib, Poison: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if st := s.Stats(); st.Charged != 0 || st.Staged != 0 || st.InFlight != 0 || len(s.budget.puts) != 0 || len(s.budget.queue) != 0 {
			t.Errorf("at the end: %+v, %d puts, %d waiters", st, len(s.budget.puts), len(s.budget.queue))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustAlloc(t testing.TB, c *Claim, n int) arena.Block {
	t.Helper()
	b, err := c.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// request is an Alloc on a goroutine of its own.
type request struct {
	done  chan struct{} // closed when the rest is set
	block arena.Block
	err   error
	took  time.Duration
}

func ask(alloc func() (arena.Block, error)) *request {
	r := &request{done: make(chan struct{})}
	start := time.Now()
	go func() {
		r.block, r.err = alloc()
		r.took = time.Since(start)
		close(r.done)
	}()
	synctest.Wait()
	return r
}

func askFor(c *Claim, n int) *request {
	return ask(func() (arena.Block, error) { return c.Alloc(n) })
}

func (r *request) ended() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *request) served(t *testing.T) {
	t.Helper()
	if !r.ended() || r.err != nil {
		t.Fatal("not served")
	}
}

func (r *request) waits(t *testing.T) {
	t.Helper()
	if r.ended() {
		t.Fatalf("it does not wait: %v", r.err)
	}
}

func (r *request) failed(t *testing.T, want string) {
	t.Helper()
	if !r.ended() {
		t.Fatalf("it waits, want an error with %q", want)
	}
	if !errors.Is(r.err, ErrMemory) || !strings.Contains(r.err.Error(), want) {
		t.Fatalf("%v; want ErrMemory with %q", r.err, want)
	}
}

func TestBudgetWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		ctx := t.Context()
		kept, err := s.Alloc(5 * mib) // a dataset's
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := s.PutClaim(ctx), s.PutClaim(ctx), s.PutClaim(ctx)
		first := mustAlloc(t, a, 2*mib)
		second, third := askFor(b, 2*mib), askFor(c, mib)
		second.waits(t)
		third.waits(t) // in order of arrival, though there will be room for it first
		time.Sleep(5 * time.Second)
		Free(&first)
		second.served(t)
		third.waits(t)
		Free(&kept)
		third.served(t)
		Free(&second.block)
		Free(&third.block)
		for _, x := range []*Claim{a, b, c} {
			x.End()
		}
	})
}

func TestBudgetPutWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		kept, _ := s.Alloc(6 * mib)
		c := s.PutClaim(t.Context())
		r := askFor(c, 2*mib)
		r.waits(t)
		time.Sleep(10*time.Second - 1)
		r.waits(t)
		time.Sleep(time.Nanosecond)
		r.failed(t, "2097152 bytes more are wanted; 6291456 of 8388608 bytes are taken: datasets 6291456 (pinned 0), staged by puts 0, in flight to readers 0")
		read := s.ReadClaim(t.Context())
		r = askFor(read, 3*mib)
		time.Sleep(2 * time.Second)
		r.failed(t, "drop datasets")
		for name, x := range map[string]*request{"put": askFor(c, 8*mib), "read": askFor(read, 8*mib+1)} {
			if x.failed(t, "alone is more"); x.took != 0 {
				t.Errorf("%s: it waited %s for what can never be", name, x.took)
			}
		}
		Free(&kept)
		c.End()
		read.End()
	})
}

func TestBudgetEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		kept, _ := s.Alloc(6 * mib)
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, ended := s.PutClaim(ctx), s.PutClaim(t.Context())
		r, e := askFor(cancelled, 2*mib), askFor(ended, 2*mib)
		cancel()
		ended.End()
		for _, x := range []*request{r, e} {
			if !x.ended() || !errors.Is(x.err, context.Canceled) {
				t.Error("it is not ended with the cause")
			}
		}
		cancelled.End()
		Free(&kept)
	})
}

// A put that holds all there is fails at once, as nothing else could give it room.
func TestBudgetPutLargerThanIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		c := s.PutClaim(t.Context())
		b := mustAlloc(t, c, 6*mib)
		c.running.Add(1) // a job goes on, and may free something
		r := askFor(c, 2*mib)
		r.waits(t)
		c.running.Add(-1)
		s.budget.freed()
		if r.failed(t, "put less at once"); r.took != 0 {
			t.Errorf("it waited %s", r.took)
		}
		Free(&b)
		c.End()
	})
}

// Puts that wait for each other: the youngest fails at once, and its memory serves the others.
func TestBudgetStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		var claims [3]*Claim
		var blocks [3]arena.Block
		var waiting [3]*request
		for i := range claims {
			claims[i] = s.PutClaim(t.Context())
			blocks[i] = mustAlloc(t, claims[i], 2*mib)
		}
		for i := range claims {
			waiting[i] = askFor(claims[i], 3*mib)
		}
		waiting[2].failed(t, "this one is the youngest")
		waiting[0].waits(t)
		Free(&blocks[2]) // as its put does when it is told
		claims[2].End()
		waiting[0].served(t)
		waiting[1].waits(t)
		Free(&waiting[0].block)
		Free(&blocks[0])
		claims[0].End()
		waiting[1].served(t)
		if waiting[1].took != 0 {
			t.Errorf("it took %s", waiting[1].took)
		}
		Free(&waiting[1].block)
		Free(&blocks[1])
		claims[1].End()
	})
}

// A put that has stored all counts its facts from what received bodies leave free: those that wait for room wait for it to end.
func TestBudgetServesFactsOfFinishedPuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		finished, other := s.PutClaim(t.Context()), s.PutClaim(t.Context())
		stored := mustAlloc(t, finished, 4*mib)
		stored.Move(nil) // as the end of an ingest does
		received := mustAlloc(t, other, 3*mib)
		waiting := askFor(other, mib)
		waiting.waits(t)
		var charge *Charge
		facts := ask(func() (b arena.Block, err error) {
			charge, err = finished.Charge(1000)
			return b, err
		})
		facts.served(t)
		finished.End()
		charge.Release()
		Free(&stored)
		waiting.served(t)
		Free(&waiting.block)
		Free(&received)
		other.End()
	})
}

// Where datasets hold memory too, a drop may come: puts wait their time, and then the younger one gives way if that helps.
func TestBudgetYoungerGivesWay(t *testing.T) {
	for name, more := range map[string]bool{"it helps": false, "it does not": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := budgeted(t)
				kept, _ := s.Alloc(3 * mib)
				old, young := s.PutClaim(t.Context()), s.PutClaim(t.Context())
				a, b := mustAlloc(t, old, 2*mib), mustAlloc(t, young, 2*mib)
				n := 2 * mib
				if more {
					n = 3 * mib
				}
				r := askFor(old, n)
				time.Sleep(time.Second)
				y := askFor(young, mib)
				time.Sleep(9 * time.Second)
				if more {
					r.failed(t, "none came free in time")
					y.waits(t)
					Free(&a)
					old.End()
					y.served(t)
				} else {
					y.failed(t, "youngest")
					r.waits(t)
					Free(&b)
					r.served(t)
					old.End()
				}
				young.End()
				for _, x := range []*arena.Block{&a, &b, &r.block, &y.block, &kept} {
					Free(x)
				}
			})
		})
	}
}

// Work on what was received, and reads, find room where received bodies do not, and are served before them.
func TestBudgetOrderOfClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		kept, _ := s.Alloc(5 * mib)
		put, read := s.PutClaim(t.Context()), s.ReadClaim(t.Context())
		body := mustAlloc(t, put, 2*mib)
		work, err := put.memory(forWork, true).alloc(mib)
		if err != nil {
			t.Fatal(err)
		}
		other := s.PutClaim(t.Context())
		receive := askFor(other, 2*mib)
		reading := askFor(read, mib)
		working := ask(func() (arena.Block, error) { return put.memory(forWork, true).alloc(mib) })
		receive.waits(t)
		reading.waits(t)
		working.waits(t)
		Free(&work)
		working.served(t)
		reading.waits(t)
		Free(&working.block)
		reading.served(t)
		if st := s.Stats(); st.InFlight != mib || st.Staged != 2*mib || st.Datasets != 5*mib {
			t.Errorf("%+v", st)
		}
		receive.waits(t)
		Free(&kept)
		receive.served(t)
		for _, x := range []*arena.Block{&body, &receive.block, &reading.block} {
			Free(x)
		}
		for _, c := range []*Claim{put, read, other} {
			c.End()
		}
	})
}

// shelf is a holder of datasets for tests.
type shelf struct {
	mu    sync.Mutex
	lots  []arena.Block
	asked []int64
}

// Evict lets go of the first lot.
func (s *shelf) Evict(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, n)
	if len(s.lots) == 0 {
		return false
	}
	Free(&s.lots[0])
	s.lots = s.lots[1:]
	return true
}

// Held is made up.
func (s *shelf) Held() (pinned, leaving int64) { return 17, 0 }

func TestBudgetEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		var d shelf
		for range 3 {
			b, err := s.Alloc(2 * mib)
			if err != nil {
				t.Fatal(err)
			}
			d.lots = append(d.lots, b)
		}
		s.Attach(&d)
		c := s.PutClaim(t.Context())
		b := mustAlloc(t, c, 4*mib)
		if len(d.lots) != 1 || len(d.asked) != 2 || d.asked[0] != 3*mib || d.asked[1] != mib {
			t.Errorf("%d datasets are left, asked for %d", len(d.lots), d.asked)
		}
		read := s.ReadClaim(t.Context())
		r := askFor(read, 4*mib)
		time.Sleep(3 * time.Second)
		r.failed(t, "(pinned 17)")
		if len(d.lots) != 1 {
			t.Error("a read evicted something")
		}
		d.Evict(0)
		Free(&b)
		c.End()
		read.End()
	})
}

// Joining waits for a short time and only while nobody else does, and evicts nothing.
func TestBudgetJoinsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		kept, err := s.Alloc(6 * mib)
		if err != nil {
			t.Fatal(err)
		}
		d := shelf{lots: []arena.Block{kept}}
		s.Attach(&d)
		join := s.JoinClaim(t.Context())
		block := mustAlloc(t, join, 2*mib) // what puts leave free too
		first := askFor(join, mib)
		first.waits(t)
		time.Sleep(readWait)
		first.failed(t, "in time")
		second := askFor(join, mib)
		second.waits(t)
		read := s.ReadClaim(t.Context())
		reader := askFor(read, mib)
		second.failed(t, "") // at once
		askFor(join, mib).failed(t, "")
		if len(d.asked) != 0 {
			t.Error("joining evicted something")
		}
		Free(&block)
		reader.served(t)
		Free(&reader.block)
		d.Evict(0)
		third := askFor(join, mib)
		third.served(t)
		Free(&third.block)
		read.End()
		join.End()
	})
}

func TestBudgetCountsFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := budgeted(t)
		c := s.PutClaim(t.Context())
		m := c.memory(forWork, false)
		if err := m.count(8 * mib); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Alloc(1); !errors.Is(err, ErrMemory) {
			t.Errorf("a block beside facts that fill the budget: %v", err)
		}
		s.budget.facts.Add(-8 * mib)
		b := mustAlloc(t, c, 6*mib)
		if err := m.count(2*mib + 1); !errors.Is(err, ErrMemory) {
			t.Errorf("facts beside blocks: %v", err)
		}
		Free(&b)
		c.End()
	})
}

// However requests come, wait, are cancelled and served: the bound holds, nothing is lost, and everyone ends.
func TestBudgetAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s, err := New(Options{Memory: 8 * mib, Workers: 1, PutWait: 50 * time.Millisecond, Arena: arena.Options{ReserveBytes: 64 * mib, Poison: true}})
	if err != nil {
		t.Fatal(err)
	}
	var over atomic.Int64
	stop := make(chan struct{})
	var poll, wg sync.WaitGroup
	poll.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if n := s.Stats().Charged; n > 8*mib {
					over.Store(n)
				}
			}
		}
	})
	var served, refused atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 25 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+r.IntN(200))*time.Millisecond)
				c := s.PutClaim(ctx)
				switch r.IntN(8) {
				case 0, 1:
					c.End()
					c = s.ReadClaim(ctx)
				case 2:
					c.End()
					c = s.JoinClaim(ctx)
				}
				var held []arena.Block
				for range 1 + r.IntN(4) {
					size := 1 + r.IntN(3*mib)
					if r.IntN(2) == 0 {
						size = 1 + r.IntN(20<<10)
					}
					b, err := c.Alloc(size)
					if err != nil {
						refused.Add(1)
						break
					}
					served.Add(1)
					held = append(held, b)
				}
				for i := range held {
					Free(&held[i])
				}
				c.End()
				cancel()
			}
		})
	}
	wg.Wait()
	close(stop)
	poll.Wait()
	if n := over.Load(); n != 0 {
		t.Errorf("%d bytes were charged", n)
	}
	if st := s.Stats(); st.Charged != 0 || st.Staged != 0 || st.InFlight != 0 || len(s.budget.queue) != 0 || served.Load() == 0 {
		t.Errorf("%+v, %d wait, %d served, %d refused", st, len(s.budget.queue), served.Load(), refused.Load())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
