package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const kib = 1 << 10

// kept is why a stream was given up; nil while it was not.
type kept struct{ reason atomic.Pointer[error] }

func (k *kept) fail(err error) {
	if !k.reason.CompareAndSwap(nil, &err) {
		panic("a stream was given up twice")
	}
}

func (k *kept) err() error {
	if p := k.reason.Load(); p != nil {
		return *p
	}
	return nil
}

// halves opens n streams, each on a connection of its own, that send a half of a message of size bytes, as far as the window
// lets them.
func halves(t *testing.T, m *Meter, n, size int) (clients []*client, streams []*Stream, ends []*kept) {
	for range n {
		c, k := connect(t, m), &kept{}
		s := c.open(1)
		s.Limit(0, k.fail)
		c.data(1, messageOf(size)[:min(size/2, int(m.opts.Window))])
		clients, streams, ends = append(clients, c), append(streams, s), append(ends, k)
	}
	return clients, streams, ends
}

// A message that fits the window comes by itself; a larger one needs a grant, and one larger than its stream takes is refused
// by its first bytes.
func TestNext(t *testing.T) {
	ctx := context.Background()
	m := New(Options{Window: 64 * kib})
	for _, size := range []int{0, 1, 1000, 48*kib - prefixBytes, 48*kib - prefixBytes + 1, 100 * kib, 1 << 30} {
		c := connect(t, m)
		s := c.open(1)
		s.Limit(1<<30-1, func(error) {})
		b := messageOf(min(size, 100*kib))
		copy(b, []byte{0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)})
		if size > 48*kib-prefixBytes {
			c.data(1, b[:prefixBytes])
		} else {
			c.data(1, b)
		}
		n, err := s.Next(ctx)
		want := int64(0)
		if size >= 48*kib-prefixBytes+1 && size < 1<<30 {
			want = int64(size)
		}
		if n != want || (err != nil) != (size == 1<<30) || err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: next %d, %v", size, n, err)
		}
		c.conn.Close()
	}
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib})
		c := connect(t, m)
		s := c.open(1)
		done := make(chan int64)
		go func() {
			for range 3 {
				n, _ := s.Next(ctx)
				done <- n
			}
		}()
		b := messageOf(1000)
		for i := range b {
			synctest.Wait()
			select {
			case <-done:
				t.Fatalf("ready after %d of %d bytes", i, len(b))
			default:
			}
			c.data(1, b[i:i+1])
		}
		if n := <-done; n != 0 {
			t.Errorf("next %d", n)
		}
		<-done // as it was not taken
		s.Took(int64(len(b)))
		ended, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("the reason"))
		if _, err := s.Next(ended); err == nil || err.Error() != "the reason" {
			t.Errorf("next after its context: %v", err)
		}
		c.answers(1)
		<-done
		c.conn.Close()
	})
}

// Too large a message gives its stream up where nobody asks for it, once.
func TestTooLargeIsGivenUp(t *testing.T) {
	m := New(Options{Window: 64 * kib})
	c, k := connect(t, m), &kept{}
	s := c.open(1)
	s.Limit(100*kib, k.fail)
	c.data(1, messageOf(200 * kib)[:prefixBytes])
	if !errors.Is(k.err(), ErrTooLarge) || !strings.Contains(k.err().Error(), "204800 bytes, at most 102400") {
		t.Errorf("%v", k.err())
	}
	c.data(1, make([]byte, 1000))
	k = &kept{}
	c.WriteSettings()
	s = c.open(3)
	c.data(3, messageOf(200 * kib)[:prefixBytes])
	s.Limit(100*kib, k.fail) // after the message has begun
	if !errors.Is(k.err(), ErrTooLarge) {
		t.Errorf("%v", k.err())
	}
	c.conn.Close()
}

