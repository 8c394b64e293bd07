package intake

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A message that was lent stays counted, with its grant, until it is released, while the next one of its stream comes.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Bytes: 96 << 20, Window: 64 * kib, Wait: -1})
		const size, another = 6 << 20, 13 << 20 // the first twice is a caller's share; the second has room beside one, not two
		clients, streams, _ := halves(t, m, 2, size)
		c, s := clients[0], streams[0]
		if err := s.Grant(context.Background(), own(s), size); err != nil {
			t.Fatal(err)
		}
		c.data(1, make([]byte, size+prefixBytes-int(s.bytes)))
		first := s.Lend()
		s.Took(size + prefixBytes)
		held := framesOf(64*kib) + framesOf(size+prefixBytes-64*kib)
		other := framesOf(64 * kib)
		wants(t, m, held+other, other)

		c.data(1, messageOf(size)[:1000])
		if !s.GrantAtOnce(own(s), size) {
			t.Fatal("there is room for a second one")
		}
		if streams[1].GrantAtOnce(own(streams[1]), another) {
			t.Error("there is no room for a third one")
		}
		c.data(1, make([]byte, size+prefixBytes-1000))
		second := s.Lend()
		s.Took(size + prefixBytes)
		first.Release()
		first.Release()
		if !streams[1].GrantAtOnce(own(streams[1]), another) {
			t.Error("what was released has not made room")
		}
		if m.large.used != size+another {
			t.Errorf("%d bytes are granted", m.large.used)
		}
		second.Release()

		none := s.Lend() // of a stream that ends there is nothing to hold
		c.answers(1)
		s.Took(size + prefixBytes)
		none.Release()
		for _, c := range clients {
			c.conn.Close()
		}
		wants(t, m, 0, 0)
		if m.large.used != 0 {
			t.Errorf("%d bytes stay granted", m.large.used)
		}
	})
}

// Nobody gets a grant at once that others wait for.
func TestGrantAtOnceWaitsForNobody(t *testing.T) {
	m := New(Options{Window: 64 * kib})
	clients, streams, _ := halves(t, m, 3, 16<<20)
	if !streams[0].GrantAtOnce(own(streams[0]), 16<<20) {
		t.Fatal("an empty lane refuses")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- streams[1].Grant(ctx, own(streams[1]), 16<<20) }()
	waits := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.large.turns) > 0
	}
	for !waits() {
	}
	if streams[2].GrantAtOnce(own(streams[2]), 6<<20) {
		t.Error("a grant was given past one who waits")
	}
	cancel()
	if <-ended == nil {
		t.Error("a grant was given that has no room")
	}
	for _, c := range clients {
		c.conn.Close()
	}
}

// A message that is held for long keeps no grant that others could have, as far as it can be counted among what needs none.
func TestHoldLoosens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Window: 64 * kib, Bytes: 64 << 20, Message: 64 << 20, Wait: time.Hour})
		hold := func(size int) (*client, *Hold) {
			clients, streams, _ := halves(t, m, 1, size)
			c, s := clients[0], streams[0]
			if err := s.Grant(context.Background(), "a", int64(size)); err != nil {
				t.Fatal(err)
			}
			c.data(1, make([]byte, size+prefixBytes-int(s.bytes)))
			h := s.Lend()
			s.Took(int64(size) + prefixBytes)
			return c, h
		}
		granted := func() int64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.large.used
		}
		var clients []*client
		var holds []*Hold
		for range 2 { // a half of the bytes has room for two, each of which takes the lane
			c, h := hold(13 << 20)
			clients, holds = append(clients, c), append(holds, h)
			if granted() != 13<<20 {
				t.Errorf("%d bytes are granted at first", granted())
			}
			time.Sleep(2 * holdTime)
			if granted() != 0 {
				t.Errorf("%d bytes are granted after a while", granted())
			}
		}
		if m.over() || m.loose.Load() != m.held.Load() || m.loose.Load() < 26<<20 {
			t.Errorf("%d of %d bytes have no grant", m.loose.Load(), m.held.Load())
		}
		c, third := hold(13 << 20)
		time.Sleep(5 * holdTime)
		if granted() != 13<<20 {
			t.Errorf("%d bytes are granted, though no more can be without a grant", granted())
		}
		holds[0].Release()
		time.Sleep(2 * holdTime)
		if granted() != 0 {
			t.Error("it did not come again")
		}
		for _, h := range append(holds, third) {
			h.Release()
		}
		for _, c := range append(clients, c) {
			c.conn.Close()
		}
		wants(t, m, 0, 0)
		time.Sleep(time.Minute)
		if granted() != 0 {
			t.Errorf("%d bytes stay granted", granted())
		}
	})
}
