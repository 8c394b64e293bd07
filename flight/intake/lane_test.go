package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asks has a new stream ask for a grant for a caller, and waits until it has it or waits.
func asks(t *testing.T, m *Meter, who string, n int64) (s *Stream, granted func() bool) {
	s = connect(t, m).open(1)
	given := make(chan struct{})
	go func() {
		if s.Grant(context.Background(), who, n) == nil {
			close(given)
		}
	}()
	synctest.Wait()
	return s, func() bool {
		synctest.Wait()
		select {
		case <-given:
			return true
		default:
			return false
		}
	}
}

// A caller that sends as slowly as it may on a hundred streams is in nobody's way.
func TestSlowStreamsOfOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib, Wait: 10 * time.Second})
		const size = 4 << 20
		ctx, cancel := context.WithCancel(context.Background())
		clients, streams, _ := halves(t, m, 100, size)
		for i, s := range streams {
			go func() {
				for ctx.Err() == nil && s.Grant(ctx, "slow", size) == nil {
					for sent := int64(0); sent < size && ctx.Err() == nil; sent += LeastRate {
						clients[i].data(1, make([]byte, LeastRate))
						time.Sleep(time.Second)
					}
					s.Took(size + prefixBytes)
				}
			}()
		}
		time.Sleep(3 * time.Second)
		for range 100 {
			begin := time.Now()
			s := connect(t, m).open(1)
			if err := s.Grant(context.Background(), "another", size); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); d > 0 {
				t.Fatalf("it waited %s", d)
			}
			time.Sleep(100 * time.Millisecond)
			s.conn.Close()
		}
		cancel()
		for _, c := range clients {
			c.conn.Close()
		}
		time.Sleep(time.Minute)
	})
}

// One caller has a half of the lane, two a third each, and so on; who has nothing has room; what one gives back goes to who has less.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Bytes: 48 << 20, Wait: time.Hour}) // 12 MiB in the lane
		var all []*Stream
		ask := func(who string, want bool) (*Stream, func() bool) {
			t.Helper()
			s, granted := asks(t, m, who, 1<<20)
			if all = append(all, s); granted() != want {
				t.Errorf("message %d, of %s: granted %v", len(all), who, !want)
			}
			return s, granted
		}
		first, _ := ask("a", true)
		for range 5 {
			ask("a", true)
		}
		_, seventh := ask("a", false)
		b, _ := ask("b", true)
		ask("b", true)
		ask("b", true)
		_, fourth := ask("b", false)
		c, _ := ask("c", true)
		_, second := ask("c", false)
		b.conn.Close()
		if seventh() || fourth() || !second() {
			t.Error("what was given back does not go to the caller that has the least")
		}
		first.conn.Close()
		if seventh() || fourth() {
			t.Error("as much as they have does not stay free")
		}
		c.conn.Close()
		all[len(all)-1].conn.Close()
		if seventh() || !fourth() {
			t.Error("what was given back does not go to the caller that has less")
		}
		for _, s := range all {
			s.conn.Close()
		}
		synctest.Wait()
		for len(m.small.turns) > 0 || m.small.used > 0 { // those that waited have come, on streams that have ended
			t.Fatalf("%d wait, %d bytes are granted", len(m.small.turns), m.small.used)
		}
		if len(m.small.holders) > 0 {
			t.Errorf("%d callers are remembered", len(m.small.holders))
		}
	})
}

// Callers that wait are served in turn, each in its own order, however many messages one of them has.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		m := New(Options{Bytes: 64 << 20, Message: 64 << 20, Wait: time.Hour})
		whole, _ := asks(t, m, "first", 16<<20)
		var order []string
		ask := func(who string, i int) {
			s := connect(t, m).open(1)
			go func() {
				if err := s.Grant(ctx, who, 16<<20); err != nil {
					t.Error(err)
				}
				order = append(order, fmt.Sprint(who, i))
				time.Sleep(time.Second) // one at a time
				s.conn.Close()
			}()
			synctest.Wait()
		}
		for i := range 4 {
			ask("a", i)
		}
		ask("b", 0)
		ask("b", 1)
		ask("c", 0)
		whole.conn.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Join(order, " "); got != "a0 b0 c0 a1 b1 a2 a3" {
			t.Errorf("served %s", got)
		}
	})
}

// A large message of a caller that has nothing is not passed for ever by the small ones of others.
func TestLargeIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Bytes: 64 << 20, Wait: time.Hour})
		a, _ := asks(t, m, "a", 6<<20)
		b, large := asks(t, m, "b", 12<<20)
		c, small := asks(t, m, "c", 6<<20)
		if large() || small() {
			t.Error("granted without room, or past who waits")
		}
		a.conn.Close()
		if !large() || small() {
			t.Error("the large one is not next")
		}
		b.conn.Close()
		if !small() {
			t.Error("nobody is in the way any more")
		}
		c.conn.Close()
	})
}

// Who waits in vain for its own others learns that it is them.
func TestShareInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Bytes: 64 << 20, Stall: time.Hour})
		asks(t, m, "a", 8<<20)
		err := connect(t, m).open(1).Grant(context.Background(), "a", 7<<20)
		if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "others of the same caller hold 8388608 bytes, its share") {
			t.Errorf("%v", err)
		}
		if len(m.large.turns) > 0 || m.large.used != 8<<20 {
			t.Errorf("%d wait, %d bytes are granted", len(m.large.turns), m.large.used)
		}
	})
}

// Whatever is asked, given up and given back: the bound holds, nothing waits for ever that could be had, and nothing stays.
func TestLaneModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 0))
		m := New(Options{Bytes: 64 << 20, Message: 32 << 20, Wait: 20 * time.Second, Stall: time.Hour})
		var granted, failed atomic.Int64
		for i := range 400 {
			who := fmt.Sprint(r.IntN(5))
			n := int64(1+r.IntN(int([]int64{SmallMessage, 32 << 20}[i%2]))) | 1
			hold, patience := time.Duration(r.IntN(3000))*time.Millisecond, time.Duration(r.IntN(30))*time.Second
			s := connect(t, m).open(1)
			go func() {
				defer s.conn.Close()
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if err := s.Grant(ctx, who, n); err != nil {
					failed.Add(1)
					return
				}
				granted.Add(1)
				time.Sleep(hold)
			}()
			synctest.Wait()
			m.mu.Lock()
			for _, l := range []*lane{&m.small, &m.large} {
				sum := int64(0)
				for _, h := range l.holders {
					sum += h.used
				}
				if sum != l.used || l.used > max(l.most, 32<<20) {
					t.Fatalf("%d bytes are granted, %d by callers", l.used, sum)
				}
				for _, h := range l.turns {
					if first := h.queue[0].n; l.shares(h, first) && l.fits(first) && !l.stuck {
						t.Fatalf("%s waits for what it could have", h.who)
					}
				}
			}
			m.mu.Unlock()
			time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if granted.Load()+failed.Load() != 400 || granted.Load() < 100 {
			t.Errorf("%d granted, %d failed", granted.Load(), failed.Load())
		}
		for _, l := range []*lane{&m.small, &m.large} {
			if l.used != 0 || len(l.turns) != 0 || len(l.holders) != 0 || l.stuck {
				t.Errorf("what stays: %+v", l)
			}
		}
	})
}