// Grants are given as far as they fit, in the order of asking, and one is always given; small messages have their own.
func TestGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		m := New(Options{Bytes: 64 << 20, Message: 1 << 30, Wait: time.Minute})
		granted := make(chan int, 10)
		var streams []*Stream
		ask := func(ctx context.Context, i int, n int64) {
			c := connect(t, m)
			s := c.open(1)
			streams = append(streams, s)
			go func() {
				if s.Grant(ctx, own(s), n) == nil {
					granted <- i
				}
			}()
			synctest.Wait()
		}
		expect := func(want ...int) {
			t.Helper()
			synctest.Wait()
			got := []int{}
			for len(granted) > 0 {
				got = append(got, <-granted)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("granted %v, want %v", got, want)
			}
		}
		cancelled, cancel := context.WithCancel(ctx)
		ask(ctx, 0, 1<<30) // more than the lane, alone
		expect(0)
		ask(cancelled, 1, 1<<30)
		ask(ctx, 2, 10<<20)
		ask(ctx, 3, 6<<20)
		ask(ctx, 4, 6<<20)
		expect()
		ask(ctx, 5, SmallMessage)
		ask(ctx, 6, SmallMessage)
		ask(ctx, 7, SmallMessage)
		ask(ctx, 8, SmallMessage)
		expect(5, 6, 7)
		cancel()
		expect()
		streams[0].conn.Close()
		expect(2, 3)
		streams[2].conn.Close()
		expect(4)
		streams[6].conn.Close()
		expect(8)
		for _, s := range streams {
			s.conn.Close()
		}
		if m.small.used+m.large.used != 0 {
			t.Errorf("%d and %d bytes stay granted", m.small.used, m.large.used)
		}
	})
}

// Who waits for a grant in vain learns what holds it, and is no more in the way.
func TestGrantInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Wait: 3 * time.Second, Stall: time.Hour})
		_, s, _ := halves(t, m, 3, 100<<20)
		if err := s[0].Grant(context.Background(), own(s[0]), 100<<20); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := s[1].Grant(context.Background(), own(s[1]), 50<<20)
		if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "52428800 bytes waited 3s, others hold 104857600") {
			t.Errorf("%v", err)
		}
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("it waited %s", d)
		}
		s[0].conn.Close()
		if err := s[2].Grant(context.Background(), own(s[2]), 100<<20); err != nil {
			t.Error(err)
		}
		never := New(Options{Wait: -1})
		_, s, _ = halves(t, never, 2, 100<<20)
		s[0].Grant(context.Background(), own(s[0]), 100<<20)
		if err := s[1].Grant(context.Background(), own(s[1]), 100<<20); !errors.Is(err, ErrFull) {
			t.Errorf("%v", err)
		}
	})
}

// A message that stands still is given up, within a thirtieth of the time; one that moves, however slowly, is not, nor one
// that waits for its handler or its grant.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib, Stall: 30 * time.Second, Wait: time.Hour})
		clients, streams, ends := halves(t, m, 6, 2*kib)
		clients[0].answers(1)                               // ended
		clients[1].data(1, make([]byte, 1*kib+prefixBytes)) // complete, and not taken
		clients[2].data(1, make([]byte, 1*kib+prefixBytes)) // complete, with a half behind it
		clients[2].data(1, messageOf(2 * kib)[:1*kib])      //
		clients[3].data(1, make([]byte, 1*kib+prefixBytes)) // taken: nothing is under way
		streams[3].Took(2*kib + prefixBytes)                //
		large, waits, waiting := halves(t, m, 1, 200*kib)   // all that its window lets it
		for i := range 40 {
			time.Sleep(time.Second)
			clients[4].data(1, make([]byte, 1))
			if ends[5].err() != nil && i < 30 || ends[5].err() == nil && i > 32 {
				t.Fatalf("after %d s: %v", i, ends[5].err())
			}
		}
		for i, k := range ends {
			if (k.err() != nil) != (i == 5) {
				t.Errorf("stream %d: %v", i, k.err())
			}
		}
		if err := ends[5].err(); !errors.Is(err, ErrStalled) || !strings.Contains(err.Error(), "did not come for 30s") {
			t.Errorf("%v", err)
		}
		if waiting[0].err() != nil {
			t.Errorf("one that may send no more: %v", waiting[0].err())
		}
		// Its time begins with the grant, and what is taken lets the half behind it begin its own.
		waits[0].Grant(context.Background(), own(waits[0]), 200*kib)
		streams[2].Took(2*kib + prefixBytes)
		time.Sleep(29 * time.Second)
		if waiting[0].err() != nil || ends[2].err() != nil {
			t.Errorf("before its time: %v, %v", waiting[0].err(), ends[2].err())
		}
		time.Sleep(3 * time.Second)
		if waiting[0].err() == nil || ends[2].err() == nil {
			t.Error("they stand still and stay")
		}
		for _, c := range append(clients, large...) {
			c.conn.Close()
		}
		time.Sleep(time.Minute)
		if m.watched.Load() || m.Stats().GivenUp != 4 {
			t.Errorf("watched %v, %d were given up", m.watched.Load(), m.Stats().GivenUp)
		}
	})
}

// Who stands still with a grant that others wait for goes sooner: all others get through.
func TestStalledInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib, Wait: time.Hour})
		_, streams, ends := halves(t, m, 10, 64<<20)
		begin := time.Now()
		for i, s := range streams {
			go s.Grant(context.Background(), own(s), 64<<20)
			synctest.Wait()
			if i == 0 {
				time.Sleep(20 * time.Second)
				if ends[0].err() != nil {
					t.Error("it goes though nobody is waiting")
				}
			}
		}
		for i, k := range ends {
			for k.err() == nil {
				time.Sleep(time.Second)
			}
			if !errors.Is(k.err(), ErrStalled) {
				t.Errorf("%v", k.err())
			}
			streams[i].conn.end(1) // what its handler does
			synctest.Wait()
		}
		if d := time.Since(begin); d > 20*time.Second+9*4*time.Second+31*time.Second {
			t.Errorf("all were gone after %s", d)
		}
	})
}

// What is held without a grant is bounded over all connections: who stands still goes first, then the youngest.
func TestRelief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib, Bytes: 1 << 20, Stall: 30 * time.Second})
		const each = 40 * kib
		size := framesOf(each)
		clients, _, ends := halves(t, m, 20, 2*each)
		for range 3 {
			time.Sleep(1010 * time.Millisecond)
			for i, c := range clients {
				if i != 7 && i != 4 {
					c.data(1, []byte{0})
				}
			}
		}
		if h := m.held.Load(); h > 1<<20 {
			t.Fatalf("%d bytes are held", h)
		}
		gone := func(want ...int) {
			t.Helper()
			var got []int
			for i, k := range ends {
				if k.err() != nil {
					got = append(got, i)
					if !errors.Is(k.err(), ErrFull) {
						t.Errorf("%v", k.err())
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("given up %v, want %v", got, want)
			}
		}
		fill := func(n int) {
			c, _, e := halves(t, m, n, 2*each)
			clients, ends = append(clients, c...), append(ends, e...)
		}
		fill(int((1<<20 - m.held.Load()) / size))
		gone()
		fill(1)
		// An eighth of the bound has to come free: that is three streams, of which the youngest has sent a frame only.
		gone(4, 7, len(ends)-2, len(ends)-1)
		for _, c := range clients {
			c.conn.Close()
		}
		wants(t, m, 0, 0)
	})
}

// Small frames take many times their data: who sends a granted message in them is not received.
func TestTinyFrames(t *testing.T) {
	m := New(Options{Window: 64 * kib})
	c, k := connect(t, m), &kept{}
	s := c.open(1)
	s.Limit(0, k.fail)
	c.data(1, messageOf(1 << 20)[:10])
	if err := s.Grant(context.Background(), own(s), 1<<20); err != nil {
		t.Fatal(err)
	}
	for range 1 << 20 {
		c.WriteData(1, false, []byte{0})
		c.pass()
		if k.err() != nil {
			break
		}
	}
	if !errors.Is(k.err(), ErrFull) || m.held.Load() > 5<<18+200 {
		t.Errorf("%v, with %d bytes", k.err(), m.held.Load())
	}
}

// Who sends a byte now and then keeps no grant that others wait for; who sends as much as may be asked does, and so does anybody for
// whom nobody waits. Of a message that leaves others no half of the lane all must come in the time of a stall.
func TestTooSlowInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Bytes: 512 << 20, Window: 64 * kib, Stall: 30 * time.Second, Wait: time.Hour})
		const whole = 128 << 20 / 30 // bytes a second of a message that fills the lane
		for name, tc := range map[string]struct {
			size  int // of each message
			rate  int // bytes that come in a second
			waits bool
			gone  bool
		}{
			"a byte":                      {64 << 20, 2, true, true},
			"half of the least":           {64 << 20, LeastRate / 2, true, true},
			"the least":                   {64 << 20, LeastRate, true, false},
			"nobody waits":                {64 << 20, 2, false, false},
			"the least of a lane":         {128 << 20, LeastRate, true, true},
			"too slow for a lane":         {128 << 20, whole * 9 / 10, true, true},
			"in time for a lane":          {128 << 20, whole + 1, true, false},
			"nobody waits for the lane":   {128 << 20, 2, false, false},
			"more than a half, and slow":  {65 << 20, LeastRate, true, true},
			"more than a half, in time":   {65 << 20, 65 << 20 / 29, true, false},
			"more than a half, no others": {65 << 20, LeastRate, false, false},
		} {
			clients, streams, ends := halves(t, m, 3, tc.size)
			if err := streams[0].Grant(context.Background(), own(streams[0]), int64(tc.size)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			if tc.waits { // the first of them may find room
				for _, s := range streams[1:] {
					go s.Grant(ctx, own(s), int64(tc.size))
				}
			}
			for range 40 {
				time.Sleep(500 * time.Millisecond)
				clients[0].data(1, make([]byte, (tc.rate+1)/2))
				if tc.size <= 64<<20 {
					clients[1].data(1, make([]byte, LeastRate/2))
				}
			}
			if err := ends[0].err(); (err != nil) != tc.gone || err != nil && !errors.Is(err, ErrStalled) {
				t.Errorf("%s: %v", name, err)
			}
			if err := ends[0].err(); tc.gone && (err == nil || !strings.Contains(err.Error(), "fast enough while others wait")) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			for _, c := range clients {
				c.conn.Close()
			}
			synctest.Wait()
		}
		time.Sleep(time.Minute)
	})
}

// What was held at a grant says nothing of later messages, which come without one: a message that has only begun when a sweep comes
// stays, also where others wait.
func TestAfterItsGrant(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := New(Options{Window: 512 * kib, Stall: 30 * time.Second, Wait: time.Hour})
			clients, streams, ends := halves(t, m, 3, 64<<20)
			if err := streams[0].Grant(context.Background(), own(streams[0]), 64<<20); err != nil {
				t.Fatal(err)
			}
			clients[0].data(1, make([]byte, 64<<20+prefixBytes-int(streams[0].bytes)))
			streams[0].Took(64<<20 + prefixBytes)
			ctx, cancel := context.WithCancel(context.Background())
			if waits {
				if err := streams[1].Grant(ctx, own(streams[1]), 64<<20); err != nil {
					t.Fatal(err)
				}
				go streams[2].Grant(ctx, own(streams[2]), 64<<20)
			}
			for range 20 {
				clients[0].data(1, messageOf(1000)[:100])
				clients[1].data(1, make([]byte, 64<<20/59)) // as fast as one that fills the lane must come
				time.Sleep(500 * time.Millisecond)
				clients[0].data(1, make([]byte, prefixBytes+900))
				streams[0].Took(prefixBytes + 1000)
			}
			for i, k := range ends {
				if k.err() != nil {
					t.Errorf("others wait %v: stream %d: %v", waits, i, k.err())
				}
			}
			cancel()
			for _, c := range clients {
				c.conn.Close()
			}
			time.Sleep(time.Minute)
		})
	}
}
